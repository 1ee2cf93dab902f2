//! A repair of more problems than a report lists.

use dflat::{ProblemKind, Workspace};
use dflat_testkit::schema::{Item, Other, OtherChangeRequest, OtherData};

use super::repair::{damaged, execute};

/// A report lists the first 10,000 problems of a kind in a table.
#[test]
fn repair_builds_an_index_behind_more_problems_than_a_report_lists() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("many.db");
    damaged(&path);
    let workspace = Workspace::open(&path).unwrap();
    let other = OtherChangeRequest::creation(OtherData::default());
    let created = workspace.perform_changes([Other::TABLE], |tx| tx.submit(other).map(drop));
    created.wait().unwrap();
    workspace.shutdown().unwrap();
    execute(
        &path,
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10001)
         INSERT INTO other (__pk0, p) SELECT NULL, x'080000000400040004000000' FROM n",
    );
    let workspace = Workspace::open(&path).unwrap();
    let report = workspace.repair([Other::TABLE, Item::TABLE]).unwrap();
    assert_eq!(report.before.problems_count, 10_003);
    let is_of_index = |problem: &dflat::Problem| problem.kind == ProblemKind::Index;
    assert!(report.before.problems.iter().any(is_of_index));
    assert!(!report.after.problems.iter().any(is_of_index));
    // Row 9 has the rank 8 % 7.
    let found = workspace
        .fetch::<Item>()
        .filter(Item::RANK.eq(1))
        .all()
        .unwrap();
    assert!(found.iter().any(|item| item.id() == "item0008"));
}

/// The indexes are built when all unreadable rows are moved, also those that no report lists.
#[test]
fn repair_moves_more_unreadable_rows_than_a_report_lists() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("many.db");
    damaged(&path);
    execute(
        &path,
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20001)
         INSERT INTO item (__pk0, p) SELECT 'unreadable' || i, x'00010203' FROM n",
    );
    let workspace = Workspace::open(&path).unwrap();
    let report = workspace.repair([Item::TABLE]).unwrap();
    let unreadable = |problem: &&dflat::Problem| problem.kind == ProblemKind::Payload;
    let listed = report.before.problems.iter().filter(unreadable).count();
    let moved = report.unreadable.iter().filter(unreadable).count();
    assert!(listed == 10_000 && moved > 20_000, "{listed} and {moved}");
    assert!(report.after.is_sound(), "{:?}", report.after.problems);
    let found = workspace.fetch::<Item>().filter(Item::RANK.eq(1));
    assert!(
        found
            .all()
            .unwrap()
            .iter()
            .any(|item| item.id() == "item0008")
    );
}
