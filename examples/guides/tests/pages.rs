//! Each guide begins with a program, whose schema, build script and output are as the page shows.
#![allow(clippy::unwrap_used, reason = "a failing test panics")]

use std::fs;
use std::path::Path;
use std::process::Command;

use dflat::Workspace;

dflat::include_schema!("task");

/// A guide, its program, and its schema here and on the page.
const GUIDES: [(&str, &str, &str, &str); 16] = [
    ("async", env!("CARGO_BIN_EXE_awaiting"), "task", "task"),
    ("build", env!("CARGO_BIN_EXE_building"), "task", "task"),
    (
        "compatibility",
        env!("CARGO_BIN_EXE_compatibility"),
        "task",
        "task",
    ),
    (
        "concurrency",
        env!("CARGO_BIN_EXE_concurrency"),
        "task",
        "task",
    ),
    (
        "condition-language",
        env!("CARGO_BIN_EXE_condition-language"),
        "task",
        "task",
    ),
    ("cookbook", env!("CARGO_BIN_EXE_cookbook"), "note", "note"),
    (
        "durability",
        env!("CARGO_BIN_EXE_durability"),
        "task",
        "task",
    ),
    (
        "evolution",
        env!("CARGO_BIN_EXE_evolution"),
        "task_due",
        "task",
    ),
    ("history", env!("CARGO_BIN_EXE_history"), "task", "task"),
    (
        "live-queries",
        env!("CARGO_BIN_EXE_live-queries"),
        "task",
        "task",
    ),
    (
        "modelling",
        env!("CARGO_BIN_EXE_modelling"),
        "subtask",
        "task",
    ),
    ("packs", env!("CARGO_BIN_EXE_packs"), "task", "task"),
    (
        "performance",
        env!("CARGO_BIN_EXE_performance"),
        "task",
        "task",
    ),
    ("queries", env!("CARGO_BIN_EXE_queries"), "task", "task"),
    (
        "query-format",
        env!("CARGO_BIN_EXE_query-format"),
        "task",
        "task",
    ),
    ("schema", env!("CARGO_BIN_EXE_schema"), "message", "message"),
];

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// The blocks of code in the first section of a guide: each with its language in the first line.
fn blocks(page: &str) -> Vec<String> {
    let page = read(&format!("../../docs/{page}.md"));
    let (_, sections) = page.split_once("\n## ").unwrap();
    let section = sections.split("\n## ").next().unwrap();
    assert!(section.starts_with("Begin with a program\n"));
    let blocks = section.split("```").skip(1).step_by(2);
    // Dependencies and commands are not compared.
    let compared = blocks.filter(|block| !block.starts_with("toml\n"));
    compared.map(str::to_owned).collect()
}

#[test]
fn guides_show_their_programs() {
    for (page, program, schema, shown) in GUIDES {
        let name = Path::new(program).file_stem().unwrap().to_str().unwrap();
        let included = |name: &str| format!("include_schema!(\"{name}\")");
        // A folder has no room for all programs.
        let single = format!("src/bin/{name}.rs");
        let source = match Path::new(env!("CARGO_MANIFEST_DIR")).join(&single).exists() {
            true => read(&single),
            false => read(&format!("src/bin/{name}/main.rs")),
        };
        let source = source.replace(&included(schema), &included(shown));
        let script =
            format!("fn main() {{\n    dflat_build::compile([\"schemas/{shown}.fbs\"]);\n}}\n");
        let expected = [
            format!("text\n{}", read(&format!("schemas/{schema}.fbs"))),
            format!("rust\n{script}"),
            format!("rust\n{source}"),
        ];
        assert_eq!(blocks(page)[..3], expected, "{page}");
    }
}

#[test]
fn programs_print_the_output_that_their_guides_show() {
    for (page, program, ..) in GUIDES {
        let directory = tempfile::tempdir().unwrap();
        if page == "evolution" {
            store_tasks(&directory.path().join("tasks.db")).unwrap();
        }
        let output = Command::new(program).current_dir(directory.path()).output();
        let output = output.unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{page}: {errors}");
        let printed = String::from_utf8(output.stdout).unwrap();
        assert_eq!(blocks(page)[3..], [format!("console\n{printed}")], "{page}");
    }
}

/// Stores what the program in README stores when it runs twice.
fn store_tasks(path: &Path) -> dflat::Result<()> {
    let workspace = Workspace::open(path)?;
    workspace.perform_changes_blocking([Task::TABLE], |tx| {
        for id in [1, 2] {
            tx.submit(TaskChangeRequest::creation(TaskData {
                id,
                title: Some(format!("task {id}")),
                done: false,
            }))?;
        }
        Ok(())
    })?;
    workspace.shutdown()
}

/// The list of guides names pages that begin with a task, and no others.
#[test]
fn every_guide_of_the_list_begins_with_a_task() {
    let list = read("../../docs/README.md");
    let (_, list) = list.split_once("Each guide begins").unwrap();
    let (list, _) = list.split_once("Swift has pages").unwrap();
    let guides = list.lines().filter_map(|line| line.strip_prefix("- ["));
    let guides: Vec<&str> = guides.map(|line| line.split_once(']').unwrap().0).collect();
    assert_eq!(guides.len(), GUIDES.len() + 5);
    for guide in guides {
        let page = read(&format!("../../docs/{guide}"));
        let first = page.lines().find(|line| line.starts_with("## ")).unwrap();
        let is_program = GUIDES
            .iter()
            .any(|(name, ..)| guide == format!("{name}.md"));
        assert!(first.starts_with("## Begin with a "), "{guide}: {first}");
        assert!(!is_program || first == "## Begin with a program", "{guide}");
    }
}

/// A program that is not installed: the rest of a test is left out.
fn is_missing(program: &str) -> bool {
    let missing = Command::new(program).arg("--version").output().is_err();
    if missing {
        eprintln!("skipped: there is no {program}");
    }
    missing
}

#[test]
fn storage_format_shows_the_commands_of_other_tools() {
    if is_missing("sqlite3") || is_missing("flatc") {
        return;
    }
    let page = read("../../docs/storage-format.md");
    let section = page.split("\n## ").nth(1).unwrap();
    let blocks: Vec<&str> = section.split("```").skip(1).step_by(2).collect();
    let (schema, session) = (blocks[0].strip_prefix("text\n"), blocks[1]);
    let (schema, session) = (schema.unwrap(), session.strip_prefix("console\n").unwrap());
    let attributes = "attribute \"primary\";\nattribute \"indexed\";\n\n";
    assert_eq!(schema, format!("{attributes}{}", read("schemas/task.fbs")));
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    store_tasks(&path.join("tasks.db")).unwrap();
    fs::create_dir(path.join("schemas")).unwrap();
    fs::write(path.join("schemas/task.fbs"), schema).unwrap();
    let mut replayed = String::new();
    for command in session.lines().filter_map(|line| line.strip_prefix("$ ")) {
        let output = Command::new("sh")
            .args(["-c", command])
            .current_dir(path)
            .output();
        let output = output.unwrap();
        assert!(output.status.success(), "{command}: {output:?}");
        replayed += &format!("$ {command}\n{}", String::from_utf8(output.stdout).unwrap());
    }
    assert_eq!(session, replayed);
}
