//! Random operations on a workspace and on the model, which must agree after each.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use dflat::{
    ChangeRequest, Cursor, Error, ErrorKind, Object, TransactionContext, TransactionHandle,
    UpdatedObject, Workspace,
};
use dflat_engine::engine::EngineOptions;
use dflat_sqlite::{SqliteBackend, SqliteOptions};

use crate::fixture::{Fixture, Open, bounded};
use crate::follower::Follower;
use crate::lower;
use crate::model::{Condition, Effect, Model, Question, Refusal, same};
use crate::random::Random;
use crate::schema::{Sample, SampleData};
use crate::seeds;
use crate::watcher::Watcher;

mod generate;
mod unmodelled;

use generate::{condition, question, step};
pub use unmodelled::{change_at_random, random_question, random_sample};

/// The number of transactions of a seed.
const TRANSACTIONS: usize = 25;

/// Seeds from this one on make more operations in a transaction. Smaller seeds make the operations
/// that they made when they failed.
const WIDE_FROM: u64 = 1_000_000;

/// Seeds from this one on also let another workspace write, and subscribe to pages and objects.
const FAR_FROM: u64 = 2_000_000;

/// The file of the seeds that failed.
const SEEDS_FILE: &str = "tests/seeds.txt";

/// An operation on a workspace between transactions, which must not change the results of queries.
pub type Meddle = fn(&Fixture, &mut Random);

/// Runs the seeds that failed before, then new ones until the time is over:
/// `DFLAT_WORKLOAD_SECONDS`, or 3 seconds. Prints the number of seeds.
///
/// # Panics
/// Panics with the seed if the workspace and the model disagree; the seed is added to
/// `tests/seeds.txt`.
pub fn run(open: Open, meddle: Meddle) {
    let seconds = std::env::var("DFLAT_WORKLOAD_SECONDS");
    let seconds = seconds.ok().and_then(|text| text.parse().ok()).unwrap_or(3);
    let end = Instant::now() + Duration::from_secs(seconds);
    for seed in seeds::kept(SEEDS_FILE) {
        run_seed(open, meddle, seed.parse().unwrap());
    }
    // Seeds with fewer operations find other defects.
    let seeds = (0..).flat_map(|n| [FAR_FROM + n, WIDE_FROM + n, 1 + n]);
    for (count, seed) in (1..).zip(seeds) {
        run_seed(open, meddle, seed);
        if Instant::now() > end {
            let thread = std::thread::current();
            eprintln!("{}: {count} seeds", thread.name().unwrap_or("workload"));
            break;
        }
    }
}

/// Runs one seed.
pub fn run_seed(open: Open, meddle: Meddle, seed: u64) {
    seeds::run(SEEDS_FILE, seed, |seed| {
        bounded(move || Run::new(open, meddle, seed).all());
    });
}

struct Run {
    workspace: Fixture,
    meddle: Meddle,
    model: Model,
    random: Random,
    /// Whether transactions are queued several at a time, with savepoints and writes by query.
    is_wide: bool,
    /// Another workspace that writes to the file, as in another process.
    stranger: Option<Workspace>,
    is_far: bool,
    live: Vec<Follower>,
    watched: Vec<Watcher>,
}

/// How a transaction that changes nothing ends.
#[derive(Clone, Copy)]
enum Failure {
    Aborts,
    Fails,
    Panics,
}

impl Failure {
    fn kind(self) -> ErrorKind {
        match self {
            Self::Aborts => ErrorKind::Aborted,
            Self::Fails => ErrorKind::User,
            Self::Panics => ErrorKind::Panicked,
        }
    }
}

/// One change of a transaction.
#[derive(Clone, Debug)]
enum Step {
    Insert(SampleData),
    Update(i32, SampleData),
    Upsert(SampleData),
    Delete(i32),
    /// A savepoint, and whether it fails and is undone.
    Nested(Vec<Self>, bool),
    UpdateWhere(Condition),
    DeleteWhere(Condition),
}

impl Run {
    fn new(open: Open, meddle: Meddle, seed: u64) -> Self {
        let (workspace, is_far) = (open(), seed >= FAR_FROM);
        let path = workspace.path().filter(|_| is_far);
        let stranger = path.map(|path| {
            let backend = SqliteBackend::open(path, SqliteOptions::default()).unwrap();
            Workspace::on_backend(backend, EngineOptions::default())
        });
        Self {
            workspace,
            meddle,
            model: Model::default(),
            random: Random::new(seed),
            is_wide: seed >= WIDE_FROM,
            stranger,
            is_far,
            live: Vec::new(),
            watched: Vec::new(),
        }
    }

