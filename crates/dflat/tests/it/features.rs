//! The features of the crate, and their documentation.

use std::fs;
use std::path::Path;

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

#[test]
fn page_on_building_lists_every_feature() {
    let manifest = read("Cargo.toml");
    let (_, features) = manifest.split_once("\n[features]\n").unwrap();
    let features = features.split("\n[").next().unwrap();
    let lines = features.lines().filter(|line| !line.starts_with('#'));
    let names: Vec<_> = lines
        .filter_map(|line| Some(line.split_once(" = ")?.0))
        .filter(|name| *name != "default")
        .collect();
    assert!(names.len() > 5, "{names:?}");
    let page = read("../../docs/build.md");
    for name in names {
        assert!(page.contains(&format!("\n| `{name}`")), "{name}");
    }
}
