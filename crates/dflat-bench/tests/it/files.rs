//! The floor and Dflat write the same rows, so that their times can be compared.

use std::path::Path;

use dflat::Durability;
use dflat_bench::floor::{Arena, Floor};
use dflat_bench::measure::{Probe, Settings};
use dflat_bench::scenario::{ByHand, IndexedSides, Ours, Sides, Step, delete_all, update_all};
use dflat_bench::workload::{
    BenchDoc, BenchDocV2, BenchDocV3, BenchDocV4, Catalogued, Doc, Indexed, selected_count, titles,
};

fn arena(path: &Path) -> Arena {
    let mut floor = Floor::open(path, Durability::Normal, &[BenchDoc::TABLE_NAME]).unwrap();
    floor.fetch_arena(0).unwrap()
}

/// The rows of the four tables.
fn arenas(path: &Path) -> [Arena; 4] {
    let tables = [
        BenchDoc::TABLE_NAME,
        BenchDocV2::TABLE_NAME,
        BenchDocV3::TABLE_NAME,
        BenchDocV4::TABLE_NAME,
    ];
    let mut floor = Floor::open(path, Durability::Normal, &tables).unwrap();
    [0, 1, 2, 3].map(|table| floor.fetch_arena(table).unwrap())
}

#[test]
fn both_files_hold_the_same_rows() {
    let settings = Settings {
        objects: 600,
        runs: 1,
        directory: std::env::temp_dir(),
    };
    let sides = Sides::filled(&settings, Durability::Normal).unwrap();
    let (ours, floor) = (arena(&sides.ours_path), arena(&sides.floor_path));
    assert_eq!(ours.places.len(), 600);
    assert_eq!(ours.places, floor.places);
    assert_eq!(ours.bytes, floor.bytes);
}

#[test]
fn writes_with_indexes_leave_the_same_rows_and_entries() {
    let settings = Settings {
        objects: 600,
        runs: 1,
        directory: std::env::temp_dir(),
    };
    let mut sides = IndexedSides::<Catalogued>::filled(&settings).unwrap();
    let (workspace, floor) = (&sides.workspace, &mut sides.floor);
    assert_eq!(floor.entry_counts().unwrap(), [600, 600, 600, 600, 300]);
    assert_eq!(floor.differences(&sides.ours_path).unwrap(), 0);
    let some = titles(600).split_off(400);
    let count = some.len();
    update_all::<Catalogued>(workspace, some.clone()).unwrap();
    // Each changed row is in one file and in the other, and so is its entry: in four indexes, and
    // in the fifth if the object is open.
    let differences = floor.differences(&sides.ours_path).unwrap();
    assert_eq!(differences, 2 * (5 * 200 + 100));
    let change = |data: &mut _| Catalogued::change(data, count);
    floor.update_by_key(&some, change).unwrap();
    assert_eq!(floor.differences(&sides.ours_path).unwrap(), 0);
    delete_all(
        workspace,
        workspace.fetch::<Catalogued>().limit(100).all().unwrap(),
    )
    .unwrap();
    let objects = floor.objects().unwrap();
    floor.delete(&objects[..100]).unwrap();
    assert_eq!(floor.entry_counts().unwrap(), [500, 500, 500, 500, 250]);
    assert_eq!(floor.differences(&sides.ours_path).unwrap(), 0);
}

/// The share that the names of the scenarios of Dflat for Swift have.
#[test]
fn query_selects_a_sixth_of_the_objects() {
    assert_eq!(selected_count(10_000), 1667);
}

/// Each step of the program leaves the same rows in all tables of both files.
#[test]
fn dflat_for_swift_leaves_the_same_rows_after_each_step() {
    let settings = Settings {
        objects: 120,
        runs: 1,
        directory: std::env::temp_dir(),
    };
    let mut ours = Ours::new(&settings).unwrap();
    let mut by_hand = ByHand::new(&settings).unwrap();
    let mut probe = Probe::default();
    let mut rows = 0;
    for step in Step::ALL {
        ours.run(step, &mut probe).unwrap();
        by_hand.run(step, &mut probe).unwrap();
        let (ours, floor) = (arenas(&ours.path), arenas(&by_hand.path));
        assert_eq!(ours, floor, "{step:?}");
        rows += ours.iter().map(|arena| arena.places.len()).sum::<usize>();
    }
    // 1,200 after the first step, none after three deletions, 480 after the insertion of four
    // types, 120 after ten steps.
    assert_eq!(rows, 1200 + 480 + 11 * 120);
}
