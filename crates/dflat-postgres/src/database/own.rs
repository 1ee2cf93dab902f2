//! The commits of this engine.

use std::collections::HashMap;
use std::sync::Arc;

use super::Database;
use crate::layout::{State, StoredTable};
use crate::lineage::Record;

/// The tables as this engine's last transaction left them.
#[derive(Clone, Default)]
pub(crate) struct Own {
    /// The generation of the server.
    pub(crate) generation: u16,
    /// The state on which the transaction of the last commit began.
    pub(crate) base: i64,
    /// The state that the last commit made. The tables are as described as long as this is the
    /// state.
    pub(crate) last: i64,
    pub(crate) tables: HashMap<String, StoredTable>,
}

/// A commit of this engine whose outcome is not known. It may be made later.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Doubt {
    /// The connection of the commit, which was closed.
    pub(crate) engine: i64,
    /// The number of the last record before those of the commit.
    pub(crate) after: i64,
}

impl Doubt {
    /// Whether a record is one of the commit.
    pub(crate) const fn has(&self, id: i64, engine: i64) -> bool {
        self.engine == engine && id > self.after
    }
}

impl Database {
    /// The tables as the last commit left them.
    pub(crate) fn own(&self) -> Own {
        self.lock().own.clone()
    }

    /// Notes a commit, whose transaction began on the state `base`, by its last record, with the
    /// tables as the commit has left them.
    pub(crate) fn note_own(
        &self,
        base: &State,
        record: Record,
        tables: HashMap<String, StoredTable>,
    ) {
        // A server that lacks the commit is another one.
        self.server.lineage().note(record);
        let mut shared = self.lock();
        if shared.generation != base.generation {
            return;
        }
        shared.own.generation = base.generation;
        shared.own.base = base.last;
        let known = Arc::make_mut(&mut shared.known);
        known.exists = true;
        let created = tables.iter().filter(|(_, table)| table.is_created());
        for (name, table) in created {
            known.tables.insert(name.clone(), Arc::new(table.clone()));
        }
        shared.own.last = record.id;
        shared.own.tables = tables;
    }

    /// Notes a commit whose outcome is not known. If the commit is made later, this engine reads
    /// everything again, as after a commit of another engine of which nothing is known.
    pub(crate) fn note_doubt(&self, doubt: Doubt) {
        let mut shared = self.lock();
        shared.engines.retain(|engine| *engine != doubt.engine);
        shared.doubt = Some(doubt);
    }

    /// The last commit whose outcome is not known.
    pub(crate) fn doubt(&self) -> Option<Doubt> {
        self.lock().doubt
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::PostgresOptions;

    /// A database to which nothing is connected.
    fn database() -> Arc<Database> {
        Database::new("host=/nowhere", PostgresOptions::default()).unwrap()
    }

    #[test]
    fn server_must_have_the_commits_that_were_acknowledged() {
        let database = database();
        assert!(database.server.lineage().question().1.is_none());
        let record = Record {
            generation: 0,
            id: 8,
            engine: 5,
            table: 1,
        };
        database.note_own(&State::empty(0), record, HashMap::new());
        assert_eq!(database.server.lineage().question().0, record);
    }

    #[test]
    fn commit_in_doubt_counts_as_that_of_another_engine() {
        let database = database();
        database.note_engine(5);
        let state = State {
            last: 8,
            engine: 5,
            ..State::empty(0)
        };
        assert_eq!(database.last_of_others(&state), 0);
        database.note_doubt(Doubt {
            engine: 5,
            after: 7,
        });
        assert_eq!(database.last_of_others(&state), 8);
        let doubt = database.doubt().unwrap();
        assert!(doubt.has(8, 5) && doubt.has(9, 5));
        assert!(!doubt.has(7, 5) && !doubt.has(8, 6));
    }
}
