//! A table that is described at run time, and objects of it.

use std::sync::{Arc, mpsc};

use dflat_engine::dictionary::HeldKeys;
use dflat_engine::engine::PerformOptions;
use dflat_engine::object::{Object, TableView, Writer};
use dflat_engine::transaction::{Change, Outcome};
use dflat_model::{Comparison, Expression, Predicate, Query, Table, Value};
use dflat_schema::{MemoryLoader, compile, describe};
use dflat_workspace::{Fetch, Result, Source, TransactionContext, Workspace};

/// The table of a schema's `Post`: the tour's type, in a table of its own for each version.
pub(crate) fn table(version: &str) -> Table {
    let text = format!(
        "enum Color: byte {{ Red = 0, Green, Blue = 2 }}
         table TextContent {{ text: string; }}
         table ImageContent {{ images: [string]; }}
         union Content {{ TextContent, ImageContent }}
         table Post (v: \"{version}\") {{
           title: string (primary);
           color: Color;
           tag: string;
           priority: int (indexed);
           content: Content;
         }}
         root_type Post;"
    );
    let loader = MemoryLoader::new().with_file("post.fbs", &text);
    let compiled = compile(&["post.fbs".to_owned()], &loader, &Default::default());
    let schema = compiled.schema.unwrap();
    let root = schema.files.iter().find_map(|file| file.root).unwrap();
    Table::new(describe(&schema, root))
}

/// The payload of a post with a title and a priority.
pub(crate) fn payload(title: &str, priority: i32) -> Vec<u8> {
    let mut writer = Writer::new();
    let slot = writer.begin();
    assert!(writer.begin_table(slot));
    let title_slot = writer.slot(4);
    writer.scalar(10, priority);
    writer.end_table();
    writer.text(title_slot, title);
    writer.leave();
    writer.finish().unwrap().to_vec()
}

pub(crate) fn title(object: &Object) -> &str {
    let view = TableView::root(object.payload()).unwrap();
    view.text(4).unwrap().unwrap()
}

/// The posts with priorities from 0, titled by their number, in order of insertion.
pub(crate) fn fill(workspace: &Workspace, table: &Table, count: i32) {
    let inserted = perform(workspace, table, move |tx, table| {
        for priority in 0..count {
            insert(tx, table, &format!("post {priority}"), priority)?;
        }
        Ok(())
    });
    inserted.unwrap();
}

pub(crate) fn insert(
    tx: &TransactionContext,
    table: &Table,
    title: &str,
    priority: i32,
) -> Result<()> {
    let payload = payload(title, priority);
    let change = Change::Create { payload: &payload };
    let outcome = tx.transaction().submit(table, change)?;
    assert!(matches!(outcome, Outcome::Inserted(_)));
    Ok(())
}

/// Runs a handler in the background and waits for its completion.
pub(crate) fn perform(
    workspace: &Workspace,
    table: &Table,
    handler: impl FnOnce(&TransactionContext, &Table) -> Result<()> + Send + 'static,
) -> Result<()> {
    let (send, ended) = mpsc::channel();
    let named = table.clone();
    workspace.perform(
        [table.clone()],
        PerformOptions::default(),
        Arc::new(HeldKeys::default()),
        move |tx, _| handler(&tx, &named),
        move |_, outcome| send.send(outcome).unwrap(),
    );
    ended.recv().unwrap()
}

/// A query of all posts in a workspace.
pub(crate) fn fetch<'w>(workspace: &'w Workspace, table: &Table) -> Fetch<'w> {
    Fetch::new(Source::Workspace(workspace.engine()), table.clone())
}

pub(crate) fn titles(workspace: &Workspace, table: &Table) -> Vec<String> {
    let fetched = fetch(workspace, table).all().unwrap();
    let titles = fetched.objects.iter();
    titles.map(|object| title(object).to_owned()).collect()
}

/// The field that the table has an index on.
pub(crate) fn priority(table: &Table) -> Expression {
    table.indexes[0].fields[0].clone().into()
}

/// The posts whose priority is less than a bound.
pub(crate) fn below(table: &Table, bound: i64) -> Query {
    Query {
        predicate: Some(Predicate::Compare {
            left: priority(table),
            operator: Comparison::Less,
            right: Expression::Literal(Value::Int(bound)),
        }),
        ..Query::default()
    }
}
