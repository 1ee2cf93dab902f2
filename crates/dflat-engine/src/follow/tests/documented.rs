//! Tests on the records that the page on the format shows.

use super::*;

/// The bytes in the block behind a text of the page on the format.
fn documented(caption: &str) -> Vec<u8> {
    let page = include_str!("../../../../../docs/storage-format.md");
    let (_, rest) = page.split_once(&format!("\n{caption}:\n\n")).unwrap();
    let lines = rest.lines().take_while(|line| line.starts_with("    "));
    let numbers = lines.flat_map(|line| {
        let numbers = line.trim_start().split("  ").next().unwrap_or("");
        numbers.split_whitespace()
    });
    numbers
        .map(|number| u8::from_str_radix(number, 16).unwrap())
        .collect()
}

// Promise: storage-format#S28
#[test]
fn documented_records_are_followed() {
    let follow = |file: &mut File, is_observed: bool| -> Option<Vec<(String, Vec<Change>)>> {
        let follow = Follow {
            since: StateId::default(),
            record_engine: OWN,
            engine: 1,
            seq: CommitSeq(10),
            observed: &|name| (is_observed && name == "task").then(|| table("task")),
            all_observed: &|| vec![table("task")],
            listened: &|_| false,
            bytes_max: 1 << 20,
        };
        let Followed::Commits { commits, .. } = follow.commits(file).unwrap() else {
            return None;
        };
        let commits = commits.iter();
        Some(
            commits
                .map(|c| (c.names.join(" "), changes_of(c)))
                .collect(),
        )
    };
    let of_task = |changes: &[Change]| Some(vec![("task".to_owned(), changes.to_vec())]);
    let inserted = |row_id| (row_id, None, Some(row_id));
    let mut file = File::default();
    file.apply(&[inserted(5)]);
    file.record(documented("An insertion"));
    assert_eq!(follow(&mut file, true), of_task(&[inserted(5)]));
    let mut file = File::default();
    file.apply(&[inserted(5), inserted(6), inserted(7)]);
    for part in [
        "The first of three parts",
        "The second of three parts",
        "The final part",
    ] {
        assert_eq!(follow(&mut file, true), Some(vec![]), "before {part}");
        file.record(documented(part));
    }
    let all = [inserted(5), inserted(6), inserted(7)];
    assert_eq!(follow(&mut file, true), of_task(&all));
    // The objects of these examples are texts and no payloads.
    for (caption, row) in [("An update", Some(5)), ("A deletion", None)] {
        let mut file = File::default();
        row.into_iter().for_each(|row| file.apply(&[inserted(row)]));
        file.record(documented(caption));
        assert_eq!(follow(&mut file, true), None, "{caption}");
        assert_eq!(follow(&mut file, false), of_task(&[]), "{caption}");
    }
    let mut file = File::default();
    file.record(documented("A record of upkeep"));
    assert_eq!(follow(&mut file, true), Some(vec![]));
}
