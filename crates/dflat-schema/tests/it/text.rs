//! Descriptors as the text of a schema, compiled again.

use std::fs;
use std::path::Path;

use dflat_model::TableDescriptor;
use dflat_schema::{DefinitionId, DefinitionKind, Schema, describe, schema_text};

use crate::fixture::{FixtureLoader, compile_text, names, options, text};

/// The descriptors of the stored types of a schema, as a file keeps them.
fn stored(schema: &Schema) -> Vec<TableDescriptor> {
    let definitions = schema.definitions.iter().enumerate();
    let roots = definitions.filter(
        |(_, definition)| matches!(&definition.kind, DefinitionKind::Table(table) if table.root),
    );
    let described = roots.map(|(id, _)| describe(schema, DefinitionId(id as u32)));
    let without_auto = described.map(|table| TableDescriptor {
        auto_key: None,
        ..table
    });
    without_auto.collect()
}

/// Compiles the text of descriptors, and compares the result with them.
fn check(name: &str, tables: &[TableDescriptor]) {
    let written = schema_text(&tables.iter().collect::<Vec<_>>());
    let written = written.unwrap_or_else(|error| panic!("{name}: {error}"));
    let compiled = compile_text(&written);
    let schema = compiled.schema.unwrap_or_else(|| {
        panic!("{name}: {:?}\n{written}", compiled.diagnostics);
    });
    let mut found = stored(&schema);
    assert_eq!(found.len(), tables.len(), "{name}");
    for table in tables {
        let position = found.iter().position(|found| found.name == table.name);
        let found = in_one_order(&found.swap_remove(position.unwrap()));
        assert_eq!(found, in_one_order(table), "{name}\n{written}");
    }
}

/// The order of indexes has no effect: each is found by its contents.
fn in_one_order(table: &TableDescriptor) -> TableDescriptor {
    let mut table = table.clone();
    let indexes = table.indexes.to_mut();
    indexes.sort_by_key(|index| (index.storage_key(), index.unique));
    table
}

#[test]
fn text_of_every_fixture_compiles_to_its_descriptors() {
    for name in names("ok", ".fbs") {
        let path = format!("ok/{name}.fbs");
        let options = options(&text(&path));
        if options.payload_only {
            continue;
        }
        let compiled =
            dflat_schema::compile(std::slice::from_ref(&path), &FixtureLoader::new(), &options);
        let tables = stored(&compiled.schema.unwrap());
        check(&path, &tables);
        for table in tables {
            check(&path, &[table]);
        }
    }
}

#[test]
fn text_of_the_schemas_of_the_repository_compiles_to_their_descriptors() {
    let schemas = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas");
    for folder in [schemas.clone(), schemas.join("conformance")] {
        let mut loader = dflat_schema::MemoryLoader::new();
        let mut found = Vec::new();
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "fbs") {
                let name = path.file_name().unwrap().to_str().unwrap().to_owned();
                loader = loader.with_file(&name, &fs::read_to_string(&path).unwrap());
                found.push(name);
            }
        }
        assert!(found.len() > 4);
        for name in found {
            let compiled =
                dflat_schema::compile(std::slice::from_ref(&name), &loader, &Default::default());
            check(&name, &stored(&compiled.schema.unwrap()));
        }
    }
}

#[test]
fn numbers_of_deprecated_fields_and_keys_out_of_order_are_kept() {
    let schema = "table Post {
                    b: string (id: 4, primary);
                    gone: bool (id: 0, deprecated);
                    a: int (id: 1, primary);
                    unused_0: ulong = 18446744073709551615 (id: 2);
                    last: double = -inf (id: 3);
                    gone_too: string (id: 5, deprecated);
                  }
                  root_type Post;";
    let tables = stored(&compile_text(schema).schema.unwrap());
    check("post", &tables);
    assert_eq!(
        schema_text(&[&tables[0]]).unwrap(),
        "table Post {
  b: string (primary, id: 4);
  a: int (primary, id: 1);
  unused_1: bool (deprecated, id: 0);
  unused_0: ulong = 18446744073709551615 (id: 2);
  last: double = -inf (id: 3);
  unused_2: bool (deprecated, id: 5);
}

root_type Post;
"
    );
}

/// A line of a schema that is shown in a terminal must not turn the text around.
#[test]
fn characters_that_hide_or_turn_text_are_escaped_in_strings() {
    let schema = "table Post (indexed: \"id where name == '\\u202e'\") {
                    id: int (primary);
                    name: string = \"a\\u202eb\\u200b\\u200d\\u001b\";
                  }
                  root_type Post;";
    let tables = stored(&compile_text(schema).schema.unwrap());
    check("post", &tables);
    let written = schema_text(&[&tables[0]]).unwrap();
    assert!(
        !written.contains(['\u{202e}', '\u{200b}', '\u{1b}']),
        "{written}"
    );
    assert!(
        written.contains("a\\u202eb\\u200b\u{200d}\\u001b"),
        "{written}"
    );
}

#[test]
fn types_that_no_schema_describes_are_errors() {
    let of = |schema: &str| stored(&compile_text(schema).schema.unwrap()).remove(0);
    let one = of("table Post { id: int (primary); } root_type Post;");
    let other = of("table Post (v: \"2\") { id: long (primary); } root_type Post;");
    let error = schema_text(&[&one, &other]).unwrap_err();
    assert_eq!(error, "two stored types describe `Post` differently");
    let version = TableDescriptor {
        name: "post_v2".into(),
        ..one.clone()
    };
    let error = schema_text(&[&one, &version]).unwrap_err();
    assert_eq!(
        error,
        "`post` and `post_v2` are versions of one type, `Post`"
    );
    let renamed = TableDescriptor {
        name: "another".into(),
        ..one.clone()
    };
    schema_text(&[&renamed]).unwrap_err();
    let mut hostile = one;
    hostile.type_name = "Po\u{1b}st".into();
    schema_text(&[&hostile]).unwrap_err();
}
