//! Queries, aggregates, plans and batches of large results.

use dflat_engine::fetch::KeyParts;
use dflat_model::{Direction, Domain, Value, ValueRef};
use dflat_workspace::{Access, ErrorKind, Source, Workspace};

use crate::posts::{below, fetch, fill, perform, priority, table, title};

#[test]
fn aggregates_take_expressions_and_return_values() {
    let (workspace, table) = (Workspace::in_memory(), table("1"));
    let priority = priority(&table);
    let all = fetch(&workspace, &table);
    assert_eq!(all.count().unwrap(), 0);
    assert!(!all.clone().exists().unwrap());
    assert_eq!(all.sum(&priority, Domain::Signed).unwrap(), Value::Null);
    fill(&workspace, &table, 10);

    let all = fetch(&workspace, &table);
    assert_eq!(all.count().unwrap(), 10);
    assert!(all.clone().exists().unwrap());
    assert_eq!(all.sum(&priority, Domain::Signed).unwrap(), Value::Int(45));
    let mean = all.mean(&priority, Domain::Signed).unwrap();
    assert_eq!(mean, Value::Float(4.5));
    for (direction, of_all, of_some) in
        [(Direction::Ascending, 0, 0), (Direction::Descending, 9, 3)]
    {
        let extreme = all.clone().extreme(&priority, direction).unwrap();
        assert_eq!(extreme, Some(Value::Int(of_all)));
        let mut some = fetch(&workspace, &table);
        some.query = below(&table, 4);
        some.query.limit = Some(100);
        let extreme = some.extreme(&priority, direction).unwrap();
        assert_eq!(extreme, Some(Value::Int(of_some)));
    }
}

#[test]
fn batches_of_a_large_result_are_of_one_state() {
    let (workspace, table) = (Workspace::in_memory(), table("1"));
    fill(&workspace, &table, 700);
    let mut rows = fetch(&workspace, &table).rows().unwrap();
    assert_eq!(title(&rows.next().unwrap().unwrap()), "post 0");
    let delete = |tx: &dflat_workspace::TransactionContext, table: &_| {
        tx.delete_where(table, below(table, 600)).map(drop)
    };
    perform(&workspace, &table, delete).unwrap();
    let rest: Result<Vec<_>, _> = rows.by_ref().collect();
    let rest = rest.unwrap();
    assert_eq!(rest.len(), 699);
    assert_eq!(title(rest.last().unwrap()), "post 699");
    assert!(rows.next().is_none());
    assert_eq!(fetch(&workspace, &table).count().unwrap(), 100);
}

#[test]
fn objects_are_found_by_their_keys_in_the_order_of_the_keys() {
    let (workspace, table) = (Workspace::in_memory(), table("1"));
    fill(&workspace, &table, 3);
    let key = |title| -> KeyParts<'_> { [ValueRef::Text(title)].into_iter().collect() };
    let source = Source::Workspace(workspace.engine());
    let keys = [key("post 2"), key("none"), key("post 0")];
    let found = source.get_many(&table, &keys).unwrap();
    let found: Vec<_> = found
        .iter()
        .map(|object| object.as_ref().map(title))
        .collect();
    assert_eq!(found, [Some("post 2"), None, Some("post 0")]);
    let found = source.get(&table, &key("post 1")).unwrap().unwrap();
    assert_eq!(title(&found), "post 1");
}

#[test]
fn a_plan_names_the_index_that_a_query_uses() {
    let (workspace, table) = (Workspace::in_memory(), table("1"));
    fill(&workspace, &table, 3);
    workspace.engine().settle().unwrap();
    let mut query = fetch(&workspace, &table);
    query.query = below(&table, 2);
    let plan = query.explain().unwrap();
    let Access::Key(key) = &plan.access else {
        panic!("not by a key: {plan}")
    };
    assert_eq!(key.key, "the index on priority");
}

#[test]
fn reads_after_the_shutdown_are_refused() {
    let (workspace, table) = (Workspace::in_memory(), table("1"));
    workspace.shutdown_with(Default::default()).unwrap();
    let error = fetch(&workspace, &table).all().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ShutDown);
}
