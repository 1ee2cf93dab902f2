//! Copying the objects of one type into another: the start of a new version of a table.

use std::fmt;
use std::marker::PhantomData;
use std::num::NonZeroUsize;

use dflat_engine::object::Writer;
use dflat_workspace::CopyProgress;

use crate::codec::{Encoder, Message};
use crate::object::Stored;
use crate::transaction::encode_named;
use crate::{Object, Result, Workspace};

impl Workspace {
    /// Copies the objects of `A` into the table of `B`, for example from one version of a table to
    /// the next, which starts empty. `convert` returns an object's values in the new table.
    ///
    /// An object whose key is in the new table already is skipped: it was copied before, or was
    /// created there later. So an interrupted copy is resumed by making it again. The old table
    /// stays as it is, for programs that know only that table.
    ///
    /// # Examples
    /// ```
    /// # mod post {
    /// #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/post.rs"));
    /// # }
    /// # mod v2 {
    /// #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/bench_doc.rs"));
    /// # }
    /// use dflat::Workspace;
    /// use post::{Post, PostChangeRequest, PostData};
    /// use v2::{BenchDoc, BenchDocData};
    /// # fn main() -> dflat::Result<()> {
    /// let workspace = Workspace::in_memory();
    /// let created = workspace.perform_changes([Post::TABLE], |tx| {
    ///     let data = PostData { title: "a".into(), ..PostData::default() };
    ///     tx.submit(PostChangeRequest::creation(data)).map(drop)
    /// });
    /// created.wait()?;
    /// let copy = || workspace.copy_table::<Post, BenchDoc>(|post| {
    ///     Ok(BenchDocData { title: post.title().into(), ..BenchDocData::default() })
    /// });
    /// let copied = copy().on_progress(|progress| println!("{} copied", progress.copied)).run()?;
    /// assert_eq!((copied.copied, copied.present), (1, 0));
    /// assert_eq!((copy().run()?.copied, workspace.fetch::<BenchDoc>().count()?), (0, 1));
    /// # Ok(())
    /// # }
    /// ```
    pub fn copy_table<A: Object, B: Object>(
        &self,
        convert: impl FnMut(&A) -> Result<B::Data>,
    ) -> TableCopy<'_, A, B, impl FnMut(&A) -> Result<B::Data>> {
        TableCopy {
            workspace: self,
            convert,
            copy: dflat_workspace::TableCopy::new(A::TABLE, B::TABLE),
            progress: None,
            types: PhantomData,
        }
    }
}

/// A prepared copy of a table, made by [`Workspace::copy_table`].
#[must_use = "nothing is copied until `run` is called"]
pub struct TableCopy<'w, A, B, F> {
    workspace: &'w Workspace,
    convert: F,
    copy: dflat_workspace::TableCopy,
    progress: Option<Box<dyn FnMut(CopyProgress) + 'w>>,
    types: PhantomData<fn(A) -> B>,
}

impl<'w, A: Object, B: Object, F: FnMut(&A) -> Result<B::Data>> TableCopy<'w, A, B, F> {
    /// Sets how many objects are copied in one transaction: 500 by default.
    pub fn batch_size(mut self, objects: NonZeroUsize) -> Self {
        self.copy.set_batch_size(objects);
        self
    }

    /// Sets a callback that is called after each transaction, on the thread that calls
    /// [`run`](Self::run).
    pub fn on_progress(mut self, progress: impl FnMut(CopyProgress) + 'w) -> Self {
        self.progress = Some(Box::new(progress));
        self
    }

    /// Makes the copy, on this thread, and waits for it. Each transaction takes its turn on both
    /// types; changes that other transactions commit in between are kept, and objects that they add
    /// to the old table are copied, too. If another process commits during a transaction, `convert`
    /// is called again with the objects of that transaction.
    ///
    /// # Errors
    /// An error ends the copy. Objects that earlier transactions have copied stay, and another run
    /// continues from there.
    /// - The error of `convert`.
    /// - [`AlreadyExists`](crate::ErrorKind::AlreadyExists) if another object has a unique value.
    /// - [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if both types have one table.
    /// - [`WouldDeadlock`](crate::ErrorKind::WouldDeadlock) inside a handler or a callback;
    ///   otherwise as [`TransactionHandle::wait`](crate::TransactionHandle::wait).
    pub fn run(self) -> Result<CopyProgress> {
        let mut convert = self.convert;
        let mut progress = self.progress;
        self.copy.run(
            self.workspace.untyped(),
            &mut |object, put| {
                let data = convert(&A::from_handle(object.clone()))?;
                let encode = |encoder: &mut Encoder<'_>| data.encode(encoder);
                let mut writer = Writer::new();
                put(encode_named(&mut writer, Stored::<B>::TABLE, &encode)?)
            },
            &mut |done| {
                if let Some(progress) = &mut progress {
                    progress(done);
                }
            },
        )
    }
}

impl<A, B, F> fmt::Debug for TableCopy<'_, A, B, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableCopy")
            .field("batch_size", &self.copy.batch_size())
            .finish_non_exhaustive()
    }
}
