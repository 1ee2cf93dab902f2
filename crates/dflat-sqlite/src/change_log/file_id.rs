//! The id of the file, which change records of programs that name themselves have.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::ops::ControlFlow;

use crate::connection::commits::CommitBase;
use crate::connection::file_connection::FileConnection;
use crate::ffi::{Param, SqliteError};
use crate::layout::control::{ControlStatement, FILE};

impl FileConnection {
    /// The id of the file. The first call stores it, as a part of the open write transaction.
    /// `None` if another program has made the table that keeps it.
    ///
    /// # Errors
    /// Errors that have ended the transaction.
    pub(crate) fn file_id(&mut self) -> Result<Option<u128>, SqliteError> {
        let is_own = self.commit_base().is_some_and(CommitBase::follows_own);
        if let (true, Some(id)) = (is_own, self.change_log.file) {
            return Ok(Some(id));
        }
        self.change_log.file = None;
        match self.read_file_id() {
            Err(error) if self.raw.is_autocommit() => Err(error),
            // A record without the id is better than none.
            Err(_) => Ok(None),
            Ok(id) => {
                self.change_log.file = id;
                Ok(id)
            }
        }
    }

    fn read_file_id(&mut self) -> Result<Option<u128>, SqliteError> {
        if !self.exists(ControlStatement::FindFile, FILE)? {
            self.control(ControlStatement::CreateFile)?;
        }
        let (mut found, mut is_empty) = (None, true);
        let statement = self.control_statement(ControlStatement::ReadFileId)?;
        self.raw.query(statement, [], |columns| {
            is_empty = false;
            let stored = columns.blob(0)?.unwrap_or_default();
            found = <[u8; 16]>::try_from(stored).ok().map(u128::from_le_bytes);
            Ok(ControlFlow::Break(()))
        })?;
        if is_empty {
            let id = random_id();
            let statement = self.control_statement(ControlStatement::PutFileId)?;
            self.raw.run(statement, [Param::Blob(&id.to_le_bytes())])?;
            found = Some(id);
        }
        Ok(found)
    }
}

fn random_id() -> u128 {
    let half = || u128::from(RandomState::new().build_hasher().finish());
    half() << 64 | half()
}
