//! The cost of queries by a key if row ids have gaps.

use dflat_engine::fetch::{self, Control};
use dflat_engine::object::Origin;
use dflat_testkit::schema::Item;

use crate::reading::costs::{Costs, filtered, reached_max};

/// Queries by a value that a third of this many rows have, and by a value that all have. Returns
/// the number of rows that were found by a key.
fn reached_of_many(costs: &Costs, n: usize) -> usize {
    let either = Item::RANK.eq(1) | Item::ID.lt("1");
    let conditions = [
        (Item::RANK.eq(1), n.div_ceil(3)),
        (Item::RANK.ge(1), n.div_ceil(3)),
        (Item::RANK.between(0, 1), n),
        (either, n),
    ];
    let reached = conditions.map(|(condition, found)| {
        let (mut spent, query) = (costs.counting(), filtered(&condition));
        let (control, origin) = (Control::default(), Origin::default());
        let objects = fetch::fetch(&mut spent, &Item::TABLE, &query, &control, origin).unwrap();
        let ids = objects.iter().map(|object| object.row_id());
        assert!(ids.is_sorted_by(|a, b| a < b), "{condition}");
        assert_eq!(objects.len(), found, "{condition}");
        // With any row ids, each row is read once by its key and once in the full scan; the row at
        // which the query gives the key up is read twice.
        assert!(spent.reached <= n + 8, "{condition}: {}", spent.reached);
        assert!(
            spent.rows <= n + spent.reached,
            "{condition}: {}",
            spent.rows
        );
        // All rows are counted once, two ranges are counted in turns, and some hundred row ids are
        // sampled.
        assert!(
            spent.entries <= 6 * n + 512,
            "{condition}: {}",
            spent.entries
        );
        spent.reached
    });
    reached.into_iter().max().unwrap()
}

#[test]
fn gap_between_row_ids_is_not_counted_as_rows() {
    let n = 6010;
    for behind in [1 << 17, 1 << 20, 1 << 40, i64::MAX - 6000] {
        let reached = reached_of_many(&Costs::in_clusters(&[(0, 6000), (behind, 10)]), n);
        // The rows at which the engine estimated the number of rows are read twice.
        assert!(reached <= reached_max(n) + 3, "{behind}: {reached}");
        let reached = reached_of_many(&Costs::in_clusters(&[(0, 10), (behind, 6000)]), n);
        assert!(reached <= reached_max(n) + 3, "{behind}: {reached}");
    }
    let clusters: Vec<(i64, i32)> = (0..10).map(|n| ((n * n) << 35, 600)).collect();
    let reached = reached_of_many(&Costs::in_clusters(&clusters), 6000);
    assert!(reached <= reached_max(6000) + 3, "{reached}");
}

#[test]
fn gaps_between_sampled_row_ids_count_as_rows_up_to_the_last_id() {
    // There are rows only near the sampled row ids.
    for ids in [10_000_i64, 20_000, 1 << 40] {
        let width = ids / 16 + 1;
        let place = |n: i64| width * n + (width as f64 * (n as f64 * 0.618).fract()) as i64;
        let clusters: Vec<(i64, i32)> = (0..16).map(|n| (place(n), 290)).collect();
        let rows = 16 * 290;
        let last = usize::try_from(clusters[15].0).unwrap() + 290;
        let reached = reached_of_many(&Costs::in_clusters(&clusters), rows);
        assert!(reached <= reached_max(last) + 3, "{ids}: {reached}");
    }
}
