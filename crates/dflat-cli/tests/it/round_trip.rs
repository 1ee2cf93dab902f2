//! Objects of every type, exported and imported.

use std::fs;

use dflat_model::{
    Element, FieldKind, ROOT_TYPE, Scalar, Shape, Table, TypeDescriptor, TypeId, Value as Number,
};
use dflat_schema::{DefinitionId, DefinitionKind, MemoryLoader, compile, describe};
use dflat_workspace::Workspace;
use serde_json::{Map, Value, json};

use crate::fixture::{Numbers, insert, open, printed, repository};

/// Makes objects of a type as JSON.
struct Maker<'t> {
    table: &'t Table,
    numbers: Numbers,
}

impl Maker<'_> {
    fn ty(&self, id: TypeId) -> &TypeDescriptor {
        &self.table.types[usize::from(id.0)]
    }

    fn value(&mut self, element: Element, depth: usize) -> Value {
        match element {
            Element::Scalar(scalar) => self.scalar(scalar),
            Element::Text => json!(self.text()),
            Element::Enum(id) => {
                let TypeDescriptor::Enum(layout) = self.ty(id).clone() else {
                    panic!("no enum");
                };
                let position = self.numbers.below(layout.values.len() as u64) as usize;
                json!(layout.values[position].name)
            }
            Element::Struct(id) => {
                let TypeDescriptor::Struct(layout) = self.ty(id).clone() else {
                    panic!("no struct");
                };
                let fields = layout.fields.iter().map(|field| {
                    let value = match field.array {
                        None => self.value(field.element, depth),
                        Some(length) => (0..length)
                            .map(|_| self.value(field.element, depth))
                            .collect(),
                    };
                    (field.name.to_string(), value)
                });
                Value::Object(fields.collect())
            }
            Element::Table(id) => self.object(id, depth + 1),
            Element::Union(_) => panic!("a union has a type code"),
        }
    }

    fn scalar(&mut self, scalar: Scalar) -> Value {
        if scalar == Scalar::Bool {
            return json!(self.numbers.below(2) == 1);
        }
        match (scalar.integer_range(), self.numbers.below(5)) {
            (Some((min, _)), 0) => json!(i64::try_from(min).unwrap()),
            (Some((_, max)), 1) => json!(u64::try_from(max).unwrap()),
            (Some(_), _) => json!(self.numbers.below(100)),
            (None, 0) => json!("nan"),
            (None, 1) => json!("-inf"),
            (None, 2) => json!("inf"),
            (None, 3) => json!(-0.0),
            (None, _) => json!(self.numbers.next() as f64 / 8.0),
        }
    }

    fn text(&mut self) -> String {
        let texts = [
            "",
            "plain",
            "\"quoted\"",
            "a,b;c",
            "two\nlines",
            "tab\there",
            "null",
            "7",
            "größe 日本 😀",
            " blanks ",
            "\u{1b}[2J\r\n",
            "nul\0",
            "[1]",
            "{}",
            "nan",
            "true",
        ];
        texts[self.numbers.below(texts.len() as u64) as usize].to_owned()
    }

    fn union(&mut self, id: TypeId, depth: usize) -> (String, Value) {
        let TypeDescriptor::Union(layout) = self.ty(id).clone() else {
            panic!("no union");
        };
        let position = self.numbers.below(layout.members.len() as u64) as usize;
        let member = &layout.members[position];
        (member.name.to_string(), self.value(member.element, depth))
    }

    fn object(&mut self, id: TypeId, depth: usize) -> Value {
        let TypeDescriptor::Table(layout) = self.ty(id).clone() else {
            panic!("no table");
        };
        let mut map = Map::new();
        for field in layout.fields.iter() {
            let is_left_out = depth > 3 || self.numbers.below(4) == 0;
            if is_left_out && !field.required {
                continue;
            }
            let (name, length) = (field.name.to_string(), self.numbers.below(3));
            match field.shape {
                Shape::Single(Element::Union(id)) => {
                    let (tag, value) = self.union(id, depth);
                    map.insert(format!("{name}_type"), json!(tag));
                    map.insert(name, value);
                }
                Shape::Vector(Element::Union(id)) => {
                    let members: Vec<_> = (0..length).map(|_| self.union(id, depth)).collect();
                    let (tags, values): (Vec<_>, Vec<_>) = members.into_iter().unzip();
                    map.insert(format!("{name}_type"), json!(tags));
                    map.insert(name, json!(values));
                }
                Shape::Single(element) => {
                    map.insert(name, self.value(element, depth));
                }
                Shape::Vector(element) => {
                    let values = (0..length).map(|_| self.value(element, depth));
                    let values: Vec<Value> = values.collect();
                    map.insert(name, json!(values));
                }
            }
        }
        Value::Object(map)
    }
}

