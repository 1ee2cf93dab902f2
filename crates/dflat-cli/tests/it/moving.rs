//! Exports and imports.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use dflat_model::{
    Element, ROOT_TYPE, Scalar, Shape, Table, TypeDescriptor, TypeId, Value as Number,
};
use dflat_schema::{DefinitionId, DefinitionKind, MemoryLoader, compile, describe};
use serde_json::{Map, Value, json};

use crate::fixture::{PROGRAM, dflat, insert, make_tasks, open, printed, repository};

/// Numbers that look random, the same in each run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

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
        match (scalar.integer_range(), self.numbers.below(4)) {
            (Some((min, _)), 0) => json!(i64::try_from(min).unwrap()),
            (Some((_, max)), 1) => json!(u64::try_from(max).unwrap()),
            (Some(_), _) => json!(self.numbers.below(100)),
            (None, 0) => json!("nan"),
            (None, 1) => json!("-inf"),
            (None, 2) => json!(-0.0),
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

#[test]
fn objects_of_every_conformance_schema_are_exported_and_imported() {
    let mut objects = 0;
    for (name, tables) in conformance() {
        // The dictionary's own type is not listed among the types.
        for table in tables
            .iter()
            .filter(|table| !table.name.starts_with("dictitem"))
        {
            let folder = tempfile::tempdir().unwrap();
            let workspace = open(&folder.path().join("a.db"));
            let mut maker = Maker {
                table,
                numbers: Numbers(7),
            };
            for number in 0..20_u64 {
                let mut object = maker.object(ROOT_TYPE, 0);
                for key in table.primary_key.iter() {
                    object[&*key.name] = match key.default {
                        Number::Int(_) | Number::UInt(_) | Number::Float(_) => json!(number % 2),
                        _ => json!(format!("key {number}")),
                    };
                }
                if table.primary_key.len() == 1 {
                    let key = &table.primary_key[0];
                    if key.kind != dflat_model::FieldKind::Text {
                        object[&*key.name] = json!(number);
                    }
                }
                // A key or a unique value may occur twice; then the first object stays.
                let one = [object.to_string()];
                let inserted = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                    insert(&workspace, table, &one);
                }));
                objects += u64::from(inserted.is_ok());
            }
            workspace.shutdown_with(Default::default()).unwrap();
            let schema = printed(&["schema", "a.db"], folder.path());
            fs::write(folder.path().join("a.fbs"), schema).unwrap();
            let lines = printed(&["export", "a.db"], folder.path());
            let csv = printed(
                &["export", "a.db", &table.name, "--format", "csv"],
                folder.path(),
            );
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
    assert!(objects > 200, "{objects}");
}

/// Writes tasks as JSON lines.
fn write_tasks(path: &Path, count: u64) {
    let mut out = BufWriter::new(File::create(path).unwrap());
    for id in 0..count {
        let (list, done) = (id % 17, id % 3 == 0);
        let line = format!(
            r#"{{"id": {id}, "title": "task {id}", "list": {list}, "done": {done}, "priority": {list}}}"#
        );
        writeln!(out, "{line}").unwrap();
        if id % 1000 == 7 {
            writeln!(out, r#"{{"id": {id}, "titel": "wrong"}}"#).unwrap();
        }
    }
    out.flush().unwrap();
}

#[test]
fn an_import_that_is_killed_continues_where_it_was() {
    const TASKS: u64 = 100_000;
    let folder = tempfile::tempdir().unwrap();
    write_tasks(&folder.path().join("tasks.jsonl"), TASKS);
    fs::copy(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/tasks.fbs"),
        folder.path().join("tasks.fbs"),
    )
    .unwrap();
    let import = |to: &'static str, rejects: &'static str| {
        [
            "import",
            to,
            "Task",
            "--schema",
            "tasks.fbs",
            "--from",
            "tasks.jsonl",
            "--rejects",
            rejects,
        ]
    };
    let whole = printed(&import("whole.db", "whole.rejects"), folder.path());
    assert_eq!(whole, format!("{TASKS} inserted, 100 rejected\n"));

    let mut numbers = Numbers(3);
    let (mut interrupted, mut is_done) = (0, false);
    for round in 0..10 {
        let mut command = Command::new(PROGRAM);
        let arguments = import("killed.db", "killed.rejects");
        command.args(arguments).current_dir(folder.path());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        // The moment need not be exact: whatever it is, the next run continues.
        std::thread::sleep(Duration::from_millis(20 + numbers.below(300)));
        let signal = if round % 2 == 0 { "-KILL" } else { "-INT" };
        let mut kill = Command::new("kill");
        kill.args([signal, &child.id().to_string()]);
        // The child may have ended meanwhile.
        let _ = kill.stderr(Stdio::null()).status();
        is_done = child.wait().unwrap().success();
        if is_done {
            break;
        }
        interrupted += 1;
    }
    assert!(interrupted > 0);
    if !is_done {
        let last = dflat(&import("killed.db", "killed.rejects"), folder.path());
        let error = String::from_utf8_lossy(&last.stderr);
        assert!(last.status.success(), "{error}");
    }
    let export = |file: &str| printed(&["export", file, "Task"], folder.path());
    assert!(
        export("killed.db") == export("whole.db"),
        "the files differ"
    );
    let rejects = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(rejects("killed.rejects"), rejects("whole.rejects"));
    assert_eq!(
        printed(
            &["dict", "keys", "killed.db", "--space", "dflat import"],
            folder.path()
        ),
        ""
    );
}

#[test]
fn a_changed_input_is_not_continued() {
    let folder = tempfile::tempdir().unwrap();
    make_tasks(&folder.path().join("tasks.db"));
    let path = folder.path().join("more.jsonl");
    fs::write(&path, "{\"id\": 10}\n{\"id\": 11}\nwrong\n").unwrap();
    let import = [
        "import",
        "tasks.db",
        "Task",
        "--from",
        "more.jsonl",
        "--batch",
        "2",
    ];
    let message = |more: &[&str]| {
        let output = dflat(&[&import[..], more].concat(), folder.path());
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (code, error) = message(&[]);
    assert_eq!(code, Some(2));
    assert!(error.starts_with("error: line 3: "), "{error}");
    fs::write(&path, "{\"id\": 10}\n{\"id\": 12}\n").unwrap();
    let (code, error) = message(&[]);
    assert_eq!(code, Some(2));
    assert!(error.contains("--restart"), "{error}");
    let (code, _) = message(&["--restart", "--on-conflict", "skip"]);
    assert_eq!(code, Some(0));
    assert_eq!(
        printed(&["count", "tasks.db", "Task"], folder.path()),
        "7\n"
    );
}
