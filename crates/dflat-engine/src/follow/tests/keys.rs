//! Tests of the keys that records name.

use super::*;

impl File {
    /// The numbers that are the keys of changed rows in the table `listened`.
    fn keys(&mut self) -> Option<Vec<i64>> {
        let Followed::Commits { keys, .. } = self.followed_within(1 << 20) else {
            panic!("the records are complete");
        };
        let number = |key: Vec<Value>| match key[..] {
            [Value::Int(number)] => number,
            _ => panic!("{key:?}"),
        };
        Some(keys?.into_iter().map(number).collect())
    }
}

fn inserted(row_ids: std::ops::Range<i64>) -> Vec<Change> {
    row_ids.map(|id| (id, None, Some(id))).collect()
}

#[test]
fn keys_of_all_commits_and_parts_of_other_engines_are_known() {
    let mut file = File::default();
    let listened = |engine, part, changes: &[Change]| {
        record_of(
            engine,
            part,
            &[("unseen", false, changes), ("listened", false, changes)],
        )
    };
    file.record(listened(OWN, Part::Whole, &[(1, None, Some(1))]));
    file.record(listened(OTHER, Part::Whole, &[(2, Some(1), Some(2))]));
    let unseen = [(9, None, Some(1))];
    file.record(record_of(OTHER, Part::Whole, &[("unseen", false, &unseen)]));
    let early = Part::Early { number: 0 };
    file.record(listened(OTHER, early, &[(3, Some(1), None)]));
    let last = Part::Final { early: 1, rows: 2 };
    file.record(listened(OTHER, last, &[(4, None, Some(4))]));
    // The transaction of this part did not commit.
    file.record(listened(OTHER, early, &[(5, None, Some(5))]));
    assert_eq!(file.keys(), Some(vec![4, 3, 2]));
    assert_eq!(File::default().keys(), Some(Vec::new()));
}

#[test]
fn too_many_keys_and_foreign_rows_are_not_known() {
    for (count, is_known) in [(4096, true), (4097, false)] {
        let mut file = File::default();
        for rows in [inserted(1..3000), inserted(3000..count + 1)] {
            let changed = record_of(OTHER, Part::Whole, &[("listened", false, &rows)]);
            file.record(changed);
        }
        let keys = file.keys();
        assert_eq!(keys.is_some(), is_known, "{count}");
        assert_eq!(keys.map_or(count, |keys| keys.len() as i64), count);
    }
    let mut file = File::default();
    let rows = inserted(1..2);
    file.record(record_of(OTHER, Part::Whole, &[("listened", true, &rows)]));
    assert_eq!(file.keys(), None);
}
