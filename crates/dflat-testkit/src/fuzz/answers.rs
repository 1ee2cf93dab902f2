//! Compares the counts, values and pages of a query with those of the model.

use dflat::{Cursor, ErrorKind, Predicate, Workspace};

use super::question::term;
use crate::lower::{self, number};
use crate::model::{Cell, Condition, Domain, Model, Path, Question, stand};
use crate::random::Random;
use crate::schema::{Sample, SampleData};

/// Checks the aggregates, fields and pages of a question's result.
pub(super) fn check(
    workspaces: &[&Workspace],
    model: &Model,
    question: &Question,
    random: &mut Random,
) {
    let expected = model.ask(question);
    let ids: Vec<i32> = expected.iter().map(|data| data.id).collect();
    let (path, place) = (*random.pick(&Path::ALL), random.below(ids.len().max(1)));
    let term = term(random);
    let mut totals = Vec::new();
    for workspace in workspaces {
        let fetch = || lower::fetch(workspace.fetch(), question);
        assert_eq!(fetch().count().unwrap(), ids.len(), "{question:?}");
        assert_eq!(fetch().exists().unwrap(), !ids.is_empty(), "{question:?}");
        let streamed = fetch().iter().unwrap().map(|object| object.unwrap().id());
        assert_eq!(streamed.collect::<Vec<_>>(), ids, "{question:?}");
        let pairs = number::pairs(path, fetch());
        assert_eq!(pairs.len(), ids.len(), "{question:?}");
        for ((id, cell), data) in pairs.iter().zip(&expected) {
            assert_eq!(
                (*id, cell),
                (data.id, &path.of(data)),
                "{path:?} {question:?}"
            );
        }
        let extremes = number::extremes(path, [fetch(), fetch()]);
        assert_eq!(
            extremes.map(zero),
            self::extremes(path, &expected).map(zero),
            "{path:?}"
        );
        let (sum, mean) = number::total(&term, [fetch(), fetch()]);
        totals.push(format!("{sum:?} {mean:?}"));
        if term.domain() != Domain::Float {
            let cells = expected.iter().map(|data| term.of(data));
            check_sum(term.domain(), cells, sum);
        }
        page(workspace, question, &expected, place);
        if let Some(condition) = &question.condition {
            check_bytes(workspace, condition, random);
        }
    }
    assert!(
        totals.iter().all(|total| *total == totals[0]),
        "{totals:?} {term:?} {question:?}"
    );
}

/// Checks that a condition is read back from its bytes, and that damaged bytes are refused or give
/// another condition, which can be queried.
fn check_bytes(workspace: &Workspace, condition: &Condition, random: &mut Random) {
    let predicate = lower::condition(condition);
    let mut bytes = predicate.to_bytes().unwrap();
    let again = Predicate::<Sample>::from_bytes(&bytes).unwrap();
    assert_eq!(again.to_string(), predicate.to_string());
    assert_eq!(again.to_bytes().unwrap(), bytes);
    for _ in 0..8 {
        let place = random.below(bytes.len());
        match random.below(3) {
            0 => bytes[place] ^= 1 << random.below(8),
            1 => bytes[place] = u8::try_from(random.below(256)).unwrap(),
            _ => bytes.truncate(place + 1),
        }
        if let Ok(other) = Predicate::<Sample>::from_bytes(&bytes) {
            let _ = workspace.fetch().filter(other.clone()).all().unwrap();
            assert_eq!(other.to_bytes().unwrap(), bytes, "{other}");
        }
    }
}

/// Zero without its sign, because it depends on the plan which of two zeros is met first.
fn zero(cell: Cell) -> Cell {
    match cell {
        Cell::Real(number) => Cell::Real(number + 0.0),
        cell => cell,
    }
}

fn extremes(path: Path, objects: &[&SampleData]) -> [Cell; 2] {
    let cells = objects.iter().map(|data| path.of(data));
    let mut cells: Vec<Cell> = cells.filter(|cell| *cell != Cell::Missing).collect();
    cells.sort_by(stand);
    let or_missing = |cell: Option<&Cell>| cell.cloned().unwrap_or(Cell::Missing);
    [or_missing(cells.first()), or_missing(cells.last())]
}

fn check_sum(domain: Domain, cells: impl Iterator<Item = Cell>, found: dflat::Result<Cell>) {
    let mut sum = None;
    for cell in cells {
        if let Cell::Whole(number) = cell {
            sum = Some(sum.unwrap_or(0) + number);
        }
    }
    let fits = sum.is_none_or(|sum: i128| match domain {
        Domain::Signed => i64::try_from(sum).is_ok(),
        _ => u64::try_from(sum).is_ok(),
    });
    match found {
        Ok(found) => assert_eq!(
            (fits, found),
            (true, sum.map_or(Cell::Missing, Cell::Whole))
        ),
        Err(error) => assert_eq!((fits, error.kind()), (false, ErrorKind::InvalidArgument)),
    }
}

/// Checks that the page after an object of the result has the rest of the result.
fn page(workspace: &Workspace, question: &Question, expected: &[&SampleData], place: usize) {
    let fetch = || lower::fetch(workspace.fetch::<Sample>(), question);
    let first = fetch().all().unwrap();
    let Some(cursor) = first.cursor_at(place) else {
        assert!(first.end().is_none());
        return;
    };
    let cursor = Cursor::from_bytes(&cursor.to_bytes()).unwrap();
    let rest: Vec<i32> = expected[place + 1..].iter().map(|data| data.id).collect();
    let next = fetch()
        .offset(0)
        .after(cursor.clone())
        .limit(rest.len())
        .all()
        .unwrap();
    assert_eq!(
        next.iter().map(Sample::id).collect::<Vec<_>>(),
        rest,
        "{cursor} {question:?}"
    );
    if question.limit.is_none() {
        let count = fetch().offset(0).after(cursor).count().unwrap();
        assert_eq!(count, rest.len(), "{question:?}");
    }
}
