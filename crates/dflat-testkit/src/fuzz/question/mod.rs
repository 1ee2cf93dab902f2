//! Random objects, and random queries with few fields and few values, so that results are not
//! empty.

mod expression;

pub(super) use expression::term;

use expression::computing;

use crate::model::{Cell, Condition, Key, Operator, Path, Question, Term};
use crate::random::Random;
use crate::schema::{Body, Level, Mark, Note, Photo, Point, SampleData};

pub(super) const TEXTS: [&str; 20] = [
    "",
    "\0",
    "a",
    "a\0",
    "a\0b",
    "aa",
    "ab",
    "b",
    "B",
    "é",
    "e\u{301}",
    "文",
    "文字",
    "\u{FFFF}",
    "\u{10FFFF}",
    "9",
    "10",
    "1e1",
    " ",
    "'",
];
pub(super) const REALS: [f64; 18] = [
    0.0,
    -0.0,
    1.0,
    1.5,
    -2.5,
    0.1,
    5e-324,
    1e-40,
    f64::MIN_POSITIVE,
    f64::MAX,
    f64::MIN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    9_007_199_254_740_992.0,
    9_007_199_254_740_994.0,
    9_223_372_036_854_775_808.0,
    -9_223_372_036_854_775_808.0,
];
pub(super) const WIDES: [u64; 9] = [
    0,
    1,
    7,
    (1 << 53) + 1,
    (1 << 63) - 1,
    1 << 63,
    (1 << 63) + 1,
    u64::MAX - 1,
    u64::MAX,
];
const NUMBERS: [i32; 9] = [i32::MIN, -2, -1, 0, 1, 2, 3, 4, i32::MAX];

/// The paths that have an index or are the key.
const FAST: [Path; 10] = [
    Path::Id,
    Path::Rank,
    Path::Name,
    Path::Code,
    Path::Weight,
    Path::Wide,
    Path::BodyTag,
    Path::NoteStars,
    Path::PhotoUrl,
    Path::SpotX,
];

fn text(random: &mut Random) -> Option<String> {
    (!random.one_in(4)).then(|| (*random.pick(&TEXTS)).to_owned())
}

pub(super) fn number(random: &mut Random) -> i32 {
    *random.pick(&NUMBERS)
}

fn point(random: &mut Random) -> Point {
    Point {
        x: number(random),
        y: *random.pick(&REALS) as f32,
    }
}

/// One of a few keys, so that equal ones are frequent.
pub(super) fn key(random: &mut Random) -> i32 {
    match random.below(40) {
        0 => i32::MIN,
        1 => i32::MAX,
        id => i32::try_from(id).unwrap() - 4,
    }
}

fn note(random: &mut Random) -> Note {
    Note {
        text: text(random),
        stars: number(random),
    }
}

fn body(random: &mut Random) -> Option<Body> {
    match random.below(5) {
        0 | 1 => Some(Body::Note(note(random))),
        2 => Some(Body::Photo(Photo {
            url: text(random),
            bytes: *random.pick(&WIDES),
        })),
        3 => Some(Body::Spot(point(random))),
        _ => None,
    }
}

/// No values, or a few.
fn several<T>(random: &mut Random, one: impl Fn(&mut Random) -> T) -> Vec<T> {
    let count = if random.one_in(2) { 0 } else { random.below(4) };
    (0..count).map(|_| one(random)).collect()
}

/// An object.
pub(super) fn sample(random: &mut Random) -> SampleData {
    SampleData {
        id: key(random),
        rank: number(random),
        size: number(random),
        name: text(random),
        nick: text(random),
        code: text(random),
        weight: *random.pick(&REALS),
        mass: *random.pick(&REALS),
        wide: *random.pick(&WIDES),
        flag: random.one_in(2),
        level: *random.pick(&Level::ALL),
        maybe: (!random.one_in(3)).then(|| number(random)),
        body: body(random),
        point: (!random.one_in(3)).then(|| point(random)),
        marks: Mark::from_bits(u8::try_from(random.below(8)).unwrap()),
        tags: several(random, |random| (*random.pick(&TEXTS)).to_owned()),
        scores: several(random, number),
        notes: several(random, note),
        spots: several(random, point),
        bodies: several(random, body),
    }
}

