//! Copying the objects of one type into another: what a new version of a table starts with.

use std::fmt;
use std::marker::PhantomData;
use std::num::NonZeroUsize;

use dflat_engine::object::{Origin, Writer};
use dflat_model::RowId;

use crate::codegen::{Encoder, Handle};
use crate::{ChangeRequest, Cursor, Error, ErrorKind, Object, Result};
use crate::{TransactionContext, Workspace};

impl Workspace {
    /// Copies the objects of `A` into the table of `B`, such as from one version of a table to the
    /// next, which starts empty. `convert` gives an object's values in the new table.
    ///
    /// An object whose key is in the new table already is passed over: it was copied before, or is
    /// newer. So a copy that was interrupted is resumed by making it again. The old table stays as
    /// it is, for programs that know only that.
    ///
    /// # Examples
    /// ```
    /// # mod post {
    /// #     include!(concat!(
    /// #         env!("CARGO_MANIFEST_DIR"),
    /// #         "/../dflat-codegen/tests/data/post/rust.rs"
    /// #     ));
    /// # }
    /// # mod v2 {
    /// #     include!(concat!(
    /// #         env!("CARGO_MANIFEST_DIR"),
    /// #         "/../dflat-codegen/tests/data/bench_doc/rust.rs"
    /// #     ));
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
            batch_size: BATCH_SIZE,
            progress: None,
            types: PhantomData,
        }
    }
}

/// Objects of a transaction: few enough that others soon have their turn.
const BATCH_SIZE: NonZeroUsize = NonZeroUsize::new(500).expect("it is not 0");

/// What a copy of a table has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CopyProgress {
    /// Objects that were copied.
    pub copied: u64,
    /// Objects that were passed over, because their key was there.
    pub present: u64,
}

/// A copy of a table that is about to be made, by [`Workspace::copy_table`].
#[must_use = "nothing is copied until `run` is called"]
pub struct TableCopy<'w, A, B, F> {
    workspace: &'w Workspace,
    convert: F,
    batch_size: NonZeroUsize,
    progress: Option<Box<dyn FnMut(CopyProgress) + 'w>>,
    types: PhantomData<fn(A) -> B>,
}

impl<'w, A: Object, B: Object, F: FnMut(&A) -> Result<B::Data>> TableCopy<'w, A, B, F> {
    /// Sets how many objects are copied in one transaction: 500 by default.
    pub fn batch_size(mut self, objects: NonZeroUsize) -> Self {
        self.batch_size = objects;
        self
    }

    /// Sets what is called after each transaction, on the thread that calls [`run`](Self::run).
    pub fn on_progress(mut self, progress: impl FnMut(CopyProgress) + 'w) -> Self {
        self.progress = Some(Box::new(progress));
        self
    }

    /// Makes the copy, on this thread, and waits for it. Each transaction takes its turn on both
    /// types; what others commit in between is kept, and what they add to the old table is copied,
    /// too.
    ///
    /// # Errors
    /// Ends the copy; what earlier transactions have copied stays, and another run goes on there.
    /// - That of `convert`.
    /// - [`AlreadyExists`](ErrorKind::AlreadyExists) if another object has a unique value.
    /// - [`WouldDeadlock`](ErrorKind::WouldDeadlock) inside a handler or a callback; else as
    ///   [`TransactionHandle::wait`](crate::TransactionHandle::wait).
    pub fn run(mut self) -> Result<CopyProgress> {
        let mut progress = CopyProgress::default();
        let mut place = None;
        loop {
            let types = [A::TABLE, B::TABLE];
            let workspace = self.workspace;
            let (end, batch) =
                workspace.perform_changes_blocking(types, |tx| self.batch(tx, place.take()))?;
            progress.copied += batch.copied;
            progress.present += batch.present;
            if let Some(report) = &mut self.progress
                && batch != CopyProgress::default()
            {
                report(progress);
            }
            match end {
                Some(end) => place = Some(end),
                None => return Ok(progress),
            }
        }
    }

    /// Copies the objects behind a place; the place behind them, unless there were none.
    fn batch(
        &mut self,
        tx: &TransactionContext,
        place: Option<Cursor>,
    ) -> Result<(Option<Cursor>, CopyProgress)> {
        let page = tx.fetch::<A>().limit(self.batch_size.get());
        let page = match place {
            Some(place) => page.after(place),
            None => page,
        };
        let page = page.all()?;
        let mut done = CopyProgress::default();
        for object in page.iter() {
            let data = (self.convert)(object)?;
            if is_present::<B>(tx, &data)? {
                done.present += 1;
            } else {
                tx.submit(ChangeRequest::<B>::creation(data))?;
                done.copied += 1;
            }
        }
        Ok((page.end(), done))
    }
}

/// Whether there is an object with the key that these values have.
fn is_present<T: Object>(tx: &TransactionContext, data: &T::Data) -> Result<bool> {
    let table = T::TABLE;
    let mut writer = Writer::new();
    Encoder::encode_root(&mut writer, data);
    let named = |error: Error| error.context(format_args!("{}", table.type_name));
    let payload = writer.finish().map_err(named)?;
    let handle = Handle::new(&table, RowId(0), Origin::default(), payload).map_err(|_| {
        let message = format!("copy a {}: its values are incomplete", table.type_name);
        Error::new(ErrorKind::InvalidArgument, message)
    })?;
    // An object of no engine is looked up by its key.
    Ok(tx.latest(&T::from_handle(handle))?.is_some())
}

impl<A, B, F> fmt::Debug for TableCopy<'_, A, B, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableCopy")
            .field("batch_size", &self.batch_size)
            .finish_non_exhaustive()
    }
}
