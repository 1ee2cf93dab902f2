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
        let found = found.swap_remove(position.unwrap());
        assert_eq!(found, *table, "{name}\n{written}");
    }
}

fn check_text(schema: &str) {
    check(schema, &stored(&compile_text(schema).schema.unwrap()));
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

/// The order of indexes is that of the declarations, and not that of the numbers.
#[test]
fn indexes_of_fields_that_are_not_in_the_order_of_their_numbers_keep_their_order() {
    let schema =
        "table P { b: int (id: 2, indexed); id: ulong (primary, id: 0); a: int (id: 1, indexed); }
                  root_type P;";
    let tables = stored(&compile_text(schema).schema.unwrap());
    check("P", &tables);
    assert_eq!(
        schema_text(&[&tables[0]]).unwrap(),
        "table P {
  id: ulong (primary, id: 0);
  b: int (id: 2, indexed);
  a: int (id: 1, indexed);
}

root_type P;
"
    );
    // Two tables contain the same one, and one of them sees only some of its indexes.
    check_text(
        "table Leaf { z: int (id: 2, unique); y: Link (id: 1); x: string (id: 0, indexed); }
         table Link { a: int (id: 1, indexed); leaf: Leaf (id: 0); }
         union Any { Leaf, Link }
         table P {
           id: ulong (id: 0, primary);
           any: Any (id: 5, unique);
           link: Link (id: 1);
           leaf: Leaf (id: 2);
           next: int (id: 6, indexed);
           first: string (id: 3);
         }
         table Q (stored) {
           c: int (id: 2, primary);
           leaf: Leaf (id: 4);
           b: int (id: 1, primary);
           a: int (id: 3, indexed);
           gone: int (id: 0, deprecated);
         }
         root_type P;",
    );
    check_text(
        "table P (unique: \"a, b\", indexed: \"d where a == 2\") {
           id: ulong (id: 0, primary);
           b: int (id: 2, unique: \"a > 1\");
           a: int (id: 1, unique: \"b > 1\", indexed: \"b < 0\");
           d: int (id: 4, indexed);
           c: int (id: 3, indexed: \"b > 1\");
         }
         root_type P;",
    );
    check_text(
        "table Leaf (unique: \"u, v; v, u where v > 1\", indexed: \"v, deep.w\") {
           v: int (id: 2, unique: \"v > 1\");
           u: int (id: 1, indexed: \"deep.w < 1\", unique: \"u == 2\");
           deep: Deep (id: 0, no_indexes);
         }
         table Deep { w: int (indexed); }
         table P (unique: \"a, leaf.v\", indexed: \"leaf.u, a; a where leaf.v > 1\") {
           id: ulong (id: 0, primary);
           a: int (id: 2, unique: \"a > 1\", indexed: \"leaf.v > 2\");
           leaf: Leaf (id: 1);
           other: Leaf (id: 4);
           blocked: Leaf (id: 3, no_indexes);
         }
         root_type P;",
    );
}

/// Numbers in an order that looks random and is the same in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    fn one_in(&mut self, chances: usize) -> bool {
        self.below(chances) == 0
    }

    /// The fields of a table, declared in any order; `inner` is a table that they may contain.
    fn table(&mut self, name: &str, attributes: &str, inner: Option<&str>) -> String {
        let mut fields = Vec::new();
        for number in 0..6 {
            let field = format!("f{number}");
            let condition = |numbers: &mut Self| format!("f{} > 1", numbers.below(3));
            let mut marks = vec![format!("id: {number}")];
            let inner = inner.filter(|_| number > 2 && self.one_in(2));
            if number == 0 {
                marks.push("primary".to_owned());
            } else if inner.is_some() {
                marks.extend(self.one_in(4).then(|| "no_indexes".to_owned()));
            } else {
                let plain = ["indexed", "unique"][self.below(2)];
                let other = ["indexed", "unique"][self.below(2)];
                marks.extend(self.one_in(2).then(|| plain.to_owned()));
                if marks.len() == 1 || plain != other {
                    let text = self
                        .one_in(3)
                        .then(|| format!("{other}: \"{}\"", condition(self)));
                    marks.extend(text);
                }
            }
            let ty = inner.unwrap_or("int");
            fields.push(format!("  {field}: {ty} ({});\n", marks.join(", ")));
        }
        for at in (1..fields.len()).rev() {
            fields.swap(at, self.below(at + 1));
        }
        let declared: Vec<String> = ["indexed", "unique"]
            .map(|kind| {
                format!(
                    "{kind}: \"f0, f{}; f1, f2 where f0 == {}\"",
                    1 + self.below(2),
                    kind.len()
                )
            })
            .into_iter()
            .collect();
        let attributes = match self.one_in(2) {
            true if attributes.is_empty() => format!(" ({})", declared[self.below(2)]),
            true => format!(" ({attributes}, {})", declared[self.below(2)]),
            false if attributes.is_empty() => String::new(),
            false => format!(" ({attributes})"),
        };
        format!("table {name}{attributes} {{\n{}}}\n", fields.concat())
    }
}

#[test]
fn text_of_random_types_compiles_to_their_descriptors() {
    let mut numbers = Numbers(1);
    for _ in 0..100 {
        let leaf = numbers.table("Leaf", "", None);
        let link = numbers.table("Link", "", Some("Leaf"));
        let inner = ["Leaf", "Link"][numbers.below(2)];
        let post = numbers.table("Post", "stored", Some(inner));
        let other = numbers.table("Other", "stored", Some("Link"));
        let schema = match numbers.one_in(2) {
            true => format!("{leaf}{link}{post}"),
            false => format!("{leaf}{link}{post}{other}"),
        };
        check_text(&schema.replace("f0: int", "f0: long"));
    }
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
