//! Runs the commands of CMake and Bazel in `docs/build.md`, and checks their depfiles.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::docs::page;
use super::{SCHEMA, dflatc, folder, text};

/// The blocks of a language in the page.
fn blocks(language: &str) -> Vec<String> {
    let page = page("build.md");
    let fence = format!("```{language}\n");
    let starts = page.split(&fence).skip(1);
    starts
        .map(|rest| rest.split("```").next().unwrap().to_owned())
        .collect()
}

/// Creates the project of the page: a schema, and a schema that it includes.
fn project() -> tempfile::TempDir {
    let project = folder(&[]);
    for folder in ["schemas", "shared", "out"] {
        fs::create_dir(project.path().join(folder)).unwrap();
    }
    let include = format!("include \"part.fbs\"; {SCHEMA}");
    fs::write(project.path().join("schemas/post.fbs"), include).unwrap();
    fs::write(
        project.path().join("shared/part.fbs"),
        "table Part { x: int; }",
    )
    .unwrap();
    project
}

/// Runs a command line of the page after `dflatc`, its variables replaced, and checks the output
/// and the depfile.
fn runs(command: &str, variables: &[(&str, &Path)], out: &str) {
    let project = project();
    let command = variables
        .iter()
        .fold(command.to_owned(), |command, (name, value)| {
            command.replace(name, value.to_str().unwrap())
        });
    let root = project.path().to_str().unwrap();
    let command = command.replace("PROJECT", root);
    let arguments: Vec<&str> = command.split_whitespace().collect();
    let output = dflatc(project.path(), &arguments);
    assert!(
        output.status.success(),
        "{command}: {}",
        text(&output.stderr)
    );
    let code = fs::read_to_string(project.path().join(out).join("post.rs")).unwrap();
    assert!(code.contains("pub struct PostData") && code.contains("pub struct Part"));
    let depfile = fs::read_to_string(project.path().join(out).join("post.d")).unwrap();
    let depfile = depfile.replace(&format!("{root}/"), "");
    let (target, inputs) = depfile.trim_end().split_once(": ").unwrap();
    assert_eq!(target, format!("{out}/post.rs"));
    let inputs: BTreeSet<&str> = inputs.split(' ').collect();
    assert_eq!(
        inputs,
        BTreeSet::from(["schemas/post.fbs", "shared/part.fbs"])
    );
}

#[test]
fn the_command_of_cmake_runs() {
    let block = blocks("cmake").remove(0);
    let (_, command) = block.split_once("COMMAND ${DFLATC} ").unwrap();
    let command = command.split("\n  DEPENDS").next().unwrap();
    let variables = [
        ("${CMAKE_CURRENT_BINARY_DIR}", Path::new("PROJECT/out")),
        ("${CMAKE_CURRENT_SOURCE_DIR}", Path::new("PROJECT")),
        ("${schema}", Path::new("PROJECT/schemas/post.fbs")),
    ];
    runs(command, &variables, "out");
}

// Promise: compatibility#P11
#[test]
fn the_command_of_bazel_runs() {
    let block = blocks("starlark").remove(0);
    let (_, command) = block.split_once("$(execpath //tools:dflatc) ").unwrap();
    let command = command
        .split("\",\n")
        .next()
        .unwrap()
        .replace("\" +", " ")
        .replace('"', " ");
    runs(&command, &[("$(RULEDIR)", Path::new("out"))], "out");
}

fn is_there(program: &str) -> bool {
    let mut command = Command::new(program);
    let command = command
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Builds the project of the page with CMake and Ninja. The test is skipped without them.
#[test]
fn cmake_builds_again_when_an_included_file_changes() {
    if !is_there("cmake") || !is_there("ninja") {
        return;
    }
    let project = project();
    fs::write(project.path().join("CMakeLists.txt"), &blocks("cmake")[0]).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = Command::new("cmake");
        let output = command
            .args(arguments)
            .current_dir(project.path())
            .output()
            .unwrap();
        let stdout = text(&output.stdout);
        assert!(output.status.success(), "{stdout}{}", text(&output.stderr));
        stdout
    };
    let compiler = format!("-DDFLATC={}", env!("CARGO_BIN_EXE_dflatc"));
    run(&["-G", "Ninja", "-B", "out", "-S", ".", &compiler]);
    run(&["--build", "out"]);
    let code = || fs::read_to_string(project.path().join("out/post.rs")).unwrap();
    assert!(code().contains("pub x: i32,"));
    assert!(run(&["--build", "out"]).contains("no work to do"));

    let part = project.path().join("shared/part.fbs");
    fs::write(&part, "table Part { y: int; }").unwrap();
    // The time stamp must change with any resolution of the file system's clock.
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(5);
    fs::File::options()
        .write(true)
        .open(&part)
        .unwrap()
        .set_modified(later)
        .unwrap();
    run(&["--build", "out"]);
    assert!(code().contains("pub y: i32,"));
}

// Promise: compatibility#P10
#[test]
fn committed_code_is_checked() {
    let project = project();
    let commands = blocks("sh").remove(0);
    let mut commands = commands.lines().map(|line| {
        let arguments = line.strip_prefix("dflatc ").unwrap();
        let mut arguments: Vec<&str> = arguments.split(' ').collect();
        arguments.extend(["-I", "shared"]);
        move |folder: &Path| dflatc(folder, &arguments)
    });
    let (compile, check) = (commands.next().unwrap(), commands.next().unwrap());
    let output = check(project.path());
    assert_eq!(output.status.code(), Some(1));
    let path = Path::new("src/generated").join("post.rs");
    let begin = format!("error: cannot read {}: ", path.display());
    assert!(
        text(&output.stderr).starts_with(&begin),
        "{}",
        text(&output.stderr)
    );
    assert!(!project.path().join("src").exists());

    assert!(compile(project.path()).status.success());
    assert!(check(project.path()).status.success());
    let part = project.path().join("shared/part.fbs");
    fs::write(part, "table Part { y: int; }").unwrap();
    let output = check(project.path());
    assert_eq!(output.status.code(), Some(1));
    let error = format!(
        "error: {} is not current; run the same command without `--check`\n",
        path.display()
    );
    assert_eq!(text(&output.stderr), error);
    assert!(compile(project.path()).status.success());
    assert!(check(project.path()).status.success());
}
