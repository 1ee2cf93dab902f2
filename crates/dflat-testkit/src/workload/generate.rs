//! Random objects, changes to them and questions about them.

use super::Step;
use crate::model::{Cell, Condition, Key, Operator, Path, Question, Term};
use crate::random::Random;
use crate::schema::{Body, Level, Note, Photo, Point, SampleData};

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

/// A change of one object.
pub(super) fn step(random: &mut Random) -> Step {
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

/// One of a few numbers, so that equal ones are frequent.
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

/// An object.
pub(super) fn sample(random: &mut Random) -> SampleData {
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

/// A question.
pub(super) fn question(random: &mut Random) -> Question {
    let order = (0..random.below(3)).map(|_| Key {
        term: Term::Path(*random.pick(&Path::ALL)),
        descending: random.one_in(2),
        missing_first: *random.pick(&[None, Some(true), Some(false)]),
    });
    let order = order.collect();
    Question {
        condition: (!random.one_in(8)).then(|| condition(random, 3)),
        order,
        offset: if random.one_in(4) { random.below(4) } else { 0 },
        limit: random.one_in(3).then(|| random.below(6)),
    }
}

/// A condition of this depth.
pub(super) fn condition(random: &mut Random, depth: usize) -> Condition {
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

/// A value to compare a field with, which the field may have.
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
        // Only a float can be compared with a missing value: NaN.
        if cell != Cell::Missing || matches!(path, Path::Weight | Path::Mass) {
            return cell;
        }
    }
}
