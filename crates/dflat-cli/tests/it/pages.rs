//! The pages of the documentation that this program generates.

use std::fs;

use expect_test::expect_file;

use crate::fixture::{printed, repository};

const COMMANDS: [&str; 24] = [
    "info", "types", "schema", "stats", "get", "query", "count", "explain", "watch", "insert",
    "upsert", "set", "delete", "dict", "export", "import", "copy", "diff", "backup", "compact",
    "check", "repair", "salvage", "purge",
];

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
    for command in ["get", "set", "remove", "watch", "keys"] {
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
    for command in COMMANDS {
        let help = printed(&[command, "--help"], folder.path());
        let lines: Vec<&str> = help.lines().collect();
        assert_eq!(lines[0], "Examples:", "{command}");
        for line in &lines[1..3] {
            assert!(line.contains(&format!("dflat {command} ")), "{line}");
        }
    }
}
