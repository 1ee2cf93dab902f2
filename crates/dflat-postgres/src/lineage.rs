//! Finds out whether the server of a new connection has the commits that were seen before.

use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The latest commit that this engine has seen, and the servers that had it.
///
/// Each connection that writes has a random number, which is in the change records of its commits.
/// A connection ends with the process of its server, so no two servers have different records of
/// one connection with the same number. A server that has the latest record that was seen, with the
/// number of the same connection, therefore has every commit up to it. Another server may have
/// other commits in their place: a restored copy, or a promoted replica that lacked the last ones.
///
/// The tables may also be made again on the same server, while its connections go on: the number of
/// the table that has the state then is another one.
///
/// Servers that have all commits seen so far are of one generation, which is counted from 0.
pub(crate) struct Lineage {
    /// The tables of records and of the state, quoted.
    log: String,
    control: String,
    seen: Mutex<Record>,
    generation: AtomicU16,
}

/// A change record, as it is known among all servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) generation: u16,
    /// Its number; 0 if there is none.
    pub(crate) id: i64,
    /// The number of the connection that has written it.
    pub(crate) engine: i64,
    /// The server's number of the table that has the state; 0 if it is not known.
    pub(crate) table: u32,
}

impl Lineage {
    /// `log` is the table of records and `control` that of the state, quoted.
    pub(crate) fn new(log: String, control: String) -> Self {
        Self {
            log,
            control,
            seen: Mutex::default(),
            generation: AtomicU16::new(0),
        }
    }

    fn seen(&self) -> MutexGuard<'_, Record> {
        // No code that can panic runs under the lock.
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The present generation. A connection of another one must not be used any more.
    pub(crate) fn generation(&self) -> u16 {
        self.generation.load(Ordering::Acquire)
    }

    /// The latest record that was seen, and the question whether a server has it, which is answered
    /// by a row if it does. The state names its last record also if another program has deleted the
    /// records. There is no question before a record was seen.
    pub(crate) fn question(&self) -> (Record, Option<String>) {
        let seen = *self.seen();
        let Record { id, engine, .. } = seen;
        let question = || {
            format!(
                "SELECT 1 FROM {} WHERE id = {id} AND engine = {engine} \
                 UNION ALL SELECT 1 FROM {} WHERE last = {id} AND engine = {engine}",
                self.log, self.control
            )
        };
        (seen, (seen.id > 0).then(question))
    }

    /// Takes the answer to a question: whether the server has the record. Returns the generation of
    /// the server; `None` if another question must be asked. With `is_last`, none is asked because
    /// a later record was seen meanwhile.
    pub(crate) fn answer(&self, asked: Record, has: bool, is_last: bool) -> Option<u16> {
        let mut seen = self.seen();
        if seen.generation != asked.generation || has && !is_last && *seen != asked {
            return None;
        }
        if !has {
            self.begin(&mut seen);
        }
        Some(seen.generation)
    }

    /// Begins another generation.
    fn begin(&self, seen: &mut Record) {
        *seen = Record {
            generation: seen.generation.wrapping_add(1),
            ..Record::default()
        };
        self.generation.store(seen.generation, Ordering::Release);
    }

