//! Random operations on a workspace and on the model, which must agree after each.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use dflat::{
    ChangeRequest, Error, ErrorKind, Object, TransactionContext, TransactionHandle, UpdatedObject,
    Workspace,
};

use crate::fixture::{Fixture, Open, bounded};
use crate::follower::Follower;
use crate::lower;
use crate::model::{
    Cell, Condition, Effect, Key, Model, Operator, Path, Question, Refusal, Term, same,
};
use crate::random::Random;
use crate::schema::{Body, Level, Note, Photo, Point, Sample, SampleData};
use crate::seeds;

const TEXTS: [&str; 7] = ["", "a", "a\0", "b", "é", "文字", "z"];
const REALS: [f64; 8] = [
    0.0,
    -0.0,
    1.5,
    -2.5,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    9_007_199_254_740_992.0,
];
const WIDES: [u64; 6] = [0, 1, 7, (1 << 63) - 1, 1 << 63, u64::MAX];
const LEVELS: [Level; 3] = Level::ALL;

/// How many transactions a seed runs.
const TRANSACTIONS: usize = 25;

/// Seeds from this one on do more in a transaction. Those below do what they did when they failed.
const WIDE_FROM: u64 = 1_000_000;

/// Where seeds that failed are kept.
const SEEDS_FILE: &str = "tests/seeds.txt";

/// Does something to a workspace between transactions that must not change its answers.
pub type Meddle = fn(&Fixture, &mut Random);

