//! Tests of the engine's lower floors on descriptors built at run time from schema text.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a failing test panics"
)]

mod codec;
mod conditions;
mod field_values;
mod hostile;
mod kept_objects;
mod many_tables;
mod merging;
mod objects;
mod plans;
mod scalar_change;
mod scheduling;
mod shared_parts;
mod shares;

use dflat_model::{Field, FieldKind, Step, Table, Value};
use dflat_schema::{MemoryLoader, Options, compile, describe};

/// The table of the first root type of a schema text.
fn table(text: &str) -> Table {
    let loader = MemoryLoader::new().with_file("test.fbs", text);
    let compilation = compile(&["test.fbs".to_owned()], &loader, &Options::default());
    let diagnostics = &compilation.diagnostics;
    let schema = compilation
        .schema
        .unwrap_or_else(|| panic!("{diagnostics:?}"));
    let root = schema.files[0].root.expect("a root type");
    Table::new(describe(&schema, root))
}

/// A field that is no key: by name, steps, type and default.
fn field(name: &'static str, steps: &'static [Step], kind: FieldKind, default: Value) -> Field {
    Field {
        name: name.into(),
        steps: steps.into(),
        kind,
        default,
    }
}