    fn all(mut self) {
        for _ in 0..TRANSACTIONS {
            if self.live.len() < 10 && self.random.one_in(2) {
                self.follow();
            } else if self.random.one_in(8) && !self.live.is_empty() {
                let place = self.random.below(self.live.len());
                self.live.swap_remove(place).cancel();
            }
            if self.is_far {
                self.watch();
            }
            (self.meddle)(&self.workspace, &mut self.random);
            self.others_write();
            self.transactions(None);
            (self.meddle)(&self.workspace, &mut self.random);
            for _ in 0..4 {
                let question = question(&mut self.random);
                let found = lower::fetch(self.workspace.fetch(), &question)
                    .all()
                    .unwrap();
                agree(&found, &self.model.ask(&question), &question);
            }
            self.check_live();
        }
        if let Some(stranger) = self.stranger {
            stranger.shutdown().unwrap();
        }
        self.workspace.shutdown().unwrap();
    }

    /// Begins or stops watching an object.
    fn watch(&mut self) {
        let random = &mut self.random;
        if self.watched.len() < 6 {
            let objects = self.workspace.fetch::<Sample>().all().unwrap();
            if !objects.is_empty() {
                let object = objects[random.below(objects.len())].clone();
                // When the watcher subscribes, the object may be out of date or deleted.
                self.watched.push(Watcher::new(object));
            }
        }
        for watcher in &mut self.watched {
            if random.one_in(3) {
                watcher.subscribe(&self.workspace);
            }
        }
        if random.one_in(6) && !self.watched.is_empty() {
            let place = random.below(self.watched.len());
            self.watched.swap_remove(place);
        }
    }

    /// Lets another workspace write to the file. This workspace refreshes at once or later.
    fn others_write(&mut self) {
        let stranger = self.stranger.clone();
        let Some(stranger) = stranger.filter(|_| self.random.one_in(2)) else {
            return;
        };
        // Building indexes commits, and a transaction that has read before such a commit and
        // writes after it is refused.
        Workspace::settle(&self.workspace).unwrap();
        self.transactions(Some(stranger.clone()));
        stranger.settle().unwrap();
        if self.random.one_in(2) {
            self.workspace.refresh().unwrap();
        }
    }

    fn follow(&mut self) {
        let question = question(&mut self.random);
        let after = self.place(&question);
        let follower = Follower::new(&self.workspace, question, after, &mut self.random);
        self.live.push(follower);
        self.workspace.settle::<Sample>();
        self.check_live();
    }

    /// Sometimes, a cursor in the result of a query, after which the query is to begin.
    fn place(&mut self, question: &Question) -> Option<Cursor> {
        if !self.is_far || self.random.one_in(2) {
            return None;
        }
        let found = lower::fetch(self.workspace.fetch::<Sample>(), question);
        let found = found.all().unwrap();
        found.cursor_at(self.random.below(found.len() + 1))
    }

    /// Checks that a live result equals the model's result and a fresh fetch, including row ids.
    fn check_live(&self) {
        if self.stranger.is_some() {
            self.workspace.refresh().unwrap();
            self.workspace.settle::<Sample>();
        }
        for live in &self.live {
            live.check(&self.model);
            live.check_fresh(&self.workspace);
        }
        let objects = self.workspace.fetch::<Sample>().all().unwrap();
        self.watched
            .iter()
            .for_each(|watcher| watcher.check(&objects));
    }

    /// Queues transactions of this or of another workspace, which may share a commit, and waits for
    /// all of them.
    fn transactions(&mut self, stranger: Option<Workspace>) {
        let count = if self.is_wide {
            1 + self.random.below(3)
        } else {
            1
        };
        let writer = stranger.unwrap_or_else(|| (*self.workspace).clone());
        let model = Arc::new(Mutex::new(self.model.clone()));
        let handles = (0..count).map(|_| self.transaction(&writer, &model));
        for (handle, failure) in handles.collect::<Vec<_>>() {
            let failed = handle.wait().err();
            let kind = failed.as_ref().map(Error::kind);
            assert_eq!(kind, failure.map(Failure::kind), "{failed:?}");
        }
        self.model = model.lock().unwrap().clone();
    }

    /// The way in which a transaction is to fail, if it is to fail.
    fn failure(&mut self) -> Option<Failure> {
        let failures = [Failure::Aborts, Failure::Fails, Failure::Panics];
        let fails = self.random.one_in(6);
        match self.is_far {
            true => fails.then(|| *self.random.pick(&failures)),
            false => fails.then_some(Failure::Aborts),
        }
    }

    /// Queues a transaction. Returns the way in which it is to fail.
    fn transaction(
        &mut self,
        writer: &Workspace,
        committed: &Arc<Mutex<Model>>,
    ) -> (TransactionHandle<()>, Option<Failure>) {
        let (random, is_wide) = (&mut self.random, self.is_wide);
        let mut steps: Vec<Step> = (0..1 + random.below(8)).map(|_| step(random)).collect();
        if is_wide {
            widen(random, &mut steps);
        }
        let asked: Vec<Question> = (0..2).map(|_| question(random)).collect();
        let failure = self.failure();
        let committed = Arc::clone(committed);
        let inside = writer.clone();
        let handle = writer.perform_changes([Sample::TABLE], move |tx| {
            let mut model = committed.lock().unwrap().clone();
            for step in steps {
                agree_on(tx, &mut model, step);
            }
            for question in asked {
                let found = lower::fetch(tx.fetch(), &question).all()?;
                agree(&found, &model.ask(&question), &question);
                let found = lower::fetch(inside.fetch(), &question).all()?;
                agree(&found, &model.ask(&question), &question);
            }
            match failure {
                None => *committed.lock().unwrap() = model,
                Some(Failure::Aborts) => assert!(tx.abort()),
                Some(Failure::Fails) => return Err(Error::user(std::fmt::Error)),
                // This panic prints nothing.
                Some(Failure::Panics) => std::panic::resume_unwind(Box::new("a handler")),
            }
            Ok(())
        });
        (handle, failure)
    }
}

