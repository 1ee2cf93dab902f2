//! Reading, with a connection of the pool.

use std::ops::ControlFlow;
use std::sync::Arc;

use dflat_engine::Result;
use dflat_engine::storage::{IndexState, Row, ScanPlan, Snapshot, StateId, View};
use dflat_model::Table;

use crate::backend::SqliteBackend;
use crate::commits::Count;
use crate::session::{Control, Session};

/// How often a state is looked for that can be named, while others commit.
const ATTEMPTS: usize = 100;

/// A snapshot: a place among the readers, and the connection once there is a file.
pub(crate) struct SqliteSnapshot {
    backend: Arc<SqliteBackend>,
    session: Option<Session>,
    state: State,
    /// Whether the connection met an error, and is not to be used again.
    faulty: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Each scan sees the latest state.
    Latest,
    /// The first scan will fix the state.
    Unpinned,
    /// The state is fixed: that of the open transaction, or emptiness if there was no file.
    Pinned,
}

impl SqliteSnapshot {
    /// Takes a place among the readers.
    pub(crate) fn new(backend: Arc<SqliteBackend>, view: View) -> Result<Self> {
        let session = backend.take_reader()?;
        Ok(Self {
            backend,
            session,
            state: match view {
                View::Latest => State::Latest,
                View::Pinned => State::Unpinned,
            },
            faulty: false,
        })
    }

    /// The connection, in the state to read; `None` if there is nothing to read.
    fn ready(&mut self) -> Result<Option<&mut Session>> {
        if self.session.is_none() && self.state != State::Pinned {
            self.session = self.backend.open_reader()?;
        }
        if let (State::Latest, Some(session)) = (self.state, &mut self.session) {
            // A visitor that panicked may have left the transaction of a scan open.
            self.faulty |= !session.end();
        }
        if self.state == State::Unpinned {
            if let Some(session) = &mut self.session {
                let pinned = session
                    .control(Control::Begin)
                    .and_then(|()| session.control(Control::Touch));
                if let Err(fault) = pinned {
                    // The next scan starts again.
                    self.faulty |= !session.end();
                    let path = session.path.display();
                    return Err(fault.read_error(format_args!("cannot read {path}")));
                }
            }
            self.state = State::Pinned;
        }
        Ok(self.session.as_mut())
    }
}

impl Snapshot for SqliteSnapshot {
    fn scan(
        &mut self,
        plan: &ScanPlan<'_>,
        visit: &mut dyn FnMut(Row<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let Some(session) = self.ready()? else {
            return Ok(());
        };
        let outcome = session.scan(plan, visit);
        self.faulty |= outcome.is_err();
        outcome
    }

    fn pin(&mut self) -> Result<StateId> {
        if self.state != State::Unpinned {
            // Which state that is was not looked at.
            return Ok(self.backend.commits().state(None));
        }
        for _ in 0..ATTEMPTS {
            // Order: the log's index must be open, which the first read of a connection does.
            let before = self.session.as_mut().and_then(Session::log_count);
            let Some(session) = self.ready()? else {
                return Ok(StateId::default());
            };
            let after = session.count();
            if before == after || matches!(after, None | Some(Count::File(_))) {
                return Ok(self.backend.commits().state(after));
            }
            // Somebody has committed meanwhile, and whether it is seen is not known.
            self.faulty |= !session.end();
            self.state = State::Unpinned;
        }
        self.ready()?;
        Ok(self.backend.commits().state(None))
    }

    fn index_states(&mut self, table: &Table) -> Result<Vec<IndexState>> {
        let Some(session) = self.ready()? else {
            return Ok(vec![IndexState::Ready; table.indexes.len()]);
        };
        let outcome = session.index_states(table);
        self.faulty |= outcome.is_err();
        outcome
    }
}

impl Drop for SqliteSnapshot {
    fn drop(&mut self) {
        // A transaction is open if the view was pinned, or if a visitor panicked.
        let session = self.session.take().filter(|_| !self.faulty);
        let session = session.and_then(|mut session| session.end().then_some(session));
        self.backend.return_reader(session);
        if self.state == State::Pinned {
            self.backend.note_snapshot_end();
        }
    }
}
