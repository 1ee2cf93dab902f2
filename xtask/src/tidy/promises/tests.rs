use super::{blessed, check};
use crate::workspace::File;

const TEST: &str = "crates/a/tests/it/log.rs";
const LAW: &str = "crates/a/src/conformance/live.rs";

fn file(path: &str, text: &str) -> File {
    File {
        path: path.to_owned(),
        text: text.to_owned(),
    }
}

/// A guide with these sentences and these rows.
fn guide(text: &str, rows: &str) -> File {
    let head = "| | Promise | Tests |\n|---|---|---|\n";
    let text = format!("{text}\n<!-- promises D -->\n{head}{rows}<!-- end of promises -->\nEnd.\n");
    file("docs/durability.md", &text)
}

fn messages(files: &[File]) -> Vec<String> {
    check(files).iter().map(ToString::to_string).collect()
}

/// Whether the check finds one thing, and its message has this text.
fn finds(files: &[File], text: &str) -> bool {
    let messages = messages(files);
    messages.len() == 1 && messages[0].contains(text)
}

#[test]
fn a_table_is_written_from_comments_above_tests() {
    let guide = guide(
        "Kept. [D2] Lent. [D1] [D3](x)\n```\n[D4]\n```",
        "| D2 | it is kept here | |\n",
    );
    let sources = [
        guide,
        file(
            TEST,
            "// Promise: durability#D2\n/// Why.\n#[test]\nfn kept() {}\n",
        ),
        file(
            LAW,
            "// Promise: durability#D1, durability#D2\npub fn lent(open: Open) {}\n",
        ),
    ];
    let text = &blessed(&sources)[0].text;
    let rows = "| D1 |  | [`lent`](../crates/a/src/conformance/live.rs) |\n\
                | D2 | it is kept here | [`kept`](../crates/a/tests/it/log.rs), \
                [`lent`](../crates/a/src/conformance/live.rs) |\n<!-- end of promises -->\nEnd.\n";
    assert!(text.ends_with(rows), "{text}");
    let [_, test, law] = sources;
    let written = [file("docs/durability.md", text), test, law];
    assert!(blessed(&written).is_empty());
    assert!(finds(
        &written,
        "durability.md:8: say the promise `D1` in 3"
    ));
}

#[test]
fn a_comment_above_imports_or_at_the_end_speaks_for_its_file() {
    for text in [
        "//! Tests.\n// Promise: durability#D1\nuse a::b;\n",
        "fn main() {}\n// Promise: durability#D1\n",
    ] {
        let row = "| D1 | it is kept here | [`log.rs`](../crates/a/tests/it/log.rs) |\n";
        let files = [guide("Kept. [D1]", row), file(TEST, text)];
        assert_eq!(messages(&files), Vec::<String>::new());
    }
}

#[test]
fn a_function_that_a_macro_makes_a_test_of_is_a_test() {
    let row = "| D1 | it is kept here | [`kept`](../crates/a/tests/it/log.rs) |\n";
    let text = "on_each! { kept }\n// Promise: durability#D1\nfn kept(rig: &Rig) {}\n";
    let files = [guide("Kept. [D1]", row), file(TEST, text)];
    assert_eq!(messages(&files), Vec::<String>::new());
}

#[test]
fn a_promise_without_a_test_or_a_row_is_found() {
    let row = "| D1 | it is kept here |  |\n";
    let found = "no test has the comment `// Promise: durability#D1`";
    assert!(finds(&[guide("Kept. [D1]", row)], found));
    let test = file(TEST, "// Promise: durability#D1\n#[test]\nfn kept() {}\n");
    assert!(finds(
        &[guide("Kept. [D1]", ""), test],
        "`D1` is not in the table"
    ));
}

#[test]
fn a_table_that_is_out_of_date_is_found() {
    let row = "| D1 | it is kept here | [`old`](../crates/a/tests/it/log.rs) |\n";
    let test = file(TEST, "// Promise: durability#D1\n#[test]\nfn kept() {}\n");
    assert!(finds(&[guide("Kept. [D1]", row), test], "out of date"));
    assert!(finds(&[guide("Kept.", row)], "the text has no `[D1]`"));
    let open = file("docs/a.md", "# A\n<!-- promises A -->\n");
    assert!(finds(&[open], "does not end"));
}

#[test]
fn a_comment_that_names_no_promise_or_no_test_is_found() {
    let test = file(TEST, "// Promise: durability#D9\n#[test]\nfn kept() {}\n");
    assert!(finds(&[test], "no guide has the promise `durability#D9`"));
    let row = "| D1 | it is kept here | [`kept`](../crates/a/tests/it/log.rs) |\n";
    for text in [
        "// Promise: durability#D1\nfn kept() {}\n",
        "// Promise: durability#D1\nstruct Kept;\n",
    ] {
        let files = [guide("Kept. [D1]", row), file(TEST, text)];
        let messages = messages(&files);
        assert!(
            messages
                .iter()
                .any(|text| text.contains("is not above a test")),
            "{messages:?}"
        );
    }
}
