//! A repair of more problems than a report lists.

use dflat::{ErrorKind, ProblemKind, Workspace};
use dflat_testkit::schema::{
    Item, ItemChangeRequest, ItemData, Other, OtherChangeRequest, OtherData,
};

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

/// The place of the last page with the rest of a long text: a page of other bytes alone, and then
/// the end of the text.
fn last_page_of(bytes: &[u8], text: u8) -> usize {
    let pages = bytes.chunks(4096).enumerate();
    let of_text = pages.filter(|(_, page)| page[4..200].iter().all(|byte| *byte == text));
    let mut last = of_text.filter(|(_, page)| page[..4] == [0; 4]);
    last.next().unwrap().0 * 4096
}

/// A row with damaged pages was moved, which gave space back by a page that is none, and nothing
/// could be written to the file afterwards.
#[test]
fn no_row_is_moved_if_pages_are_damaged() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let workspace = Workspace::open(&path).unwrap();
    let store = |workspace: &Workspace, id: &str, length: usize| {
        let nick = Some("n".repeat(length));
        let id = id.to_owned();
        let data = ItemData {
            id,
            nick,
            ..ItemData::default()
        };
        let stored = workspace.perform_changes_blocking([Item::TABLE], |tx| {
            tx.submit(ItemChangeRequest::upsert(data)).map(drop)
        });
        stored.unwrap();
    };
    store(&workspace, "long", 30_000);
    store(&workspace, "short", 10);
    workspace.shutdown().unwrap();
    drop(workspace);
    let mut bytes = std::fs::read(&path).unwrap();
    let page = last_page_of(&bytes, b'n');
    bytes[page..page + 4096].fill(0xa5);
    std::fs::write(&path, bytes).unwrap();
    let workspace = Workspace::open(&path).unwrap();
    let before = workspace.check([Item::TABLE]).unwrap();
    let kinds: Vec<ProblemKind> = before.problems.iter().map(|found| found.kind).collect();
    assert!(kinds.contains(&ProblemKind::Pages), "{kinds:?}");
    assert!(kinds.contains(&ProblemKind::Payload), "{kinds:?}");
    let error = workspace.repair([Item::TABLE]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains("salvage"), "{error}");
    let after = workspace.check([Item::TABLE]).unwrap();
    assert_eq!(after.problems, before.problems);
    store(&workspace, "later", 10);
    assert_eq!(workspace.fetch::<Item>().count().unwrap(), 3);
}
