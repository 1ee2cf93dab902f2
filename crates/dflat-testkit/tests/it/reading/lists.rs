//! The cost of conditions with long lists of values.

use dflat_engine::fetch::{self, Control};
use dflat_engine::object::Origin;
use dflat_testkit::schema::Item;

use crate::reading::costs::{COUNT, Costs, filtered};

/// The found objects, and the numbers of scans and of rows that were read.
fn spent(costs: &Costs, condition: &dflat::Predicate<Item>) -> [usize; 3] {
    let mut snapshot = costs.counting();
    let (control, origin) = (Control::default(), Origin::default());
    let query = filtered(condition);
    let found = fetch::fetch(&mut snapshot, &Item::TABLE, &query, &control, origin);
    [found.unwrap().len(), snapshot.scans, snapshot.rows]
}

/// The issue measured seconds for lists as long as the table: 27, line 5.
#[test]
fn a_list_with_more_values_than_rows_is_not_looked_up() {
    let costs = Costs::new();
    let rows = COUNT as usize;
    // The samples by which rows are estimated take some scans.
    let scans_max = 100;
    let numbers = || 0..25 * COUNT;
    let lists = [
        (0, Item::ID.in_(numbers().map(|n| format!("missing {n}")))),
        (0, Item::RANK.in_(numbers().map(|n| n + 1000))),
        (rows / 2, Item::RANK.in_(numbers().map(|n| n + 50))),
        (
            20,
            Item::ID.in_(numbers().map(|n| format!("{n:05}"))) & Item::SIZE.eq(7),
        ),
    ];
    for (expected, list) in lists {
        let [found, scans, read] = spent(&costs, &list);
        assert_eq!(found, expected);
        assert!(scans <= scans_max, "{scans} scans");
        assert_eq!(read, rows);
    }
}

/// The issue found that such conditions are still planned value by value: 27, line 5.
#[test]
fn a_list_with_more_values_than_rows_is_not_looked_up_inside_of_an_or() {
    let costs = Costs::new();
    let rows = COUNT as usize;
    let numbers = || 0..25 * COUNT;
    let ids = || Item::ID.in_(numbers().map(|n| format!("missing {n}")));
    let ranks = || Item::RANK.in_(numbers().map(|n| n + 1000));
    let rank = || Item::RANK.eq(7);
    let lists = [
        (20, rank() | ids()),
        (20, rank() | ranks()),
        (20, rank() | ids() | ranks()),
        (20, (rank() | (Item::SIZE.eq(7) & !!ids())) & !ranks()),
        (20, rank() & (Item::SIZE.eq(7) | ids())),
        (
            0,
            (ids() | Item::ID.eq("none")) & (ranks() | Item::SIZE.eq(-1)),
        ),
    ];
    for (expected, list) in lists {
        let [found, scans, read] = spent(&costs, &list);
        assert_eq!(found, expected);
        assert!(scans <= 100, "{scans} scans");
        assert!(read <= rows, "{read} rows");
    }
}

#[test]
fn several_lists_in_an_or_count_together() {
    let costs = Costs::new();
    // Each list alone is short enough to be looked up.
    let parts = (0..20).map(|part| {
        let ids = (0..1000).map(move |n| format!("missing {part} {n}"));
        Item::ID.in_(ids)
    });
    let any = parts.reduce(|any, part| any | part).unwrap();
    let [found, scans, read] = spent(&costs, &any);
    assert_eq!([found, read], [0, COUNT as usize]);
    assert!(scans <= 100, "{scans} scans");
}

#[test]
fn condition_joined_with_a_list_inside_of_an_or_is_looked_up() {
    let costs = Costs::new();
    let list = Item::SIZE.in_(0..25 * COUNT) & Item::RANK.eq(7);
    let [found, _, read] = spent(&costs, &(list | Item::ID.eq("00003")));
    assert_eq!([found, read], [21, 21]);
}

#[test]
fn a_list_beside_a_key_leaves_the_key_in_use() {
    let costs = Costs::new();
    let list = Item::SIZE.in_(0..25 * COUNT) & Item::RANK.eq(7);
    let [found, _, read] = spent(&costs, &list);
    assert_eq!([found, read], [20, 20]);
}

#[test]
fn values_of_a_list_are_looked_up_if_there_are_eight_rows_for_each() {
    let costs = Costs::new();
    let rows = COUNT as usize;
    for (values, is_looked_up) in [(10, true), (249, true), (260, false), (3000, false)] {
        let found = values.min(rows);
        let list = Item::ID.in_((0..values).map(|n| format!("{n:05}")));
        let [of_key, scans, read] = spent(&costs, &list);
        assert_eq!(of_key, found);
        assert_eq!(read, if is_looked_up { found } else { rows });
        assert_eq!(scans >= values, is_looked_up, "{scans} scans");
        // No object has a value of the list.
        let list = Item::RANK.in_((0..values as i32).map(|n| n + 1000));
        let [of_index, _, read] = spent(&costs, &list);
        assert_eq!(of_index, 0);
        assert_eq!(read, if is_looked_up { 0 } else { rows });
    }
}

#[test]
fn gaps_between_row_ids_are_no_rows_for_the_values_of_a_list() {
    let clusters: [&[(i64, i32)]; 5] = [
        &[(0, 100)],
        &[(1 << 40, 100)],
        &[(0, 50), (1 << 40, 50)],
        &[(0, 98), (40_000, 1), (1 << 40, 1)],
        &[(0, 25), (300, 25), (600, 25), (1 << 20, 25)],
    ];
    for clusters in clusters {
        let costs = Costs::in_clusters(clusters);
        for values in [100, 1000, 20_000] {
            let list = Item::ID.in_((0..values).map(|n| format!("missing {n}")));
            let [found, scans, read] = spent(&costs, &list);
            assert_eq!([found, read], [0, 100], "{values} values in {clusters:?}");
            assert!(scans < 200, "{scans} scans");
        }
    }
}

#[test]
fn a_list_of_values_that_no_key_has_takes_one_scan() {
    let costs = Costs::new();
    let list = Item::SIZE.in_(0..50);
    assert_eq!(spent(&costs, &list), [1000, 1, COUNT as usize]);
}

/// Issue 27, line 5. A short list is looked up whatever it matches, so its cost is that of any
/// range of an index that matches most objects.
#[test]
fn a_short_list_that_most_rows_have_is_given_up_after_512_rows() {
    let costs = Costs::new();
    let rows = COUNT as usize;
    // Each value is that of 20 rows.
    for (values, is_given_up) in [(6, false), (25, false), (26, true), (32, true)] {
        let list = Item::RANK.in_((0..values).map(|n| n * 3));
        let found = 20 * values as usize;
        let mut snapshot = costs.counting();
        let query = filtered(&list);
        let control = Control::default();
        let origin = Origin::default();
        let fetched = fetch::fetch(&mut snapshot, &Item::TABLE, &query, &control, origin);
        assert_eq!(fetched.unwrap().len(), found);
        let in_sequence = snapshot.rows - snapshot.reached;
        assert_eq!(in_sequence, if is_given_up { rows } else { 0 });
        // The row at which the scan finds out that it has reached enough is read twice.
        assert!(snapshot.reached <= 513, "{} rows", snapshot.reached);
    }
}
