//! Descriptors of root tables, against what the original Dflat wrote into its files.

use dflat_model::{
    Element, FieldKind, Scalar, Shape, Step, TableDescriptor, TypeDescriptor, Value,
};
use dflat_schema::{DefinitionId, DefinitionKind, MemoryLoader, Options, compile, describe};

use crate::fixture::compile_file;

fn described(path: &str) -> TableDescriptor {
    let schema = compile_file(path).schema.unwrap();
    describe(&schema, schema.files[0].root.unwrap())
}

/// The statements with which the original created the tables of a type.
fn statements(table: &TableDescriptor) -> Vec<String> {
    let name = &table.name;
    let parts = table.primary_key.iter().enumerate();
    let keys: Vec<String> = parts
        .clone()
        .map(|(position, _)| format!("__pk{position}"))
        .collect();
    let columns: Vec<String> = parts
        .map(|(position, field)| format!("__pk{position} {}", field.column_type().sql_name()))
        .collect();
    let (columns, keys) = (columns.join(", "), keys.join(", "));
    let mut statements = vec![format!(
        "CREATE TABLE {name} (rowid INTEGER PRIMARY KEY AUTOINCREMENT, {columns}, p BLOB, UNIQUE({keys}))"
    )];
    for index in table.indexes.iter().filter(|index| index.is_plain()) {
        let (key, column) = (
            index.storage_key(),
            index.fields[0].column_type().sql_name(),
        );
        let unique = if index.unique { "UNIQUE " } else { "" };
        statements.push(format!(
            "CREATE TABLE {name}__{key} (rowid INTEGER PRIMARY KEY, {key} {column})"
        ));
        statements.push(format!(
            "CREATE {unique}INDEX index__{name}__{key} ON {name}__{key} ({key})"
        ));
    }
    statements
}

// Promise: compatibility#P13
/// Copied from the schema of a file that the original wrote.
#[test]
fn tables_are_named_as_in_files_of_the_original() {
    assert_eq!(
        statements(&described("ok/0002_bench_doc.fbs")),
        [
            "CREATE TABLE benchdoc (rowid INTEGER PRIMARY KEY AUTOINCREMENT, __pk0 TEXT, p BLOB, UNIQUE(__pk0))"
        ]
    );
    assert_eq!(
        statements(&described("ok/0003_dict.fbs")),
        [
            "CREATE TABLE dictitem_v_dflat_internal__ (rowid INTEGER PRIMARY KEY AUTOINCREMENT, \
          __pk0 TEXT, __pk1 TEXT, p BLOB, UNIQUE(__pk0, __pk1))"
        ]
    );
    assert_eq!(
        statements(&described("ok/0004_monster.fbs")),
        [
            "CREATE TABLE mygame__sample__monster_v1_1 (rowid INTEGER PRIMARY KEY AUTOINCREMENT, \
          __pk0 TEXT, __pk1 INTEGER, p BLOB, UNIQUE(__pk0, __pk1))",
            "CREATE TABLE mygame__sample__monster_v1_1__f6 (rowid INTEGER PRIMARY KEY, f6 INTEGER)",
            "CREATE INDEX index__mygame__sample__monster_v1_1__f6 ON mygame__sample__monster_v1_1__f6 (f6)",
            "CREATE TABLE mygame__sample__monster_v1_1__f26__type (rowid INTEGER PRIMARY KEY, f26__type INTEGER)",
            "CREATE INDEX index__mygame__sample__monster_v1_1__f26__type ON mygame__sample__monster_v1_1__f26__type (f26__type)",
            "CREATE TABLE mygame__sample__monster_v1_1__f26__u2__f4 (rowid INTEGER PRIMARY KEY, f26__u2__f4 TEXT)",
            "CREATE UNIQUE INDEX index__mygame__sample__monster_v1_1__f26__u2__f4 ON mygame__sample__monster_v1_1__f26__u2__f4 (f26__u2__f4)",
        ]
    );
}

