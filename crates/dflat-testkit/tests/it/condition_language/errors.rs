//! Every error, as it is shown to people. `UPDATE_EXPECT=1` writes the file again.

use std::fmt::Write as _;

use dflat_condition::{ConditionError, Parameters, orders, predicate};
use dflat_model::Value;
use dflat_testkit::schema::{Bag, Sample};
use expect_test::expect_file;

const CONDITIONS: &str = include_str!("../../data/wrong_conditions.txt");

#[test]
fn errors_point_at_their_place_and_say_how_to_mend_it() {
    let parameters = Parameters::new()
        .with(1, Value::text("x"))
        .with(2, Value::Int(1 << 40))
        .with(3, vec![Value::Int(1)]);
    let mut shown = String::new();
    for text in CONDITIONS.lines() {
        let found = match text.strip_prefix("order by ") {
            Some(order) => shown_error(order, orders(order, &Sample::TABLE, &parameters)),
            None => {
                let table = match text.starts_with("tree") {
                    true => &Bag::TABLE,
                    false => &Sample::TABLE,
                };
                shown_error(text, predicate(text, table, &parameters))
            }
        };
        writeln!(shown, "{found}").unwrap();
    }
    expect_file!["../../data/condition_errors.txt"].assert_eq(&shown);
}

fn shown_error<T: std::fmt::Debug>(text: &str, found: Result<T, ConditionError>) -> String {
    let error = found.expect_err(text);
    format!(
        "{:?} at {}: {}",
        error.kind(),
        error.start(),
        error.render(text)
    )
}

#[test]
fn column_counts_characters_and_the_place_counts_bytes() {
    let text = "name == \"é文\" &&\n  name == \"é文\" && nam == \"\"";
    let error = predicate(text, &Sample::TABLE, &Parameters::new()).unwrap_err();
    assert_eq!((error.line(), error.column()), (2, 19));
    assert_eq!(&text[error.start()..error.end()], "nam");
    assert!(
        error.to_string().starts_with("line 2, column 19: "),
        "{error}"
    );
    let shown = error.render(text);
    let mark = shown.lines().nth(2).unwrap();
    assert_eq!(mark, format!("{}^^^", " ".repeat(2 + 18)));
}

#[test]
fn text_cannot_control_a_terminal() {
    let text = "name == \"\u{1b}[31m\u{202e}\" && \u{1b}";
    let error = predicate(text, &Sample::TABLE, &Parameters::new()).unwrap_err();
    let shown = error.render(text) + &error.to_string();
    assert!(!shown.contains(['\u{1b}', '\u{202e}']), "{shown:?}");
    let long = format!("{} nam", "name == \"a\" && ".repeat(50));
    let error = predicate(&long, &Sample::TABLE, &Parameters::new()).unwrap_err();
    let shown = error.render(&long);
    assert!(
        shown.lines().all(|line| line.chars().count() < 140),
        "{shown}"
    );
    assert!(shown.lines().nth(1).unwrap().starts_with("  …"), "{shown}");
}
