//! Files for tests, and runs of the program.

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, LazyLock};

use dflat_engine::dictionary::Value;
use dflat_engine::engine::PerformOptions;
use dflat_engine::history::KeepHistory;
use dflat_engine::storage::CloseOptions;
use dflat_history::keeper::Keeper;
use dflat_model::{Table, TypeDescriptor};
use dflat_schema::{DefinitionId, DefinitionKind, MemoryLoader, compile, describe};
use dflat_workspace::{FileOptions, JsonType, Operation, Workspace};
use serde::de::DeserializeSeed;
use serde_json::json;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_dflat");

/// The words before a program that SIGINT shall end. A script that runs the tests in its background
/// ignores SIGINT, and so do the programs that the tests start; `env` of GNU undoes that.
pub(crate) fn with_interrupts() -> &'static [&'static str] {
    const WORDS: [&str; 2] = ["env", "--default-signal=INT"];
    static KNOWN: LazyLock<bool> = LazyLock::new(|| {
        let mut command = Command::new(WORDS[0]);
        let probe = command.args([WORDS[1], "true"]).stderr(Stdio::null());
        probe.status().is_ok_and(|status| status.success())
    });
    if *KNOWN { &WORDS } else { &[] }
}

pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A file of Dflat for Swift.
pub(crate) fn copy_of_original(name: &str, to: &Path) {
    let data = repository().join("crates/dflat-sqlite/tests/data");
    fs::copy(data.join(name), to).unwrap();
}

/// The stored types of `tests/data/tasks.fbs`.
pub(crate) fn tables() -> Vec<Table> {
    let text = include_str!("../data/tasks.fbs");
    let loader = MemoryLoader::new().with_file("tasks.fbs", text);
    let compiled = compile(&["tasks.fbs".to_owned()], &loader, &Default::default());
    let schema = compiled.schema.unwrap();
    let ids = (0..).map(DefinitionId).zip(&schema.definitions);
    let stored = ids.filter(
        |(_, definition)| matches!(&definition.kind, DefinitionKind::Table(table) if table.root),
    );
    stored
        .map(|(id, _)| Table::new(describe(&schema, id)))
        .collect()
}

pub(crate) fn table(name: &str) -> Table {
    let mut tables = tables().into_iter();
    tables.find(|table| table.type_name == name).unwrap()
}

pub(crate) fn open(path: &Path) -> Workspace {
    Workspace::open(path, &FileOptions::default()).unwrap()
}

/// Inserts objects, given as JSON, in one transaction.
pub(crate) fn insert(workspace: &Workspace, table: &Table, objects: &[String]) {
    let options = PerformOptions::default();
    let inserted = workspace.perform_blocking([table.clone()], options, |context| {
        for json in objects {
            let mut reader = serde_json::Deserializer::from_str(json);
            let payload = JsonType::of(table).deserialize(&mut reader).unwrap();
            context.submit(table, Operation::Create { payload: &payload }, None)?;
        }
        Ok(())
    });
    inserted.unwrap();
    workspace.engine().settle().unwrap();
}

/// A file of this library, with tasks and lists.
pub(crate) fn make_tasks(path: &Path) {
    let workspace = open(path);
    let tasks = [
        r#"{"id": 1, "title": "größe 日本 😀", "list": 1, "priority": 100, "due": 5, "tags": ["a", "b"], "content_type": "Note", "content": {"text": "n"}}"#,
        r#"{"id": 2, "title": "buy milk", "list": 1, "done": true, "color": "Red", "priority": -3, "rights": "Read Share"}"#,
        r#"{"id": 3, "list": 2, "color": "Blue", "priority": 7, "spot": {"x": 1.5, "y": -2}, "weight": "inf"}"#,
        r#"{"id": 18446744073709551615, "title": "", "list": 2, "content_type": "Words", "content": "hi", "weight": "nan"}"#,
    ];
    insert(&workspace, &table("Work.Task"), &tasks.map(str::to_owned));
    let lists = [
        r#"{"owner": "ann", "number": 1, "name": "home"}"#,
        r#"{"owner": "ann", "number": -2, "name": "work"}"#,
    ];
    insert(&workspace, &table("Work.List"), &lists.map(str::to_owned));
    let options = CloseOptions {
        truncate: true,
        ..CloseOptions::default()
    };
    workspace.shutdown_with(options).unwrap();
}

