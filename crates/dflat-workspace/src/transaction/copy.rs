//! Copying the objects of one table into another, for instance to start a new version of a table.

use std::collections::HashSet;
use std::num::NonZeroUsize;

use dflat_engine::engine::PerformOptions;
use dflat_engine::fetch::{self, Control};
use dflat_engine::object::{Object, Origin};
use dflat_engine::transaction::{Change, Transaction};
use dflat_model::{Cursor, Query, RowId, Table, Value, key};

use crate::{Error, ErrorKind, Result, Workspace};

/// The number of objects per transaction, small enough that other transactions do not wait long.
const BATCH_SIZE: NonZeroUsize = NonZeroUsize::new(500).expect("it is not 0");

/// The progress of a copy of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CopyProgress {
    /// Objects that were copied.
    pub copied: u64,
    /// Objects that were skipped, because their key was in the new table already.
    pub present: u64,
}

/// A copy of the objects of one table into another.
///
/// An object whose key is in the new table already is skipped. So an interrupted copy is resumed by
/// running it again. The old table is not changed.
#[derive(Clone, Debug)]
pub struct TableCopy {
    from: Table,
    to: Table,
    batch_size: NonZeroUsize,
}

/// A function that takes an object's payload in the new table.
type Put<'p> = &'p mut dyn FnMut(&[u8]) -> Result<()>;

impl TableCopy {
    /// A copy from one table to another.
    #[must_use]
    pub fn new(from: Table, to: Table) -> Self {
        Self {
            from,
            to,
            batch_size: BATCH_SIZE,
        }
    }

    /// The number of objects that are copied in one transaction. Defaults to 500.
    #[must_use]
    pub fn batch_size(&self) -> NonZeroUsize {
        self.batch_size
    }

    /// Sets the number of objects that are copied in one transaction.
    pub fn set_batch_size(&mut self, objects: NonZeroUsize) {
        self.batch_size = objects;
    }

    /// Makes the copy on this thread, and returns when it is complete. `convert` is called with
    /// each object and a function, and passes the object's payload in the new table to that
    /// function. If another process commits meanwhile, `convert` is called again with the objects
    /// of the transaction. `progress` is called after each transaction.
    ///
    /// Each transaction takes its turn on both tables. Objects that other transactions add to the
    /// old table meanwhile are copied, too.
    ///
    /// # Errors
    /// An error ends the copy; objects that earlier transactions have copied remain.
    /// - The errors of `convert`.
    /// - [`AlreadyExists`](ErrorKind::AlreadyExists) if a unique value of the object belongs to
    ///   another object.
    /// - [`InvalidArgument`](ErrorKind::InvalidArgument) if the two tables are one: the copy would
    ///   copy the objects that it adds, perhaps for ever.
    /// - Otherwise, the errors of [`Workspace::perform_blocking`].
    pub fn run(
        &self,
        workspace: &Workspace,
        convert: &mut dyn FnMut(&Object, Put<'_>) -> Result<()>,
        progress: &mut dyn FnMut(CopyProgress),
    ) -> Result<CopyProgress> {
        let mut done = CopyProgress::default();
        let mut rest = Query {
            limit: Some(self.batch_size.get()),
            ..Query::default()
        };
        loop {
            let tables = [self.from.clone(), self.to.clone()];
            let options = PerformOptions::default();
            let (end, batch) = workspace.perform_blocking_retrying(tables, options, |context| {
                self.check_tables()?;
                self.batch(context.transaction(), &rest, convert)
            })?;
            done.copied += batch.copied;
            done.present += batch.present;
            if batch != CopyProgress::default() {
                progress(done);
            }
            match end {
                Some(end) => rest.after = Some(end),
                None => return Ok(done),
            }
        }
    }

    /// Fails if both tables are one.
    fn check_tables(&self) -> Result<()> {
        if self.from.name != self.to.name {
            return Ok(());
        }
        let name = &self.from.type_name;
        let message = format!("cannot copy the table of {name} into itself");
        Err(Error::new(ErrorKind::InvalidArgument, message))
    }

    /// Copies the objects of one batch. Returns the cursor position after them; `None` if the batch
    /// was empty.
    fn batch(
        &self,
        transaction: &Transaction,
        page: &Query,
        convert: &mut dyn FnMut(&Object, Put<'_>) -> Result<()>,
    ) -> Result<(Option<Cursor>, CopyProgress)> {
        let objects = transaction.read(&self.from, |snapshot, origin| {
            fetch::fetch(snapshot, &self.from, page, &Control::default(), origin)
        })?;
        let mut converted = Vec::with_capacity(objects.len());
        for object in &objects {
            convert(object, &mut |payload| {
                let whole = Object::new(&self.to, RowId(0), Origin::default(), payload);
                converted.push(whole.map_err(|_| self.incomplete())?);
                Ok(())
            })?;
        }
        let done = self.put(transaction, &converted)?;
        let last = objects.last();
        let end = last.map(|last| fetch::cursor_of(&self.from, page, last));
        Ok((end.transpose()?, done))
    }

    /// Writes the objects whose keys are not in the new table.
    fn put(&self, transaction: &Transaction, objects: &[Object]) -> Result<CopyProgress> {
        let payloads: Vec<&[u8]> = objects.iter().map(Object::payload).collect();
        let present = transaction.have_keys_of(&self.to, &payloads)?;
        let mut keys = HashSet::new();
        let mut absent = Vec::new();
        for (object, is_present) in objects.iter().zip(present) {
            // Two objects may have been given one key.
            let key: Vec<Value> = fetch::key_of(&self.to, object)?;
            let key = key::encode(key.iter().map(Value::as_ref));
            if !is_present && keys.insert(key) {
                absent.push(object.payload());
            }
        }
        let copied = absent.len() as u64;
        let changes = absent.into_iter().map(|payload| Change::Create { payload });
        let outcomes = transaction.submit_many(&self.to, changes).into_iter();
        outcomes.collect::<Result<Vec<_>>>()?;
        Ok(CopyProgress {
            copied,
            present: objects.len() as u64 - copied,
        })
    }

    fn incomplete(&self) -> Error {
        let name = &self.to.type_name;
        let message = format!("copy a {name}: its values are incomplete");
        Error::new(ErrorKind::InvalidArgument, message)
    }
}
