//! Random queries on random objects. The model, each backend, each state of an index, and live
//! queries after random commits must all give the same result.

use dflat::{ChangeRequest, Object, Workspace};
use rusqlite::Connection;

use super::answers;
use super::question::{key, question, sample};
use crate::fixture::{Fixture, bounded};
use crate::follower::Follower;
use crate::lower;
use crate::model::{Model, Question, same};
use crate::random::Random;
use crate::schema::{Sample, SampleData};

/// The number of commits of a seed.
const COMMITS: usize = 4;
/// The number of queries after each commit, in each state.
const QUESTIONS: usize = 12;

/// Statements by which another program changes the indexes of a file.
pub(super) const STATES: [&str; 4] = [
    "SELECT 'ready'",
    "DELETE FROM {} WHERE rowid > (SELECT (MIN(rowid) + MAX(rowid)) / 2 FROM {})",
    "DELETE FROM {}",
    "DROP TABLE {}",
];

/// Runs a seed.
pub fn run_seed(seed: u64) {
    bounded(move || Run::new(seed).all());
}

struct Run {
    random: Random,
    model: Model,
    memory: Fixture,
    file: Fixture,
    live: Vec<Follower>,
}

/// One change.
#[derive(Clone)]
enum Step {
    Upsert(Box<SampleData>),
    Delete(i32),
}

impl Run {
    fn new(seed: u64) -> Self {
        Self {
            random: Random::new(seed),
            model: Model::default(),
            memory: Fixture::memory(),
            file: Fixture::sqlite(),
            live: Vec::new(),
        }
    }

    fn all(mut self) {
        for _ in 0..COMMITS {
            self.follow();
            self.commit();
            self.check_live();
            // The next commit meets the state that was made last.
            for state in &STATES[..1 + self.random.below(STATES.len())] {
                lose(&self.file, "sample", state, &mut self.random);
                for _ in 0..QUESTIONS {
                    let question = question(&mut self.random);
                    self.ask(&question, state);
                    let workspaces: [&Workspace; 2] = [&self.memory, &self.file];
                    if self.random.one_in(3) {
                        answers::check(&workspaces, &self.model, &question, &mut self.random);
                    }
                }
            }
        }
        self.live.clear();
        self.memory.shutdown().unwrap();
        self.file.shutdown().unwrap();
    }

    fn ask(&self, question: &Question, state: &str) {
        for workspace in [&self.memory, &self.file] {
            let found = lower::fetch(workspace.fetch(), question).all().unwrap();
            agree(&found, &self.model.ask(question), question, state);
        }
    }

    fn follow(&mut self) {
        for workspace in [&self.memory, &self.file] {
            let question = question(&mut self.random);
            let follower = Follower::new(workspace, question, None, &mut self.random);
            self.live.push(follower);
        }
    }

    fn check_live(&self) {
        self.memory.settle::<Sample>();
        self.file.settle::<Sample>();
        for live in &self.live {
            live.check(&self.model);
        }
    }

    fn commit(&mut self) {
        let random = &mut self.random;
        let mut steps = Vec::new();
        for _ in 0..1 + random.below(40) {
            let id = key(random);
            let step = if random.one_in(5) && self.model.get(id).is_some() {
                self.model.delete(id).unwrap();
                Step::Delete(id)
            } else {
                let mut data = sample(random);
                if self.model.upsert(data.clone()).is_err() {
                    data.code = None;
                    self.model.upsert(data.clone()).unwrap();
                }
                Step::Upsert(Box::new(data))
            };
            steps.push(step);
        }
        for workspace in [&self.memory, &self.file] {
            let steps = steps.clone();
            workspace.perform([Sample::TABLE], move |tx| {
                for step in steps {
                    let request = match step {
                        Step::Upsert(data) => ChangeRequest::upsert(*data),
                        Step::Delete(id) => {
                            let object = tx.get::<Sample>(id)?.unwrap();
                            ChangeRequest::deletion(tx, &object)?.unwrap()
                        }
                    };
                    tx.submit::<Sample>(request)?;
                }
                Ok(())
            });
        }
    }
}

/// Makes a change to most of the indexes of a table.
pub(super) fn lose(file: &Fixture, table: &str, change: &str, random: &mut Random) {
    let sql = Connection::open(file.path().unwrap()).unwrap();
    let query = format!(
        "SELECT name FROM sqlite_schema WHERE type = 'table' \
         AND name LIKE '{table}!_!_%' ESCAPE '!' ORDER BY name"
    );
    let mut statement = sql.prepare(&query).unwrap();
    let names = statement.query_map([], |row| row.get(0)).unwrap();
    let names: Vec<String> = names.map(Result::unwrap).collect();
    for name in names {
        if !random.one_in(4) {
            sql.execute_batch(&change.replace("{}", &name)).unwrap();
        }
    }
}

fn agree(found: &[Sample], expected: &[&SampleData], question: &Question, state: &str) {
    let ids: Vec<i32> = found.iter().map(Sample::id).collect();
    let expected_ids: Vec<i32> = expected.iter().map(|data| data.id).collect();
    assert_eq!(ids, expected_ids, "{state}: {question:?}");
    for (found, expected) in found.iter().zip(expected) {
        let found = found.to_data();
        assert!(same(&found, expected), "{found:?} is not {expected:?}");
    }
}
