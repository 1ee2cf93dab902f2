//! The rows that queries with a limit visit.

use super::*;

#[test]
fn rows_behind_those_reached_by_the_first_keys_of_an_order_are_sorted_too() {
    let s = Setting::new(6_000, 1);
    // Each of the two values of the first key has more rows than may be reached by the key.
    for (first, second) in [("same", "plain"), ("same", "n")] {
        for direction in [Direction::Ascending, Direction::Descending] {
            let mut all = ordered(&Query::default(), s.field(first), direction);
            let second = ordered(&Query::default(), s.field(second), Direction::Descending);
            all.order.extend(second.order);
            let query = Query {
                limit: Some(20),
                ..all.clone()
            };
            let row_ids = |query: &Query| {
                let (control, origin) = (Control::default(), Origin::default());
                let read = |snapshot: &mut dyn Snapshot| {
                    fetch(snapshot, &s.table, query, &control, origin)
                };
                let (objects, visits) = s.counted(read);
                let row_ids = objects.iter().map(Object::row_id);
                (row_ids.collect::<Vec<_>>(), visits)
            };
            let (found, visits) = row_ids(&query);
            assert_eq!(found, row_ids(&all).0[..20], "{query}");
            assert!(visits.jumps <= share_of(6_000), "{query}: {visits:?}");
            assert!(visits.rows > 0, "{query}: {visits:?}");
            let control = Control::default();
            let read = &mut |row: Row<'_>| Ok(row.row_id);
            let plain = [s.field("plain").into()];
            let select = |snapshot: &mut dyn Snapshot| {
                select(snapshot, &s.table, &query, &plain, &control, read)
            };
            assert_eq!(s.counted(select).0, found, "{query}");
        }
    }
}

#[test]
fn the_first_rows_of_a_range_are_found_without_visiting_all() {
    let s = Setting::new(6_000, 1);
    let limited = |query: &Query, after| Query {
        limit: Some(10),
        after,
        ..query.clone()
    };
    let all = s.where_("n", Comparison::GreaterOrEqual, 0);
    let none = Visits::default();
    // By row id: so many rows qualify that some are among the first. These are read before any
    // entry is counted.
    assert_eq!(
        s.fetched(&limited(&all, None)),
        (10, Visits { rows: 10, ..none })
    );
    // In order of the key.
    let by_n = limited(&ordered(&all, s.field("n"), Direction::Ascending), None);
    assert_eq!(s.fetched(&by_n), (10, Visits { jumps: 10, ..none }));
    // Few rows by row id, page by page: each is reached once by the key.
    let few = s.where_("n", Comparison::Less, 100);
    let (mut place, mut found, mut jumps) = (None, 0, 0);
    loop {
        let query = limited(&few, place.take());
        let (objects, visits) = s.counted(|snapshot| {
            let control = Control::default();
            fetch(snapshot, &s.table, &query, &control, Origin::default())
        });
        // Four rows for each wanted one are read first, at most. The 100 entries are counted in
        // turns of up to 17, 65 and 100, and then read.
        assert!(
            visits.rows <= 40 && visits.entries <= 17 + 65 + 2 * 100,
            "{visits:?}"
        );
        (found, jumps) = (found + objects.len(), jumps + visits.jumps);
        let Some(last) = objects.last() else { break };
        place = Some(cursor_of(&s.table, &query, last).unwrap());
    }
    assert_eq!((found, jumps), (100, 100));
}

#[test]
fn an_ordered_scan_is_given_up_if_few_rows_qualify() {
    let s = Setting::new(6_000, 1);
    let rare = s.where_("plain", Comparison::Equal, 77).predicate.unwrap();
    let mut query = s.where_("n", Comparison::GreaterOrEqual, 0);
    query.predicate = query.predicate.map(|all| all.and(rare));
    for direction in [Direction::Ascending, Direction::Descending] {
        for (offset, limit, found) in [(0, 10, 10), (30, 20, 20), (40, 50, 20), (0, 500, 60)] {
            let query = Query {
                offset,
                limit: Some(limit),
                ..ordered(&query, s.field("n"), direction)
            };
            let (count, visits) = s.fetched(&query);
            assert_eq!(count, found, "{query}");
            assert!(
                visits.jumps <= share_of(6_000) && visits.rows <= 6_000,
                "{visits:?}"
            );
        }
    }
}