/// Puts some of the steps behind a savepoint, which may be undone, and adds writes by query.
fn widen(random: &mut Random, steps: &mut Vec<Step>) {
    if random.one_in(4) {
        let by_query = match random.below(2) {
            0 => Step::UpdateWhere(condition(random, 2)),
            _ => Step::DeleteWhere(condition(random, 2)),
        };
        steps.insert(random.below(steps.len() + 1), by_query);
    }
    if random.one_in(3) {
        let inner = steps.split_off(random.below(steps.len()));
        steps.push(Step::Nested(inner, random.one_in(2)));
        steps.push(step(random));
    }
}

/// Makes a step in the workspace and in the model, and compares the effects.
fn agree_on(tx: &TransactionContext, model: &mut Model, step: Step) {
    let all = |model: &Model, condition: &Condition| -> Vec<SampleData> {
        let question = Question {
            condition: Some(condition.clone()),
            order: Vec::new(),
            offset: 0,
            limit: None,
        };
        model.ask(&question).into_iter().cloned().collect()
    };
    match step {
        Step::Nested(steps, fails) => {
            let before = model.clone();
            let done = tx.nested(|tx| {
                steps.into_iter().for_each(|step| agree_on(tx, model, step));
                if fails {
                    return Err(Error::user(std::fmt::Error));
                }
                Ok(())
            });
            assert_eq!(done.is_err(), fails);
            if fails {
                *model = before;
            }
        }
        Step::UpdateWhere(condition) => {
            let changed = tx.update_where(lower::condition(&condition), |data| {
                data.size = data.size.wrapping_add(1);
            });
            let expected = all(model, &condition);
            assert_eq!(changed.unwrap(), expected.len(), "{condition:?}");
            for mut data in expected {
                data.size = data.size.wrapping_add(1);
                assert!(model.update(data.id, data).is_ok());
            }
        }
        Step::DeleteWhere(condition) => {
            let deleted = tx.delete_where(lower::condition(&condition));
            let expected = all(model, &condition);
            assert_eq!(deleted.unwrap(), expected.len(), "{condition:?}");
            for data in expected {
                assert!(model.delete(data.id).is_ok());
            }
        }
        step => {
            let expected = on_model(model, step.clone());
            assert_eq!(on_workspace(tx, step.clone()), expected, "{step:?}");
        }
    }
}

fn on_model(model: &mut Model, step: Step) -> Result<Effect, Refusal> {
    match step {
        Step::Insert(data) => model.insert(data),
        Step::Update(id, data) => model.update(id, data),
        Step::Upsert(data) => model.upsert(data),
        Step::Delete(id) => model.delete(id),
        other => unreachable!("{other:?} is no single change"),
    }
}

fn on_workspace(tx: &TransactionContext, step: Step) -> Result<Effect, Refusal> {
    let request = match step {
        Step::Insert(data) => ChangeRequest::creation(data),
        Step::Upsert(data) => ChangeRequest::upsert(data),
        Step::Update(id, data) => {
            let object = tx.get::<Sample>(id).unwrap().ok_or(Refusal::Missing)?;
            let mut request = ChangeRequest::change(tx, &object).unwrap().unwrap();
            *request = data;
            request
        }
        Step::Delete(id) => {
            let object = tx.get::<Sample>(id).unwrap().ok_or(Refusal::Missing)?;
            ChangeRequest::deletion(tx, &object).unwrap().unwrap()
        }
        other => unreachable!("{other:?} is no single change"),
    };
    match tx.submit::<Sample>(request) {
        Ok(UpdatedObject::Inserted(_)) => Ok(Effect::Inserted),
        Ok(UpdatedObject::Updated(_)) => Ok(Effect::Updated),
        Ok(UpdatedObject::Identity(_)) => Ok(Effect::Identity),
        Ok(UpdatedObject::Deleted(_)) => Ok(Effect::Deleted),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(Refusal::Exists),
        other => panic!("{other:?}"),
    }
}

fn agree(found: &[Sample], expected: &[&SampleData], question: &Question) {
    let found: Vec<SampleData> = found.iter().map(Object::to_data).collect();
    let ids = |ids: &mut dyn Iterator<Item = i32>| ids.collect::<Vec<_>>();
    assert_eq!(
        ids(&mut found.iter().map(|data| data.id)),
        ids(&mut expected.iter().map(|data| data.id)),
        "{question:?}"
    );
    for (found, expected) in found.iter().zip(expected) {
        assert!(same(found, expected), "{found:?} is not {expected:?}");
    }
}
