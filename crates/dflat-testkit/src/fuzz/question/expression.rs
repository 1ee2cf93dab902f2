//! Random conditions with arithmetic, tests of strings, and members of vectors.

use super::{REALS, TEXTS, WIDES, cell, number, operator, real};
use crate::model::{Case, Cell, Condition, Domain, Each, Path, Share, Term, Test, Vector};
use crate::random::Random;

const SIGNED: [Path; 7] = [
    Path::Id,
    Path::Rank,
    Path::Size,
    Path::Maybe,
    Path::NoteStars,
    Path::SpotX,
    Path::PointX,
];
const STRINGS: [Path; 5] = [
    Path::Name,
    Path::Nick,
    Path::Code,
    Path::NoteText,
    Path::PhotoUrl,
];
const PATTERNS: [&str; 16] = [
    "", "%", "_", "%a%", "a%", "%b", "_b", "a_", "\\%", "%\\_", "É", "E%", "文_", "%%", "A", "\0%",
];

/// A condition that is not a plain comparison.
pub(super) fn computing(random: &mut Random, path: Path) -> Condition {
    let share = *random.pick(&[Share::All, Share::Any]);
    match random.below(6) {
        0 => Condition::NotIn(
            path,
            (0..random.below(4)).map(|_| cell(random, path)).collect(),
        ),
        1 => {
            let domain = *random.pick(&[Domain::Signed, Domain::Unsigned, Domain::Float]);
            let left = of_domain(random, domain, 2);
            Condition::Weigh(left, operator(random), of_domain(random, domain, 1))
        }
        2 | 3 => {
            let test = *random.pick(&[
                Test::Equals,
                Test::Begins,
                Test::Begins,
                Test::Ends,
                Test::Has,
                Test::Like,
            ]);
            let patterns: &[&str] = if test == Test::Like {
                &PATTERNS
            } else {
                &TEXTS
            };
            let pattern = (*random.pick(patterns)).to_owned();
            let case = *random.pick(&[Case::Exact, Case::Exact, Case::Ignored]);
            let path = match STRINGS.contains(&path) {
                true => path,
                false => *random.pick(&STRINGS),
            };
            Condition::Text(path, test, pattern, case)
        }
        4 => Condition::Marks(share, u8::try_from(random.below(8)).unwrap()),
        _ => Condition::Members(share, each(random)),
    }
}

fn each(random: &mut Random) -> Each {
    let tag = (*random.pick(&TEXTS)).to_owned();
    match random.below(7) {
        0 => Each::Tag(operator(random), tag),
        1 => Each::Score(operator(random), number(random)),
        2 => Each::Note(
            operator(random),
            number(random),
            random.one_in(2).then_some(tag),
        ),
        3 => Each::SpotX(operator(random), number(random)),
        4 => Each::SpotY(operator(random), *random.pick(&REALS) as f32),
        5 => Each::BodyTag(*random.pick(&[0, 1, 2, 3, 9])),
        _ => Each::BodyStars(operator(random), number(random)),
    }
}

/// A computed term.
pub(in crate::fuzz) fn term(random: &mut Random) -> Term {
    match random.below(5) {
        0 => Term::Length(*random.pick(&STRINGS)),
        1 => Term::Count(vector(random)),
        2 => {
            let path = *random.pick(&Path::ALL);
            Term::Position(
                path,
                (0..random.below(4)).map(|_| cell(random, path)).collect(),
            )
        }
        _ => {
            let domain = *random.pick(&[Domain::Signed, Domain::Unsigned, Domain::Float]);
            of_domain(random, domain, 2)
        }
    }
}

fn vector(random: &mut Random) -> Vector {
    *random.pick(&[
        Vector::Tags,
        Vector::Scores,
        Vector::Notes,
        Vector::Spots,
        Vector::Bodies,
    ])
}

/// A term of a domain.
fn of_domain(random: &mut Random, domain: Domain, depth: usize) -> Term {
    if depth > 0 && random.one_in(2) {
        // The left side determines the domain.
        let left = Box::new(of_domain(random, domain, depth - 1));
        let operator = *random.pick(&['+', '-', '*', '/', '%']);
        let right = if random.one_in(2) {
            Term::Number(literal(random, domain))
        } else {
            of_domain(random, domain, depth - 1)
        };
        return Term::Computed(left, operator, Box::new(right));
    }
    match domain {
        Domain::Signed => Term::Path(*random.pick(&SIGNED)),
        Domain::Float => Term::Path(*random.pick(&[Path::Weight, Path::Mass, Path::PointY])),
        Domain::Unsigned => match random.below(4) {
            0 => Term::Path(Path::PhotoBytes),
            1 => Term::Length(*random.pick(&STRINGS)),
            2 => Term::Count(vector(random)),
            _ => Term::Path(Path::Wide),
        },
    }
}

fn literal(random: &mut Random, domain: Domain) -> Cell {
    match domain {
        Domain::Signed => Cell::Whole(match random.below(4) {
            0 => i64::MIN.into(),
            1 => i64::MAX.into(),
            _ => number(random).into(),
        }),
        Domain::Unsigned => Cell::Whole((*random.pick(&WIDES)).into()),
        Domain::Float => real(*random.pick(&REALS)),
    }
}
