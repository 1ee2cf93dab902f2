//! The type of the test programs, as bytes in a C header.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use dflat_engine::engine::PerformOptions;
use dflat_engine::object::Writer;
use dflat_engine::storage::CloseOptions;
use dflat_model::{Comparison, Expression, Predicate, Query, Table, Value};
use dflat_schema::{MemoryLoader, compile, describe};
use dflat_workspace::{FileOptions, Operation, Workspace};

/// The table of a schema's root type.
pub(crate) fn table(schema: &str) -> Table {
    let loader = MemoryLoader::new().with_file("post.fbs", schema);
    let compiled = compile(&["post.fbs".to_owned()], &loader, &Default::default());
    let schema = compiled.schema.unwrap();
    let root = schema.files.iter().find_map(|file| file.root).unwrap();
    Table::new(describe(&schema, root))
}

fn posts() -> Table {
    table(
        "enum Color: byte { Red = 0, Green, Blue = 2 }
         table TextContent { text: string; }
         table ImageContent { images: [string]; }
         union Content { TextContent, ImageContent }
         table Post {
           title: string (primary);
           color: Color;
           tag: string;
           priority: int (indexed);
           content: Content;
         }
         root_type Post;",
    )
}

/// The posts whose priority is related to a number.
fn compared(table: &Table, operator: Comparison, number: i64) -> Query {
    Query {
        predicate: Some(Predicate::Compare {
            left: table.indexes[0].fields[0].clone().into(),
            operator,
            right: Expression::Literal(Value::Int(number)),
        }),
        ..Query::default()
    }
}

/// Writes `post.h` into a folder: the descriptor, and some queries.
pub(crate) fn write_header(folder: &Path) {
    let table = posts();
    let newer = table_with_more();
    let numbers = table_of_numbers();
    let arrays = [
        ("POST_DESCRIPTOR", table.to_bytes()),
        ("NEWER_DESCRIPTOR", newer.to_bytes()),
        ("NUMBER_DESCRIPTOR", numbers.to_bytes()),
        (
            "LOW_PRIORITIES",
            compared(&table, Comparison::Less, 3).to_bytes(),
        ),
        (
            "HIGH_PRIORITIES",
            compared(&table, Comparison::GreaterOrEqual, 100).to_bytes(),
        ),
    ];
    let mut text = String::from("#include <stdint.h>\n");
    for (name, bytes) in arrays {
        let bytes: Vec<_> = bytes.iter().map(u8::to_string).collect();
        let bytes = bytes.join(", ");
        writeln!(
            text,
            "#if defined(__GNUC__)\n__attribute__((unused))\n#endif"
        )
        .unwrap();
        writeln!(text, "static const uint8_t {name}[] = {{{bytes}}};").unwrap();
    }
    fs::write(folder.join("post.h"), text).unwrap();
}

/// Writes a query for the posts whose priority is 5 or more, as a list of more than a megabyte.
pub(crate) fn write_long_query(path: &Path) {
    let table = posts();
    let query = Query {
        predicate: Some(Predicate::In {
            operand: table.indexes[0].fields[0].clone().into(),
            values: (5..300_000).map(Value::Int).collect(),
        }),
        ..Query::default()
    };
    fs::write(path, query.to_bytes()).unwrap();
}

/// A newer version of the posts, with one field more.
fn table_with_more() -> Table {
    table(
        "enum Color: byte { Red = 0, Green, Blue = 2 }
         table TextContent { text: string; }
         table ImageContent { images: [string]; }
         union Content { TextContent, ImageContent }
         table Post {
           title: string (primary);
           color: Color;
           tag: string;
           priority: int (indexed);
           content: Content;
           more: string;
         }
         root_type Post;",
    )
}

/// A type whose key the library assigns.
fn table_of_numbers() -> Table {
    table("table Number { id: ulong (primary); } root_type Number;")
}

/// Writes a file with posts, whose priorities are 0, 100, 200 and 300.
pub(crate) fn write_file(path: &Path) {
    let workspace = Workspace::open(path, &FileOptions::default()).unwrap();
    let table = posts();
    let options = PerformOptions::default();
    let insert = |tx: dflat_workspace::TransactionContext| {
        for number in 0..4 {
            let mut writer = Writer::new();
            let slot = writer.begin();
            assert!(writer.begin_table(slot));
            let title = writer.slot(4);
            writer.scalar(10, number * 100);
            writer.end_table();
            writer.text(title, &format!("post {number}"));
            writer.leave();
            let payload = writer.finish().unwrap();
            tx.submit(&table, Operation::Create { payload }, None)?;
        }
        Ok(())
    };
    workspace
        .perform_blocking([table.clone()], options, insert)
        .unwrap();
    workspace.shutdown_with(CloseOptions::default()).unwrap();
}