/// The stored types of all conformance schemas, and the tour's monsters.
fn conformance() -> Vec<(String, Vec<Table>)> {
    let mut found = Vec::new();
    let schemas = repository().join("schemas");
    for folder in [schemas.join("conformance"), schemas] {
        let entries = fs::read_dir(&folder).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.ends_with(".fbs"))
            .collect();
        names.sort();
        let loader = names.iter().fold(MemoryLoader::new(), |loader, name| {
            loader.with_file(name, &fs::read_to_string(folder.join(name)).unwrap())
        });
        for name in names {
            let compiled = compile(std::slice::from_ref(&name), &loader, &Default::default());
            let schema = compiled.schema.unwrap();
            let ids = (0..).map(DefinitionId).zip(&schema.definitions);
            let stored = ids.filter(|(_, definition)| {
                matches!(&definition.kind, DefinitionKind::Table(table) if table.root)
            });
            let tables = stored.map(|(id, _)| Table::new(describe(&schema, id)));
            found.push((name, tables.collect()));
        }
    }
    found
}

/// Kinds of values that the objects of the round trip have.
#[derive(Default)]
struct Seen {
    infinities: u64,
    no_numbers: u64,
    large: u64,
    unions: u64,
    structs: u64,
    inner: u64,
}

impl Seen {
    fn assert_all(&self) {
        let counts = [
            self.infinities,
            self.no_numbers,
            self.large,
            self.unions,
            self.structs,
            self.inner,
        ];
        assert!(counts.iter().all(|count| *count > 3), "{counts:?}");
    }

    /// Whether an exported value is the source's.
    fn agrees(&mut self, table: &Table, element: Element, (is, was): (&Value, &Value)) -> bool {
        let ty = |id: TypeId| table.types[usize::from(id.0)].clone();
        match element {
            Element::Scalar(Scalar::F32 | Scalar::F64) => {
                self.infinities += u64::from(is == "inf" || is == "-inf");
                self.no_numbers += u64::from(is == "nan");
                let number = |value: &Value| value.as_f64().map(|value| value as f32);
                is == was || number(is).is_some() && number(is) == number(was)
            }
            Element::Scalar(_) => {
                self.large += u64::from(is.as_u64() == Some(u64::MAX));
                is == was
            }
            Element::Text => is == was,
            Element::Enum(id) => {
                let TypeDescriptor::Enum(layout) = ty(id) else {
                    return false;
                };
                // A key is made as a number.
                let named = layout.values.iter().find(|value| *is == *value.name);
                is == was || named.is_some_and(|named| is_number(was, &named.value))
            }
            Element::Struct(id) => {
                self.structs += 1;
                let TypeDescriptor::Struct(layout) = ty(id) else {
                    return false;
                };
                layout.fields.iter().all(|field| {
                    let (is, was) = (&is[&*field.name], &was[&*field.name]);
                    match field.array {
                        None => self.agrees(table, field.element, (is, was)),
                        Some(_) => self.all_agree(table, field.element, (is, was)),
                    }
                })
            }
            Element::Table(id) => {
                self.inner += u64::from(id != ROOT_TYPE);
                let TypeDescriptor::Table(layout) = ty(id) else {
                    return false;
                };
                layout.fields.iter().all(|field| {
                    let (is, was) = (&is[&*field.name], &was[&*field.name]);
                    // A value that equals the default is left out.
                    is.is_null() && is_default(table, field.shape, (was, &field.default))
                        || was.is_null() && is.is_null()
                        || match field.shape {
                            Shape::Single(Element::Union(_)) | Shape::Vector(Element::Union(_)) => {
                                self.unions += 1;
                                true
                            }
                            Shape::Single(element) => self.agrees(table, element, (is, was)),
                            Shape::Vector(element) => self.all_agree(table, element, (is, was)),
                        }
                })
            }
            Element::Union(_) => false,
        }
    }

    fn all_agree(&mut self, table: &Table, element: Element, (is, was): (&Value, &Value)) -> bool {
        let (Some(is), Some(was)) = (is.as_array(), was.as_array()) else {
            return false;
        };
        let mut pairs = is.iter().zip(was);
        is.len() == was.len() && pairs.all(|pair| self.agrees(table, element, pair))
    }
}

/// Whether a value is a number in JSON.
fn is_number(value: &Value, number: &Number) -> bool {
    match number {
        Number::Int(number) => value.as_i64() == Some(*number),
        Number::UInt(number) => value.as_u64() == Some(*number),
        _ => false,
    }
}