/// Runs the seeds that failed before, then new ones until the time is over:
/// `DFLAT_WORKLOAD_SECONDS`, or 3 seconds.
///
/// # Panics
/// With the seed, if the workspace and the model disagree; it is added to `tests/seeds.txt`.
pub fn run(open: Open, meddle: Meddle) {
    let seconds = std::env::var("DFLAT_WORKLOAD_SECONDS");
    let seconds = seconds.ok().and_then(|text| text.parse().ok()).unwrap_or(3);
    let end = Instant::now() + Duration::from_secs(seconds);
    for seed in seeds::kept(SEEDS_FILE) {
        run_seed(open, meddle, seed.parse().unwrap());
    }
    // Those that do less find other things.
    for seed in (0..).flat_map(|n| [WIDE_FROM + n, 1 + n]) {
        run_seed(open, meddle, seed);
        if Instant::now() > end {
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
    /// Whether transactions are queued several at a time, with nested groups and writes by query.
    is_wide: bool,
    live: Vec<Follower>,
}

/// One change of a transaction.
#[derive(Clone, Debug)]
enum Step {
    Insert(SampleData),
    Update(i32, SampleData),
    Upsert(SampleData),
    Delete(i32),
    /// A nested group, and whether it fails and is undone.
    Nested(Vec<Self>, bool),
    UpdateWhere(Condition),
    DeleteWhere(Condition),
}

impl Run {
    fn new(open: Open, meddle: Meddle, seed: u64) -> Self {
        Self {
            workspace: open(),
            meddle,
            model: Model::default(),
            random: Random::new(seed),
            is_wide: seed >= WIDE_FROM,
            live: Vec::new(),
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
            (self.meddle)(&self.workspace, &mut self.random);
            self.transactions();
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
        self.workspace.shutdown().unwrap();
    }

    fn follow(&mut self) {
        let question = question(&mut self.random);
        let follower = Follower::new(&self.workspace, question, &mut self.random);
        self.live.push(follower);
        self.workspace.settle::<Sample>();
        self.check_live();
    }

    /// A live result equals the model's answer and a fresh fetch, row ids included.
    fn check_live(&self) {
        for live in &self.live {
            live.check(&self.model);
            let query = lower::fetch(self.workspace.fetch(), &live.question);
            let fresh: Vec<_> = query.all().unwrap().iter().map(Object::row_id).collect();
            live.check_projection(&self.workspace);
            assert_eq!(live.row_ids(), fresh, "{:?}", live.question);
        }
    }

    /// Queues transactions, which may share a commit, and waits for all of them.
    fn transactions(&mut self) {
        let count = if self.is_wide {
            1 + self.random.below(3)
        } else {
            1
        };
        let model = Arc::new(Mutex::new(self.model.clone()));
        let handles: Vec<_> = (0..count).map(|_| self.transaction(&model)).collect();
        for (handle, aborts) in handles {
            match handle.wait() {
                Ok(()) => assert!(!aborts),
                Err(error) => {
                    assert!(aborts && error.kind() == ErrorKind::Aborted, "{error:?}");
                }
            }
        }
        self.model = model.lock().unwrap().clone();
    }

    /// Queues a transaction; whether it aborts.
    fn transaction(&mut self, committed: &Arc<Mutex<Model>>) -> (TransactionHandle<()>, bool) {
        let (random, is_wide) = (&mut self.random, self.is_wide);
        let mut steps: Vec<Step> = (0..1 + random.below(8)).map(|_| step(random)).collect();
        if is_wide {
            widen(random, &mut steps);
        }
        let asked: Vec<Question> = (0..2).map(|_| question(random)).collect();
        let aborts = random.one_in(6);
        let committed = Arc::clone(committed);
        let inside: Workspace = (*self.workspace).clone();
        let handle = self.workspace.perform_changes([Sample::TABLE], move |tx| {
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
            if aborts {
                tx.abort();
            } else {
                *committed.lock().unwrap() = model;
            }
            Ok(())
        });
        (handle, aborts)
    }
}

/// Makes a group of some of the steps, which may be undone, and adds writes by query.
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

/// Does a step in the workspace and the model, which do the same.
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

fn step(random: &mut Random) -> Step {
    let id = small(random);
    match random.below(8) {
        0..3 => Step::Insert(sample(random)),
        3..5 => {
            let mut data = sample(random);
            if !random.one_in(4) {
                data.id = id;
            }
            Step::Update(id, data)
        }
        5..7 => Step::Upsert(sample(random)),
        _ => Step::Delete(id),
    }
}

/// A number of a few, so that they meet.
fn small(random: &mut Random) -> i32 {
    i32::try_from(random.below(16)).unwrap() - 4
}

fn some_text(random: &mut Random) -> Option<String> {
    (!random.one_in(3)).then(|| (*random.pick(&TEXTS)).to_owned())
}

fn point(random: &mut Random) -> Point {
    Point {
        x: small(random),
        y: *random.pick(&REALS) as f32,
    }
}

fn body(random: &mut Random) -> Option<Body> {
    match random.below(5) {
        0 => Some(Body::Note(Note {
            text: some_text(random),
            stars: small(random),
        })),
        1 | 2 => Some(Body::Photo(Photo {
            url: some_text(random),
            bytes: *random.pick(&WIDES),
        })),
        3 => Some(Body::Spot(point(random))),
        _ => None,
    }
}

fn sample(random: &mut Random) -> SampleData {
    SampleData {
        id: small(random),
        rank: small(random),
        size: small(random),
        name: some_text(random),
        nick: some_text(random),
        code: random.one_in(3).then(|| small(random).to_string()),
        weight: *random.pick(&REALS),
        mass: *random.pick(&REALS),
        wide: *random.pick(&WIDES),
        flag: random.one_in(2),
        level: *random.pick(&LEVELS),
        maybe: (!random.one_in(3)).then(|| small(random)),
        body: body(random),
        point: (!random.one_in(3)).then(|| point(random)),
        ..SampleData::default()
    }
}

fn question(random: &mut Random) -> Question {
    let order = (0..random.below(3)).map(|_| Key {
        term: Term::Path(*random.pick(&Path::ALL)),
        descending: random.one_in(2),
        missing_first: None,
    });
    let order = order.collect();
    Question {
        condition: (!random.one_in(8)).then(|| condition(random, 3)),
        order,
        offset: if random.one_in(4) { random.below(4) } else { 0 },
        limit: random.one_in(3).then(|| random.below(6)),
    }
}

fn condition(random: &mut Random, depth: usize) -> Condition {
    let kind = if depth == 0 {
        random.below(5)
    } else {
        random.below(10)
    };
    let inner = |random: &mut Random| Box::new(condition(random, depth - 1));
    match kind {
        0..3 => {
            let path = *random.pick(&Path::ALL);
            Condition::Compare(path, operator(random), cell(random, path))
        }
        3 => {
            let path = *random.pick(&Path::ALL);
            let values = (0..random.below(5)).map(|_| cell(random, path)).collect();
            Condition::In(path, values)
        }
        4 => Condition::IsNull(*random.pick(&Path::ALL)),
        5..8 => Condition::And(inner(random), inner(random)),
        8 => Condition::Or(inner(random), inner(random)),
        _ => Condition::Not(inner(random)),
    }
}

fn operator(random: &mut Random) -> Operator {
    use Operator::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
    *random.pick(&[Equal, NotEqual, Less, LessOrEqual, Greater, GreaterOrEqual])
}

/// A value to compare a field with: one that it may have.
fn cell(random: &mut Random, path: Path) -> Cell {
    loop {
        let mut data = sample(random);
        if matches!(path, Path::NoteText | Path::NoteStars) {
            data.body = Some(Body::Note(Note {
                text: some_text(random),
                stars: small(random),
            }));
        }
        let cell = path.of(&data);
        // Only a float can be compared with no value: NaN.
        if cell != Cell::Missing || matches!(path, Path::Weight | Path::Mass) {
            return cell;
        }
    }
}