#[test]
fn fields_of_keys_and_indexes_know_path_type_and_default() {
    let table = described("ok/0004_monster.fbs");
    assert_eq!(table.type_name, "MyGame.Sample.Monster");
    let color = &table.primary_key[1];
    assert_eq!(color.steps.as_ref(), [Step::Field(12)]);
    assert_eq!(
        (color.kind, &color.default),
        (FieldKind::Scalar(Scalar::I8), &Value::Int(2))
    );
    let orb = &table.indexes[2].fields[0];
    assert_eq!(
        orb.steps.as_ref(),
        [Step::Field(26), Step::Member(2), Step::Field(4)]
    );
    assert_eq!((orb.kind, &orb.default), (FieldKind::Text, &Value::Null));
}

#[test]
fn types_reached_only_by_deprecated_fields_are_left_out() {
    let table = described("ok/0004_monster.fbs");
    let TypeDescriptor::Table(root) = &table.types[0] else {
        panic!("the root is no table")
    };
    assert!(root.fields.iter().all(|field| field.name != "friendly"));
    assert!(root.fields.is_sorted_by_key(|field| field.voffset));
    let bag = root
        .fields
        .iter()
        .find(|field| field.name == "bag")
        .unwrap();
    let Shape::Vector(Element::Union(id)) = bag.shape else {
        panic!("{:?}", bag.shape)
    };
    let TypeDescriptor::Union(union) = &table.types[usize::from(id.0)] else {
        panic!("no union")
    };
    let names: Vec<&str> = union
        .members
        .iter()
        .map(|member| member.name.as_ref())
        .collect();
    assert_eq!(names, ["Weapon", "Orb"]);
}

#[test]
fn defaults_are_values_as_the_engine_reads_them() {
    let table = described("ok/0023_recursive_indexes.fbs");
    let TypeDescriptor::Table(root) = &table.types[0] else {
        panic!("the root is no table")
    };
    let default = |name: &str| {
        &root
            .fields
            .iter()
            .find(|field| field.name == name)
            .unwrap()
            .default
    };
    assert_eq!(default("big"), &Value::UInt(u64::MAX));
    assert_eq!(default("small"), &Value::Float(f64::from(0.1f32)));
    assert_eq!(default("odd"), &Value::Null);
    assert_eq!(default("text"), &Value::text("none"));
    assert_eq!(default("kind"), &Value::Int(1));
    assert_eq!(default("node"), &Value::Null);
}

/// Dflat for Swift stores objects of the `root_type` of a file only. A file with `stored` tables is
/// split for it, and the tables in the database file stay the same.
#[test]
fn stored_tables_are_the_same_as_root_types_of_files_of_their_own() {
    let order = "table Order (MARK) { id: ulong (primary); part: Part; at: long (indexed); }";
    let invoice = "table Invoice (MARK) { number: string (primary); sum: int (unique); }";
    let part = "table Part { size: int; }";
    let plain = |table: &str| table.replace(" (MARK)", "");
    let together = [part, order, invoice].join("\n").replace("MARK", "stored");
    let loader = MemoryLoader::new()
        .with_file("together.fbs", &together)
        .with_file("part.fbs", part)
        .with_file(
            "order.fbs",
            &format!("include \"part.fbs\"; {} root_type Order;", plain(order)),
        )
        .with_file(
            "invoice.fbs",
            &format!("{} root_type Invoice;", plain(invoice)),
        )
        .with_file(
            "apart.fbs",
            "include \"order.fbs\"; include \"invoice.fbs\";",
        );
    let stored = |file: &str| -> Vec<TableDescriptor> {
        let compiled = compile(&[file.to_owned()], &loader, &Options::default());
        let schema = compiled.schema.unwrap();
        let ids = (0..).map(DefinitionId).zip(&schema.definitions);
        let roots = ids.filter(|(_, found)| match &found.kind {
            DefinitionKind::Table(table) => table.root,
            _ => false,
        });
        let mut tables: Vec<_> = roots.map(|(id, _)| describe(&schema, id)).collect();
        tables.sort_by(|a, b| a.name.cmp(&b.name));
        tables
    };
    let tables = stored("together.fbs");
    assert_eq!(tables.len(), 2);
    assert_eq!(stored("apart.fbs"), tables);
}
