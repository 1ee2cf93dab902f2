//! Hostile text neither panics nor overflows a small stack.

use std::thread;

use dflat_condition::{ConditionErrorKind, Parameters, TEXT_BYTES_MAX, orders, predicate};
use dflat_testkit::fuzz::condition::check_text;
use dflat_testkit::schema::Sample;

/// Runs a check on a thread with a stack of 1 MiB, half of what Rust gives a thread.
fn on_small_stack(check: impl FnOnce() + Send + 'static) {
    let thread = thread::Builder::new().stack_size(1024 * 1024);
    thread.spawn(check).unwrap().join().unwrap();
}

fn kind(text: &str) -> ConditionErrorKind {
    let found = predicate(text, &Sample::TABLE, &Parameters::new());
    found.unwrap_err().kind()
}

#[test]
fn nested_text_of_any_depth_is_refused() {
    on_small_stack(|| {
        for (open, middle, close) in [
            ("(", "rank == 1", ")"),
            ("!", "(rank == 1)", ""),
            ("-", "rank == 1", ""),
            ("tree.children.any(", "name == \"a\"", ")"),
            ("tags.any(", "it == \"a\"", ")"),
            ("rank + (", "1", ")"),
            ("1 + ", "rank == 1", ""),
            ("", "rank", ".len"),
            ("rank == 1 || rank == 1 && (", "rank == 1", ")"),
        ] {
            for depth in [30, 60, 65, 5_000] {
                let text = open.repeat(depth) + middle + &close.repeat(depth);
                check_text(&text);
                if depth > 64 {
                    assert_eq!(kind(&text), ConditionErrorKind::TooLarge, "{open}");
                }
            }
        }
    });
}

#[test]
fn long_chains_of_conditions_are_no_nesting() {
    on_small_stack(|| {
        let text = vec!["rank == 1"; 20_000].join(" && ");
        let read = predicate(&text, &Sample::TABLE, &Parameters::new()).unwrap();
        assert_eq!(read.depth(), 2);
        let text = vec!["rank desc"; 5_000].join(", ");
        let read = orders(&text, &Sample::TABLE, &Parameters::new()).unwrap();
        assert_eq!(read.len(), 5_000);
    });
}

#[test]
fn condition_within_the_limit_of_nesting_is_accepted() {
    on_small_stack(|| {
        let text = "(".repeat(29) + "!(rank == 1)" + &")".repeat(29);
        assert!(predicate(&text, &Sample::TABLE, &Parameters::new()).is_ok());
    });
}

#[test]
fn text_beyond_the_limit_of_length_is_refused() {
    let text = " ".repeat(TEXT_BYTES_MAX + 1);
    assert_eq!(kind(&text), ConditionErrorKind::TooLarge);
    assert_eq!(kind(&text[1..]), ConditionErrorKind::Syntax);
    check_text(&"a".repeat(TEXT_BYTES_MAX));
}
