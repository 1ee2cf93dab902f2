//! Merges: the table of all cases.

use std::path::Path;

use dflat::history::{CommitId, ConflictReason, Merged, PendingMerge};
use dflat::{Object, Workspace};
use dflat_testkit::fixture::bounded;
use dflat_testkit::schema::{
    Body, Level, Note, Photo, Point, Sample, SampleChangeRequest, SampleData,
};

use super::super::files::file;
use super::commits::{built, last};

type Edit = fn(&mut SampleData);

/// A change of the object with key 1 on one side.
#[derive(Clone, Copy)]
enum Change {
    Nothing,
    Deletion,
    /// A change of the object, or its insertion.
    Edit(Edit),
}

use Change::{Deletion, Edit as Set, Nothing};

/// The outcome of a case.
enum Expected {
    /// The object with these values.
    Object(Edit),
    /// No object.
    Absent,
    Conflict(ConflictReason, &'static [&'static str]),
}

use Expected::{Absent, Conflict, Object as Merge};

/// A case: its name, whether there is an object before, both changes, and the outcome.
type Case = (&'static str, bool, Change, Change, Expected);

fn note(text: &str) -> Note {
    Note {
        text: Some(text.to_owned()),
        ..Note::default()
    }
}

fn photo(url: &str) -> Photo {
    Photo {
        url: Some(url.to_owned()),
        ..Photo::default()
    }
}

const POINT: Point = Point { x: 1, y: 2.0 };
const BOTH: ConflictReason = ConflictReason::Fields;

/// The object before both changes.
fn base() -> SampleData {
    SampleData {
        id: 1,
        name: Some("base".to_owned()),
        body: Some(Body::Note(note("base"))),
        point: Some(POINT),
        tags: vec!["base".to_owned()],
        ..SampleData::default()
    }
}

/// The cases of `docs/history.md`, in its order.
fn cases() -> Vec<Case> {
    let mut cases = whole_objects();
    cases.extend(single_fields());
    cases.extend(whole_fields());
    cases
}

/// The cases in which only one side has changed the object, or both have deleted it.
fn whole_objects() -> Vec<Case> {
    vec![
        (
            "one side changes the object",
            true,
            Set(|d| d.rank = 1),
            Nothing,
            Merge(|d| d.rank = 1),
        ),
        ("one side deletes it", true, Deletion, Nothing, Absent),
        (
            "one side inserts it",
            false,
            Set(|d| d.rank = 1),
            Nothing,
            Merge(|d| d.rank = 1),
        ),
        ("both delete it", true, Deletion, Deletion, Absent),
    ]
}

/// The cases of fields of one value.
fn single_fields() -> Vec<Case> {
    vec![
        (
            "different fields",
            true,
            Set(|d| (d.rank, d.nick) = (1, Some("ours".to_owned()))),
            Set(|d| (d.size, d.level) = (2, Level::High)),
            Merge(|d| {
                (d.rank, d.nick) = (1, Some("ours".to_owned()));
                (d.size, d.level) = (2, Level::High);
            }),
        ),
        (
            "the same field to the same value, and another one",
            true,
            Set(|d| (d.rank, d.size) = (1, 2)),
            Set(|d| (d.rank, d.wide) = (1, 3)),
            Merge(|d| (d.rank, d.size, d.wide) = (1, 2, 3)),
        ),
        (
            "the same field to different values",
            true,
            Set(|d| (d.rank, d.size) = (1, 2)),
            Set(|d| (d.rank, d.wide) = (2, 3)),
            Conflict(BOTH, &["rank"]),
        ),
        (
            "a field set on one side and cleared on the other",
            true,
            Set(|d| d.name = None),
            Set(|d| d.name = Some("theirs".to_owned())),
            Conflict(BOTH, &["name"]),
        ),
        (
            "a field cleared, another set",
            true,
            Set(|d| d.name = None),
            Set(|d| d.maybe = Some(0)),
            Merge(|d| (d.name, d.maybe) = (None, Some(0))),
        ),
        (
            "deletion against a change",
            true,
            Deletion,
            Set(|d| d.rank = 1),
            Conflict(ConflictReason::Deleted, &[]),
        ),
        (
            "insertion of equal objects",
            false,
            Set(|d| d.rank = 1),
            Set(|d| d.rank = 1),
            Merge(|d| d.rank = 1),
        ),
        (
            "insertion of different objects",
            false,
            Set(|d| (d.rank, d.size) = (1, 5)),
            Set(|d| (d.rank, d.size) = (2, 5)),
            Conflict(ConflictReason::Inserted, &["rank"]),
        ),
    ]
}

/// The cases of fields that are merged as wholes.
fn whole_fields() -> Vec<Case> {
    vec![
        (
            "different parts of a struct",
            true,
            Set(|d| d.point = Some(Point { x: 9, ..POINT })),
            Set(|d| d.point = Some(Point { y: 9.0, ..POINT })),
            Conflict(BOTH, &["point"]),
        ),
        (
            "a struct on one side, a union on the other",
            true,
            Set(|d| d.point = None),
            Set(|d| d.body = Some(Body::Photo(photo("theirs")))),
            Merge(|d| (d.point, d.body) = (None, Some(Body::Photo(photo("theirs"))))),
        ),
        (
            "a union to different members",
            true,
            Set(|d| d.body = Some(Body::Spot(POINT))),
            Set(|d| d.body = Some(Body::Photo(photo("theirs")))),
            Conflict(BOTH, &["body"]),
        ),
        (
            "a union to the same value",
            true,
            Set(|d| (d.body, d.rank) = (Some(Body::Note(note("both"))), 1)),
            Set(|d| (d.body, d.size) = (Some(Body::Note(note("both"))), 2)),
            Merge(|d| {
                d.body = Some(Body::Note(note("both")));
                (d.rank, d.size) = (1, 2);
            }),
        ),
        (
            "different members of a vector",
            true,
            Set(|d| d.tags.push("ours".to_owned())),
            Set(|d| d.tags.insert(0, "theirs".to_owned())),
            Conflict(BOTH, &["tags"]),
        ),
        (
            "a vector, and vectors of tables, structs and unions",
            true,
            Set(|d| (d.tags, d.notes) = (Vec::new(), vec![note("ours")])),
            Set(|d| (d.spots, d.bodies) = (vec![POINT], vec![None, Some(Body::Spot(POINT))])),
            Merge(|d| {
                (d.tags, d.notes) = (Vec::new(), vec![note("ours")]);
                (d.spots, d.bodies) = (vec![POINT], vec![None, Some(Body::Spot(POINT))]);
            }),
        ),
    ]
}

fn apply(workspace: &Workspace, change: Change) {
    let changed = workspace.perform_changes_blocking([Sample::TABLE], |tx| {
        let found = tx.get::<Sample>(1)?;
        match (change, found) {
            (Deletion, Some(found)) => {
                let request = SampleChangeRequest::deletion(tx, &found)?.unwrap();
                tx.submit(request).map(drop)
            }
            (Set(edit), found) => {
                let empty = SampleData {
                    id: 1,
                    ..SampleData::default()
                };
                let mut data = found.map_or(empty, |found| found.to_data());
                edit(&mut data);
                tx.submit(SampleChangeRequest::upsert(data)).map(drop)
            }
            _ => Ok(()),
        }
    });
    changed.unwrap();
}

/// A file with two branches, `ours` and `theirs`, of which each has a change.
fn branched(path: &Path, (has_base, ours, theirs): (bool, Change, Change)) -> Workspace {
    let workspace = Workspace::builder(path)
        .versioned::<Sample>()
        .open()
        .unwrap();
    let history = workspace.history();
    let first = SampleData {
        id: 0,
        ..SampleData::default()
    };
    workspace
        .perform_changes_blocking([Sample::TABLE], |tx| {
            tx.submit(SampleChangeRequest::creation(first))?;
            match has_base {
                true => tx.submit(SampleChangeRequest::creation(base())).map(drop),
                false => Ok(()),
            }
        })
        .unwrap();
    for (name, change, id) in [("ours", ours, 100), ("theirs", theirs, 200)] {
        history.branch(name).unwrap();
        history.checkout(name).unwrap();
        apply(&workspace, change);
        // Each side has another change, so that neither is before the other.
        let other = SampleData {
            id,
            ..SampleData::default()
        };
        let request = SampleChangeRequest::creation(other);
        let made = workspace.perform_changes_blocking([Sample::TABLE], |tx| tx.submit(request));
        made.unwrap();
        history.checkout("main").unwrap();
    }
    workspace
}

/// Merges one branch into the other. Returns the commit, or the conflicts.
fn merge(workspace: &Workspace, into: &str, from: &str) -> Result<CommitId, PendingMerge> {
    workspace.history().checkout(into).unwrap();
    match workspace.history().merge(from).unwrap() {
        Merged::Commit { commit, .. } => Ok(commit),
        Merged::Conflicts(pending) => Err(pending),
        merged => panic!("{merged:?}"),
    }
}

fn check(name: &str, has_base: bool, sides: (Change, Change), expected: &Expected) {
    let (_directory, path) = file();
    let workspace = branched(&path, (has_base, sides.0, sides.1));
    let history = workspace.history();
    history.checkout("ours").unwrap();
    history.branch("before").unwrap();
    let before = history.head().unwrap();
    match (merge(&workspace, "ours", "theirs"), expected) {
        (Ok(commit), Merge(_) | Absent) => {
            let found = workspace
                .get::<Sample>(1)
                .unwrap()
                .map(|sample| sample.to_data());
            let object = match expected {
                Merge(edit) => {
                    let empty = SampleData {
                        id: 1,
                        ..SampleData::default()
                    };
                    let mut data = if has_base { base() } else { empty };
                    edit(&mut data);
                    Some(data)
                }
                _ => None,
            };
            assert_eq!(found, object, "{name}");
            let others = [100, 200].map(|id| workspace.get::<Sample>(id).unwrap().is_some());
            assert_eq!(others, [true, true]);
            let merged = last(&workspace);
            assert_eq!((merged.id, merged.parents.len()), (commit, 2));
            assert_eq!(merged.tables[0].root, built::<Sample>(&path), "{name}");
            // The other way round, it is the same commit.
            let other = merge(&workspace, "theirs", "before");
            assert_eq!(other.unwrap(), commit, "{name}");
            assert!(
                workspace
                    .check([Sample::TABLE])
                    .unwrap()
                    .problems
                    .is_empty()
            );
        }
        (Err(pending), Conflict(reason, fields)) => {
            let found = pending.of::<Sample>().unwrap();
            let [conflict] = &found[..] else {
                panic!("{name}: {found:?}")
            };
            assert_eq!(
                (conflict.reason, &conflict.fields[..]),
                (*reason, &fields.map_to()[..])
            );
            assert_eq!(conflict.base.is_some(), has_base);
            let is_there = |change| !matches!(change, Deletion);
            assert_eq!(conflict.ours.is_some(), is_there(sides.0), "{name}");
            assert_eq!(conflict.theirs.is_some(), is_there(sides.1), "{name}");
            // Nothing has changed.
            assert_eq!(history.head().unwrap(), before);
            let now = workspace.get::<Sample>(1).unwrap();
            let ours = conflict.ours.as_ref();
            assert_eq!(
                now.map(|now| now.to_data()),
                ours.map(|ours| ours.to_data())
            );
            assert!(workspace.get::<Sample>(200).unwrap().is_none());
        }
        (found, _) => panic!("{name}: {found:?}"),
    }
}

trait Names {
    fn map_to(&self) -> Vec<String>;
}

impl Names for &[&str] {
    fn map_to(&self) -> Vec<String> {
        self.iter().map(|name| (*name).to_owned()).collect()
    }
}

#[test]
fn every_case_of_a_merge_has_the_documented_outcome_on_both_sides() {
    bounded(|| {
        for (name, has_base, ours, theirs, expected) in cases() {
            check(name, has_base, (ours, theirs), &expected);
            check(name, has_base, (theirs, ours), &expected);
        }
    });
}

/// The page has each case, in order.
#[test]
fn table_of_cases_in_the_guide_names_each_case() {
    let page = include_str!("../../../../../../docs/history.md");
    let mut rest = page;
    for (name, .., expected) in cases() {
        let outcome = match expected {
            Merge(_) => "merged",
            Absent => "deleted",
            Conflict(..) => "conflict",
        };
        let row = format!("| {name} | {outcome}");
        let Some((_, after)) = rest.split_once(&row) else {
            panic!("the page lacks {row:?}, or has it earlier");
        };
        rest = after;
    }
}
