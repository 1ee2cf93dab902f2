//! The use of keys for the orders of queries with a limit.

use dflat_engine::storage::IndexState;
use dflat_model::{Direction, Nulls, Order, Query, Value};

use super::Setting;

#[test]
fn with_a_limit_an_index_is_used_for_its_order() {
    let s = Setting::new(IndexState::Ready);
    let order = vec![Order {
        key: s.field("n").into(),
        direction: Direction::Ascending,
        nulls: Nulls::Smallest,
    }];
    let limited = Query {
        order: order.clone(),
        limit: Some(5),
        ..Query::default()
    };
    assert_eq!(s.plan(&limited), "all of the index on n");
    let unlimited = Query {
        order,
        ..Query::default()
    };
    assert_eq!(s.plan(&unlimited), "scan of all rows, sort");
}

#[test]
fn with_a_limit_an_index_is_used_for_the_first_keys_of_an_order() {
    let s = Setting::new(IndexState::Ready);
    let key = |name, direction| Order {
        key: s.field(name).into(),
        direction,
        nulls: Nulls::Smallest,
    };
    let (up, down) = (Direction::Ascending, Direction::Descending);
    let first = |order| {
        s.plan(&Query {
            order,
            limit: Some(5),
            ..Query::default()
        })
    };
    let by_n = first(vec![key("n", down), key("plain", up)]);
    assert_eq!(by_n, "all of the index on n, sort within 1");
    let mixed = first(vec![key("a", up), key("b", down), key("plain", up)]);
    assert_eq!(mixed, "all of the primary key, sort within 1");
    let longer = first(vec![key("a", up), key("b", up), key("plain", up)]);
    assert_eq!(longer, "all of the primary key, sort within 2");
    // Rows with equal values of the order come in the order of another key.
    assert_eq!(
        first(vec![key("a", up)]),
        "all of the primary key, sort within 1"
    );
    // The first key of the order counts.
    let other = first(vec![key("plain", up), key("n", up)]);
    assert_eq!(other, "scan of all rows, sort");
    let whole = Query {
        order: vec![key("n", up), key("plain", up)],
        ..Query::default()
    };
    assert_eq!(s.plan(&whole), "scan of all rows, sort");
    // A value that the condition fixes does not count as a key of the order.
    let fixed = Query {
        predicate: Some(s.equal("a", Value::text("x"))),
        order: vec![key("a", down), key("b", up), key("plain", up)],
        limit: Some(5),
        ..Query::default()
    };
    let look_up = "look-up of 1 values in the primary key";
    assert_eq!(s.plan(&fixed), format!("{look_up}, sort within 2"));
}
