//! A root table whose name and fields are words of SQL and of generated code, stored in a file.

use dflat::{UpdatedObject, Workspace};

#[path = "../../../dflat-codegen/tests/data/names/rust.rs"]
#[allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    clippy::use_self,
    clippy::too_many_lines,
    reason = "used in part"
)]
mod names;

use names::{Group, Order, OrderChangeRequest, OrderData, Values, ValuesRef};

fn data() -> OrderData {
    OrderData {
        select: "select * from \"order\"; --".to_owned(),
        r#where: 7,
        clone: Some("'; drop table \"order\"; --".to_owned()),
        eq: 3,
        table: 4,
        row_id: 5,
        is_null: true,
        to_bytes: vec![1, 2],
        handle: Some(Values::Group(Group::default())),
        hp_max: 9,
        ..OrderData::default()
    }
}

// Promise: compatibility#P17
#[test]
fn any_name_can_be_stored() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("order.db");
    let workspace = Workspace::open(&path).unwrap();
    let created = workspace.perform_changes([Order::TABLE], |tx| {
        tx.submit(OrderChangeRequest::creation(data()))
    });
    assert!(matches!(
        created.wait().unwrap(),
        UpdatedObject::Inserted(_)
    ));
    workspace.shutdown().unwrap();

    let workspace = Workspace::open(&path).unwrap();
    let key = (data().select, data().r#where);
    let order = workspace.get::<Order>((&key.0, key.1)).unwrap().unwrap();
    assert_eq!(
        (order.r#where(), order.hp_max(), order.is_null()),
        (7, 9, true)
    );
    assert!(matches!(order.handle(), Some(ValuesRef::Group(_))));
    let indexed = Order::CLONE.eq(data().clone.unwrap()) & Order::EQ.eq(3) & Order::TABLE_.eq(4);
    let key = Order::SELECT.eq(&*key.0) & Order::WHERE.gt(6);
    for predicate in [indexed, key, Order::HP_MAX.eq(9) & Order::ROW_ID.eq(5)] {
        let found = workspace.fetch::<Order>().filter(predicate);
        let found = found.order_by(Order::WHERE.ascending()).all().unwrap();
        assert_eq!(found.len(), 1);
    }
    let deleted = workspace.perform_changes([Order::TABLE], move |tx| {
        tx.submit(OrderChangeRequest::deletion(tx, &order)?.unwrap())
    });
    assert!(matches!(deleted.wait().unwrap(), UpdatedObject::Deleted(_)));
    assert!(workspace.fetch::<Order>().all().unwrap().is_empty());
}
