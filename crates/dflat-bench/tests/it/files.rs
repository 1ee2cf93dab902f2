//! The floor writes what ours writes: else they could not be compared.

use std::path::Path;

use dflat::Durability;
use dflat_bench::floor::{Arena, Floor};
use dflat_bench::measure::Settings;
use dflat_bench::scenario::Sides;
use dflat_bench::workload::{BenchDoc, Doc, selected_count};

fn arena(path: &Path) -> Arena {
    let mut floor = Floor::open(path, Durability::Normal, &[BenchDoc::TABLE_NAME]).unwrap();
    floor.fetch_arena(0).unwrap()
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

/// The number in the names of the original's scenarios.
#[test]
fn a_sixth_is_selected() {
    assert_eq!(selected_count(10_000), 1667);
}
