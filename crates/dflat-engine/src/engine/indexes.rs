//! Building indexes, and waiting until they are built.

use dflat_model::Table;

use super::{Engine, IndexProgress, Ready};
use crate::error::Result;

impl Engine {
    /// Starts to build the indexes of these tables that are not ready, as the next write of the
    /// type would do. Returns at once.
    ///
    /// # Errors
    /// [`ErrorKind::ShutDown`](crate::ErrorKind::ShutDown) after shutdown.
    pub fn build_indexes(&self, tables: &[Table]) -> Result<()> {
        self.while_open(format_args!("build indexes"), || {
            for table in tables.iter().filter(|table| !table.indexes.is_empty()) {
                self.inner.groups.indexer().want(table, true);
            }
            Ok(())
        })
    }

    /// The progress of each index that is being built, or was built since this engine was created.
    #[must_use]
    pub fn index_progress(&self) -> Vec<IndexProgress> {
        self.inner.groups.indexer().progress()
    }

    /// Calls `ready` once no index is being built: on the thread that builds indexes, or at once on
    /// this thread. `ready` gets the error of an index that could not be built, and
    /// [`ErrorKind::ShutDown`](crate::ErrorKind::ShutDown) after shutdown.
    pub fn when_indexes_are_ready(&self, ready: Ready) {
        if let Err(error) = self.refuse_work(format_args!("wait for indexes")) {
            ready(Err(error));
            return;
        }
        self.inner.groups.indexer().when_ready(ready);
    }
}