/// A workspace in which tasks are versioned.
pub(crate) fn open_versioned(path: &Path) -> Workspace {
    let mut options = FileOptions::default();
    let keeper = Arc::new(Keeper::default());
    keeper.want(&table("Work.Task"), true);
    options.history(keeper);
    options.author(Some("ann".to_owned()));
    Workspace::open(path, &options).unwrap()
}

/// A file with versioned tasks.
pub(crate) fn make_versioned(path: &Path) {
    let workspace = open_versioned(path);
    let tasks = [
        r#"{"id": 1, "title": "dig", "list": 1}"#,
        r#"{"id": 2, "title": "sow", "list": 1}"#,
    ];
    insert(&workspace, &table("Work.Task"), &tasks.map(str::to_owned));
    let options = CloseOptions {
        truncate: true,
        ..CloseOptions::default()
    };
    workspace.shutdown_with(options).unwrap();
}

/// Characters that clear a terminal, turn text around, and ring.
const EVIL: &str = "\u{1b}[2J\u{202e}\u{7}";

/// The type of tasks with such characters in the names of its type, fields and enums.
fn evil_table() -> Table {
    let mut descriptor = (*table("Work.Task")).clone();
    descriptor.name = "names__evil".into();
    descriptor.type_name = format!("Names.{EVIL}").into();
    descriptor.indexes = Vec::new().into();
    let evil = |name: &mut Cow<'static, str>| *name = format!("{name}{EVIL}").into();
    for ty in descriptor.types.to_mut() {
        match ty {
            TypeDescriptor::Table(layout) => {
                evil(&mut layout.name);
                layout
                    .fields
                    .to_mut()
                    .iter_mut()
                    .for_each(|field| evil(&mut field.name));
            }
            TypeDescriptor::Struct(layout) => {
                evil(&mut layout.name);
                layout
                    .fields
                    .to_mut()
                    .iter_mut()
                    .for_each(|field| evil(&mut field.name));
            }
            TypeDescriptor::Enum(layout) => {
                evil(&mut layout.name);
                layout
                    .values
                    .to_mut()
                    .iter_mut()
                    .for_each(|value| evil(&mut value.name));
            }
            TypeDescriptor::Union(layout) => {
                evil(&mut layout.name);
                layout
                    .members
                    .to_mut()
                    .iter_mut()
                    .for_each(|member| evil(&mut member.name));
            }
        }
    }
    for key in descriptor.primary_key.to_mut() {
        evil(&mut key.name);
    }
    Table::new(descriptor)
}

/// A file with names and texts that try to control the terminal, and with a description that is no
/// description.
pub(crate) fn make_hostile(path: &Path) {
    let workspace = open(path);
    let task = r#"{"id": 1, "title": "\u001b[2J\u009b31m\u202e\u0007x"}"#;
    insert(&workspace, &table("Work.Task"), &[task.to_owned()]);
    let (id, color) = (json!(format!("id{EVIL}")), json!(format!("color{EVIL}")));
    let evil = format!(r#"{{{id}: 1, {color}: {}}}"#, json!(format!("Red{EVIL}")));
    insert(&workspace, &evil_table(), &[evil]);
    let list = r#"{"owner": "ann", "number": 1}"#;
    insert(&workspace, &table("Work.List"), &[list.to_owned()]);
    let dictionary = workspace.dictionary();
    let value = Value::Text(EVIL.into());
    dictionary
        .set(&format!("volume{EVIL}"), Some(value))
        .unwrap();
    dictionary.synchronize().unwrap();
    workspace.shutdown_with(Default::default()).unwrap();
    let connection = rusqlite::Connection::open(path).unwrap();
    let mangled = "UPDATE dflat__schema SET descriptor = x'01ffffff' WHERE name = 'work__list'";
    assert_eq!(connection.execute(mangled, []).unwrap(), 1);
}

/// Runs the program.
pub(crate) fn dflat(arguments: &[&str], folder: &Path) -> Output {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).current_dir(folder);
    command.output().unwrap()
}

/// The standard output of a run that ends with code 0.
pub(crate) fn printed(arguments: &[&str], folder: &Path) -> String {
    let output = dflat(arguments, folder);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

/// Numbers that look random, the same in each run.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}