/// Whether a value of a source is the default of its field.
fn is_default(table: &Table, shape: Shape, (was, default): (&Value, &Number)) -> bool {
    let number = |number: f64| was.as_f64() == Some(number);
    match (shape, default) {
        (Shape::Single(Element::Scalar(Scalar::Bool)), Number::Int(default)) => {
            was.as_bool() == Some(*default != 0)
        }
        (Shape::Single(Element::Enum(id)), default) => {
            let TypeDescriptor::Enum(layout) = &table.types[usize::from(id.0)] else {
                return false;
            };
            let named = layout.values.iter().find(|value| *was == *value.name);
            is_number(was, default) || named.is_some_and(|named| named.value == *default)
        }
        (_, Number::Int(_) | Number::UInt(_)) => is_number(was, default),
        (_, Number::Float(default)) if default.is_infinite() || default.is_nan() => was.is_string(),
        (_, Number::Float(default)) => number(*default),
        (_, Number::Text(default)) => *was == **default,
        (_, Number::Null) => false,
    }
}

/// Inserts objects of a type, and returns them as JSON.
fn sources(table: &Table, workspace: &Workspace) -> Vec<Value> {
    let mut maker = Maker {
        table,
        numbers: Numbers(7),
    };
    let is_composite = table.primary_key.len() > 1;
    let mut sources = Vec::new();
    // A key of 0 would be assigned by the library.
    for number in 1..=20_u64 {
        let mut object = maker.object(ROOT_TYPE, 0);
        for key in table.primary_key.iter() {
            object[&*key.name] = match key.kind {
                FieldKind::Scalar(Scalar::Bool) => json!(number % 2 == 1),
                FieldKind::Text => json!(format!("key {number}")),
                _ if is_composite => json!(number % 2),
                _ => json!(number),
            };
        }
        // A key or a unique value may occur twice; then the first object stays.
        let one = [object.to_string()];
        let inserted = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            insert(workspace, table, &one);
        }));
        if inserted.is_ok() {
            sources.push(object);
        }
    }
    sources
}

#[test]
fn float_has_the_same_digits_whether_it_is_stored_or_a_default() {
    let folder = tempfile::tempdir().unwrap();
    let schema =
        "table Gauge { id: ulong (primary); w: float = 0.1; d: double = 0.1; }\nroot_type Gauge;";
    fs::write(folder.path().join("gauge.fbs"), schema).unwrap();
    let objects = ["{\"id\": 1}", "{\"id\": 2, \"w\": 0.3, \"d\": 0.3}"];
    fs::write(folder.path().join("gauges"), objects.join("\n")).unwrap();
    let import = [
        "import",
        "a.db",
        "Gauge",
        "--from",
        "gauges",
        "--schema",
        "gauge.fbs",
    ];
    printed(&import, folder.path());
    let shown = |select: &str| {
        let query = [
            "query", "a.db", "Gauge", "--format", "csv", "--select", select,
        ];
        printed(&query, folder.path())
    };
    assert_eq!(shown("id,w,d"), "id,w,d\n1,0.1,0.1\n2,0.3,0.3\n");
}

#[test]
fn objects_of_every_conformance_schema_are_exported_and_imported() {
    let (mut seen, mut types) = (Seen::default(), 0);
    for (name, tables) in conformance() {
        // The dictionary's own type is not listed among the types.
        for table in tables
            .iter()
            .filter(|table| !table.name.starts_with("dictitem"))
        {
            let folder = tempfile::tempdir().unwrap();
            let workspace = open(&folder.path().join("a.db"));
            let sources = sources(table, &workspace);
            workspace.shutdown_with(Default::default()).unwrap();
            // Two kinds of keys have two values only.
            assert!(sources.len() >= 2, "{name}: {} objects", sources.len());
            types += 1;
            let schema = printed(&["schema", "a.db"], folder.path());
            fs::write(folder.path().join("a.fbs"), schema).unwrap();
            let lines = printed(&["export", "a.db"], folder.path());
            let csv = printed(
                &["export", "a.db", &table.name, "--format", "csv"],
                folder.path(),
            );
            let exported = printed(&["export", "a.db", &table.name], folder.path());
            let exported = exported
                .lines()
                .map(|line| serde_json::from_str(line).unwrap());
            let exported: Vec<Value> = exported.collect();
            assert_eq!(exported.len(), sources.len(), "{name}");
            for (exported, source) in exported.iter().zip(&sources) {
                assert!(
                    seen.agrees(table, Element::Table(ROOT_TYPE), (exported, source)),
                    "{name}: {exported} of {source}"
                );
            }
            fs::write(folder.path().join("a.jsonl"), &lines).unwrap();
            fs::write(folder.path().join("a.csv"), &csv).unwrap();
            let import = |to: &str, more: &[&str]| {
                let arguments = [&["import", to, "--schema", "a.fbs"], more].concat();
                printed(&arguments, folder.path());
                assert_eq!(printed(&["export", to], folder.path()), lines, "{name}");
            };
            import("b.db", &["--from", "a.jsonl"]);
            import("c.db", &[&table.name, "--from", "a.csv", "--batch", "3"]);
        }
    }
    assert!(types > 15, "{types} types");
    seen.assert_all();
}
