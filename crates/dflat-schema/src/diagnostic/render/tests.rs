use super::*;
use crate::diagnostic::{Label, code};
use crate::source::Loaded;

/// Renders an error with labels on parts of a text; the first label is the primary one.
fn rendered(text: &str, labels: &[(Range<usize>, &str)]) -> String {
    let mut sources = Sources::default();
    let file = sources.add(Loaded {
        path: "a.fbs".to_owned(),
        text: text.to_owned(),
    });
    let mut labels = labels.iter().map(|(range, text)| Label {
        span: Span {
            file,
            range: range.clone(),
        },
        text: (*text).to_owned(),
    });
    let mut diagnostic = Diagnostic::error(code::SYNTAX, "wrong");
    diagnostic.primary = labels.next();
    diagnostic.secondary = labels.collect();
    diagnostic.render(&sources, Style::Plain)
}

/// Compares the rows below the one with the position.
fn check(text: &str, labels: &[(Range<usize>, &str)], expected: &[&str]) {
    let rendered = rendered(text, labels);
    let rows: Vec<&str> = rendered.lines().skip(3).collect();
    assert_eq!(rows, expected, "{rendered}");
}

#[test]
fn marks_stand_below_wide_characters_and_tabs() {
    check(
        "\u{6f22}\u{5b57} b",
        &[(7..8, "here")],
        &["1 | \u{6f22}\u{5b57} b", "  |      ^ here"],
    );
    check("\ta b", &[(3..4, "")], &["1 |     a b", "  |       ^"]);
}

#[test]
fn control_characters_are_shown_as_pictures() {
    check(
        "a\u{1b}[2J\u{202e}b",
        &[(0..1, "")],
        &["1 | a\u{241b}[2J\u{fffd}b", "  | ^"],
    );
}

#[test]
fn texts_that_do_not_fit_beside_the_marks_hang_below() {
    check(
        "ab cd ef",
        &[(6..8, "third"), (0..2, "first"), (3..5, "second")],
        &[
            "1 | ab cd ef",
            "  | -- -- ^^ third",
            "  | |  |",
            "  | |  second",
            "  | first",
        ],
    );
}

#[test]
fn labels_at_one_place_keep_both_texts() {
    check(
        "ab",
        &[(0..2, "one"), (0..2, "two")],
        &["1 | ab", "  | ^^ two", "  | |", "  | one"],
    );
}

#[test]
fn label_over_several_lines_marks_the_rest_of_its_first_line() {
    check("a b\nc d", &[(2..6, "")], &["1 | a b", "  |   ^"]);
}

#[test]
fn label_at_the_end_of_the_file_stands_behind_the_last_line() {
    check("a b\n", &[(4..4, "end")], &["1 | a b", "  |    ^ end"]);
    check("", &[(0..0, "end")], &["1 |", "  | ^ end"]);
}

#[test]
fn long_line_is_cut_around_its_label() {
    let text = format!("{}here{}", "a".repeat(300), "b".repeat(300));
    let rendered = rendered(&text, &[(300..304, "text")]);
    let rows: Vec<&str> = rendered.lines().skip(3).collect();
    assert!(rows[0].starts_with("1 | ...aaa") && rows[0].ends_with("bbb..."));
    assert_eq!(rows[0].find("here"), rows[1].find("^^^^"), "{rendered}");
}

#[test]
fn line_that_is_too_long_to_quote_has_a_position_only() {
    let text = "a".repeat(LINE_BYTES_MAX + 1);
    let rendered = rendered(&text, &[(7..8, "text")]);
    assert!(rendered.ends_with(" --> a.fbs:1:8"), "{rendered}");
}

#[test]
fn range_inside_a_character_is_rendered() {
    check(
        "\u{f6}\u{f6}",
        &[(1..3, "")],
        &["1 | \u{f6}\u{f6}", "  | ^"],
    );
}