/// A query on a few fields.
pub(super) fn question(random: &mut Random) -> Question {
    let paths: Vec<Path> = (0..1 + random.below(3)).map(|_| path(random)).collect();
    let order = (0..random.below(3))
        .map(|_| Key {
            term: if random.one_in(4) {
                term(random)
            } else {
                Term::Path(*random.pick(&paths))
            },
            descending: random.one_in(2),
            missing_first: random.one_in(4).then(|| random.one_in(2)),
        })
        .collect();
    let parts = random.below(6);
    let condition = (0..parts)
        .map(|_| part(random, &paths, 2))
        .reduce(|all, part| Condition::And(Box::new(all), Box::new(part)));
    let limit = match random.below(8) {
        0 => Some(0),
        1..4 => Some(1 + random.below(4)),
        4 => Some(30),
        _ => None,
    };
    Question {
        condition,
        order,
        offset: if random.one_in(4) { random.below(5) } else { 0 },
        limit,
    }
}

fn path(random: &mut Random) -> Path {
    if random.one_in(4) {
        *random.pick(&Path::ALL)
    } else {
        *random.pick(&FAST)
    }
}

fn part(random: &mut Random, paths: &[Path], depth: usize) -> Condition {
    let path = *random.pick(paths);
    let kind = random.below(if depth == 0 { 15 } else { 19 });
    let inner = |random: &mut Random| Box::new(part(random, paths, depth.saturating_sub(1)));
    match kind {
        0..8 => Condition::Compare(path, operator(random), cell(random, path)),
        8..11 => {
            let mut values: Vec<Cell> = (0..random.below(6)).map(|_| cell(random, path)).collect();
            if let Some(first) = values.first().cloned().filter(|_| random.one_in(2)) {
                values.push(first);
            }
            Condition::In(path, values)
        }
        11 => Condition::IsNull(path),
        12 => Condition::Between(path, cell(random, path), cell(random, path)),
        13 | 14 => computing(random, path),
        15 => Condition::And(inner(random), inner(random)),
        16 => Condition::Or(inner(random), inner(random)),
        _ => Condition::Not(inner(random)),
    }
}

pub(super) fn operator(random: &mut Random) -> Operator {
    use Operator::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
    *random.pick(&[
        Equal,
        Equal,
        NotEqual,
        Less,
        LessOrEqual,
        Greater,
        GreaterOrEqual,
    ])
}

/// A value to compare a field with, missing only as the NaN of a float.
pub(super) fn cell(random: &mut Random, path: Path) -> Cell {
    match path {
        Path::Name | Path::Nick | Path::Code | Path::NoteText | Path::PhotoUrl => {
            Cell::Text((*random.pick(&TEXTS)).to_owned())
        }
        Path::Weight | Path::Mass => real(*random.pick(&REALS)),
        Path::PointY => real(f64::from(*random.pick(&REALS) as f32)),
        Path::Wide | Path::PhotoBytes => Cell::Whole((*random.pick(&WIDES)).into()),
        Path::Marks => Cell::Whole(i128::try_from(random.below(8)).unwrap()),
        Path::Flag => Cell::Whole(i128::from(random.one_in(2))),
        Path::Level => Cell::Whole(*random.pick(&[1, 5, 9])),
        Path::BodyTag => Cell::Whole(*random.pick(&[0, 1, 2, 3, 4, 255])),
        Path::Id => Cell::Whole(key(random).into()),
        Path::Rank | Path::Size | Path::Maybe | Path::NoteStars | Path::SpotX | Path::PointX => {
            Cell::Whole(number(random).into())
        }
    }
}

pub(super) fn real(number: f64) -> Cell {
    if number.is_nan() {
        Cell::Missing
    } else {
        Cell::Real(number)
    }
}
