//! Each guide begins with a program, whose schema, build script and output are as the page shows.
#![allow(clippy::unwrap_used, reason = "a failing test panics")]

use std::fs;
use std::path::Path;
use std::process::Command;

use dflat::Workspace;

dflat::include_schema!("task");

/// A guide, its program, and its schema here and on the page.
const GUIDES: [(&str, &str, &str, &str); 13] = [
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
        let source = read(&format!("src/bin/{name}.rs"));
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
