//! The pages of the documentation that this program generates.

use std::fs;

use expect_test::expect_file;

use crate::fixture::{printed, repository};
use crate::transcripts::replayed;

const COMMANDS: [&str; 39] = [
    "info",
    "types",
    "schema",
    "stats",
    "get",
    "query",
    "count",
    "explain",
    "watch",
    "insert",
    "upsert",
    "set",
    "delete",
    "dict",
    "export",
    "import",
    "copy",
    "diff",
    "pack",
    "unpack",
    "verify",
    "log",
    "show",
    "undo",
    "commit",
    "branch",
    "merge",
    "sync",
    "serve",
    "forget",
    "backup",
    "compact",
    "check",
    "repair",
    "salvage",
    "purge",
    "shell",
    "completions",
    "man",
];

const DICT: [&str; 5] = ["get", "set", "remove", "watch", "keys"];

/// The heading before the help texts of `docs/cli.md`, which are the rest of the page.
const HEADING: &str = "## Help texts\n";

#[test]
fn page_has_the_help_of_every_command() {
    let path = repository().join("docs/cli.md");
    let page = fs::read_to_string(&path).unwrap();
    let (before, _) = page.split_once(HEADING).unwrap();
    let mut expected = format!("{before}{HEADING}");
    let folder = tempfile::tempdir().unwrap();
    let mut add = |arguments: &[&str]| {
        let help = printed(arguments, folder.path());
        let shown = arguments.join(" ");
        expected.push_str(&format!(
            "\n```console\n$ dflat {shown}\n{}\n```\n",
            help.trim_end()
        ));
    };
    add(&["--help"]);
    for command in COMMANDS {
        add(&[command, "--help"]);
    }
    for command in DICT {
        add(&["dict", command, "--help"]);
    }
    expect_file![path].assert_eq(&expected);
}

#[test]
fn help_of_every_command_begins_with_two_examples() {
    let folder = tempfile::tempdir().unwrap();
    let help = printed(&["--help"], folder.path());
    let listed = help.split_once("Commands:\n").unwrap().1;
    let listed: Vec<&str> = listed
        .lines()
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect();
    assert_eq!(listed, COMMANDS);
    let help = printed(&["dict", "--help"], folder.path());
    let listed = help.split_once("Commands:\n").unwrap().1;
    assert!(
        DICT.iter()
            .all(|name| listed.contains(&format!("  {name} ")))
    );
    assert_eq!(
        listed.lines().take_while(|line| !line.is_empty()).count(),
        DICT.len() + 1
    );
    let commands = COMMANDS.map(|command| vec![command]);
    let of_dict = DICT.map(|command| vec!["dict", command]);
    for words in commands.into_iter().chain(of_dict) {
        let help = printed(&[&words[..], &["--help"]].concat(), folder.path());
        let (lines, name) = (help.lines().collect::<Vec<&str>>(), words.join(" "));
        assert_eq!(lines[0], "Examples:", "{name}");
        for line in &lines[1..3] {
            assert!(line.contains(&format!("dflat {name} ")), "{line}");
        }
    }
}

#[test]
fn every_command_that_writes_has_a_dry_run() {
    let folder = tempfile::tempdir().unwrap();
    let commands = COMMANDS.map(|command| vec![command]);
    let of_dict = DICT.map(|command| vec!["dict", command]);
    let mut writing = 0;
    for words in commands.into_iter().chain(of_dict) {
        let help = printed(&[&words[..], &["--help"]].concat(), folder.path());
        // `dict` is none of its commands.
        let writes = help.lines().any(|line| line.starts_with("Writes: "));
        assert_eq!(writes, help.contains("--dry-run"), "{words:?}");
        assert_eq!(help.contains("--format"), help.contains("--json"));
        writing += usize::from(writes);
    }
    assert_eq!(writing, 22);
}

#[test]
fn completions_and_man_pages_are_generated() {
    let folder = tempfile::tempdir().unwrap();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = printed(&["completions", shell], folder.path());
        assert!(script.contains("COMPLETE"), "{shell}");
    }
    printed(&["man", "pages"], folder.path());
    let page = |name: &str| {
        let path = folder.path().join("pages").join(format!("{name}.1"));
        fs::read_to_string(path).unwrap()
    };
    assert!(page("dflat").contains("Exit codes"));
    for command in COMMANDS {
        let page = page(&format!("dflat-{command}"));
        assert!(page.contains(&format!("dflat {command}")), "{page}");
    }
    assert!(page("dflat-dict-set").contains("namespace"));
}

/// Replays the transcript in a section of a page, and compares it with the page. Returns the number
/// of its commands.
fn check_transcript(page: &str, heading: &str) -> usize {
    let path = repository().join(page);
    let text = fs::read_to_string(&path).unwrap();
    let (before, section) = text.split_once(heading).unwrap();
    let (words, rest) = section.split_once("```sh-session\n").unwrap();
    let (commands, after) = rest.split_once("```").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let schema = repository().join("examples/first/schemas/task.fbs");
    assert!(text.contains(&fs::read_to_string(&schema).unwrap()));
    fs::copy(schema, folder.path().join("task.fbs")).unwrap();
    let replayed = replayed(commands, folder.path());
    let lines = replayed.lines().filter(|line| !line.is_empty());
    // The shell does not show exit codes.
    let lines = lines.filter(|line| !line.starts_with("[exit code "));
    let replayed: String = lines.map(|line| format!("{line}\n")).collect();
    let expected = format!("{before}{heading}{words}```sh-session\n{replayed}```{after}");
    expect_file![path].assert_eq(&expected);
    commands.matches("$ ").count()
}

#[test]
fn readme_shows_a_transcript() {
    let commands = check_transcript("README.md", "### Look into a file\n");
    assert_eq!(commands, 5);
}

#[test]
fn page_begins_with_a_transcript() {
    let commands = check_transcript("docs/cli.md", "## Begin with a task\n");
    assert_eq!(commands, 9);
}
