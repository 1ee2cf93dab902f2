//! Tests of transactions with several records.

use super::*;

/// A transaction of three parts, in which row 1 changes in each.
fn parts() -> (File, [Vec<u8>; 3]) {
    let mut file = File::default();
    file.commit(&[(1, None, Some(10)), (5, None, Some(50))]);
    file.apply(&[(1, None, Some(13)), (2, None, Some(22)), (5, None, None)]);
    let part = |part, changes: &[Change]| record_of(OTHER, part, &[("seen", false, changes)]);
    let records = [
        part(
            Part::Early { number: 0 },
            &[
                (1, Some(10), Some(11)),
                (2, None, Some(20)),
                (3, None, Some(30)),
            ],
        ),
        part(
            Part::Early { number: 1 },
            &[
                (1, Some(11), Some(12)),
                (2, Some(20), Some(22)),
                (3, Some(30), None),
            ],
        ),
        part(
            Part::Final { early: 2, rows: 8 },
            &[(1, Some(12), Some(13)), (5, Some(50), None)],
        ),
    ];
    (file, records)
}

#[test]
fn parts_are_joined_to_one_commit() {
    let (mut file, records) = parts();
    records.into_iter().for_each(|record| file.record(record));
    let joined = vec![
        (1, Some(10), Some(13)),
        (2, None, Some(22)),
        (5, Some(50), None),
    ];
    let first = vec![(1, None, Some(10)), (5, None, Some(50))];
    assert_eq!(file.follow().unwrap(), [first, joined]);
}

#[test]
fn missing_parts_break_the_records_and_parts_without_an_end_are_ignored() {
    for missing in 0..2 {
        let (mut file, records) = parts();
        let records = records.into_iter().enumerate();
        let left = records.filter(|(at, _)| *at != missing);
        left.for_each(|(_, record)| file.record(record));
        assert_eq!(file.follow(), None, "without part {missing}");
    }
    let (mut file, [first, second, _]) = parts();
    file.apply(&[(1, None, Some(10)), (5, None, Some(50))]);
    file.record(first);
    file.record(second);
    assert_eq!(file.follow().unwrap().len(), 1);
}