    /// Notes the latest record of a state. Returns the generation of the state, which the record
    /// may have begun.
    pub(crate) fn note(&self, record: Record) -> u16 {
        let mut seen = self.seen();
        if record.generation != seen.generation {
            return record.generation;
        }
        let is_made_again = ![0, record.table].contains(&seen.table);
        if is_made_again || record.id == seen.id && record.engine != seen.engine {
            // Two servers, or another program has removed the tables and they were made again.
            self.begin(&mut seen);
        }
        if record.id > seen.id || seen.table == 0 {
            let generation = seen.generation;
            *seen = Record {
                generation,
                ..record
            };
        }
        seen.generation
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new() -> Lineage {
        Lineage::new("log".to_owned(), "control".to_owned())
    }

    /// The generation that a server gets which has these records, the first one first.
    fn connect(lineage: &Lineage, engines: &[i64]) -> u16 {
        let (asked, question) = lineage.question();
        let has = question.is_none() || engines.get(asked.id as usize - 1) == Some(&asked.engine);
        lineage.answer(asked, has, false).unwrap()
    }

    fn note(lineage: &Lineage, generation: u16, id: i64, engine: i64) {
        lineage.note(Record {
            generation,
            id,
            engine,
            table: 1,
        });
    }

    #[test]
    fn server_without_the_latest_commit_begins_a_generation() {
        let lineage = new();
        assert_eq!(connect(&lineage, &[]), 0);
        note(&lineage, 0, 2, 7);
        let (_, question) = lineage.question();
        assert_eq!(
            question.unwrap(),
            "SELECT 1 FROM log WHERE id = 2 AND engine = 7 \
             UNION ALL SELECT 1 FROM control WHERE last = 2 AND engine = 7"
        );
        // The same server, and a replica that has more.
        assert_eq!(connect(&lineage, &[5, 7]), 0);
        assert_eq!(connect(&lineage, &[5, 7, 8]), 0);
        // A copy that has less, and one that has gone on from there.
        assert_eq!(connect(&lineage, &[5]), 1);
        assert_eq!(lineage.generation(), 1);
        note(&lineage, 1, 1, 5);
        assert_eq!(connect(&lineage, &[5, 9]), 1);
        // A late answer of the first server.
        note(&lineage, 0, 3, 8);
        assert_eq!(lineage.question().0.id, 1);
        // An earlier state is read later.
        note(&lineage, 1, 4, 9);
        note(&lineage, 1, 3, 5);
        assert_eq!(connect(&lineage, &[5, 9, 5, 9]), 1);
        assert_eq!(connect(&lineage, &[5, 9, 5, 8]), 2);
    }

    #[test]
    fn two_records_of_one_number_begin_a_generation() {
        let lineage = new();
        note(&lineage, 0, 2, 7);
        note(&lineage, 0, 2, 7);
        assert_eq!(lineage.generation(), 0);
        note(&lineage, 0, 2, 8);
        assert_eq!(lineage.generation(), 1);
    }

    #[test]
    fn tables_that_were_made_again_begin_a_generation() {
        let record = |generation, id, table| Record {
            generation,
            id,
            engine: 7,
            table,
        };
        // The numbers of the records tell nothing: the connection that writes may be the same.
        for id in [0, 1, 2, 3] {
            let lineage = new();
            assert_eq!(lineage.note(record(0, 2, 1)), 0);
            assert_eq!(lineage.note(record(0, id, 2)), 1);
            assert_eq!(lineage.question().0, record(1, id, 2));
            // A late answer of the first tables, and the next one of the new ones.
            assert_eq!(lineage.note(record(0, 9, 1)), 0);
            assert_eq!(lineage.note(record(1, id + 1, 2)), 1);
            assert_eq!(lineage.generation(), 1);
        }
    }

    #[test]
    fn answer_is_asked_for_again_if_the_generation_has_changed() {
        let lineage = new();
        note(&lineage, 0, 2, 7);
        let (asked, _) = lineage.question();
        assert_eq!(lineage.answer(asked, false, false), Some(1));
        assert_eq!(lineage.answer(asked, true, true), None);
    }

    #[test]
    fn answer_is_asked_for_again_if_a_later_record_was_seen() {
        let lineage = new();
        note(&lineage, 0, 2, 7);
        let (asked, _) = lineage.question();
        note(&lineage, 0, 3, 7);
        assert_eq!(lineage.answer(asked, true, false), None);
        assert_eq!(lineage.answer(asked, true, true), Some(0));
        // The later record is the one that the server lacks.
        assert_eq!(connect(&lineage, &[5, 7]), 1);
    }
}
