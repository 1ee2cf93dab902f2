//! The one place that starts upkeep: it is notified of what is read and written.

use std::sync::Arc;

use crate::connection::connections::Connections;
use crate::connection::readers::PlaceId;
use crate::connection::session::Session;
use crate::upkeep::checkpointer::Checkpointer;
use crate::upkeep::keeper::Keeper;
use crate::upkeep::reclaimer::Reclaimer;

/// The upkeep of a file, with the connections to it.
pub(crate) struct Upkeep {
    connections: Arc<Connections>,
    reclaimer: Arc<Reclaimer>,
    checkpointer: Arc<Checkpointer>,
    keeper: Arc<Keeper>,
}

impl Upkeep {
    pub(crate) fn new(connections: Arc<Connections>) -> Self {
        let options = connections.options();
        let checkpointer = Arc::new(Checkpointer::new(options.log_bytes_max));
        Self {
            reclaimer: Arc::new(Reclaimer::new(options.reclaim, Arc::clone(&checkpointer))),
            checkpointer,
            keeper: Arc::default(),
            connections,
        }
    }

    pub(crate) fn connections(&self) -> &Connections {
        &self.connections
    }

    /// Takes back a reader's connection, if it can be used again.
    pub(crate) fn return_reader(&self, place: PlaceId, session: Option<Box<Session>>) {
        let keeps = self.connections.return_reader(place, session);
        if keeps && !self.keeper.note_kept(&self.connections) {
            self.connections.pool().readers().end_kept();
        }
    }

    /// Gives back the place of the writer, and the connection if it can be used again.
    pub(crate) fn return_writer(&self, session: Option<Session>) {
        self.reclaimer.return_writer(&self.connections, session);
    }

    /// Notes that a snapshot has ended, which may have pinned the log.
    pub(crate) fn note_snapshot_end(&self) {
        self.checkpointer.note_snapshot_end(&self.connections);
    }

    /// Holds a writer back that is about to begin while the log is far too long.
    pub(crate) fn hold_back(&self) {
        self.checkpointer.hold_back();
    }

    /// Whether somebody who reads kept the log from starting again when that was last tried.
    pub(crate) fn is_log_pinned(&self) -> bool {
        self.checkpointer.is_pinned()
    }

    /// How often a writer was held back.
    pub(crate) fn held_count(&self) -> u64 {
        self.checkpointer.held_count()
    }

    /// Lets the file be tried again, which could not give back pages.
    pub(crate) fn set_able(&self) {
        self.reclaimer.set_able();
    }

    /// Ends what is being done, and lets nothing begin.
    pub(crate) fn close(&self) {
        self.reclaimer.close();
        self.checkpointer.close();
        self.keeper.close();
    }

    #[cfg(test)]
    pub(crate) fn checkpointer(&self) -> &Arc<Checkpointer> {
        &self.checkpointer
    }

    #[cfg(test)]
    pub(crate) fn reclaimer(&self) -> &Arc<Reclaimer> {
        &self.reclaimer
    }
}
