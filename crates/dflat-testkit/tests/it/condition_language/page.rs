//! The examples of `docs/condition-language.md`: conditions and orders are read, errors are shown
//! as the page shows them, and programs are the code below.

use dflat::Workspace;
use dflat_condition::{Parameters, fields, orders, predicate};
use dflat_model::Value;
use dflat_testkit::post::Post;

const PAGE: &str = include_str!("../../../../../docs/condition-language.md");

/// The contents of the page's blocks of a language.
fn blocks(language: &str) -> Vec<&'static str> {
    let opening = format!("```{language}\n");
    let blocks = PAGE.split(opening.as_str()).skip(1);
    let blocks: Vec<&str> = blocks
        .map(|rest| rest.split("```").next().unwrap())
        .collect();
    assert!(!blocks.is_empty(), "no block of {language}");
    blocks
}

fn parameters() -> Parameters {
    Parameters::new()
        .with(1, Value::Int(100))
        .with("least", Value::Int(100))
        .with("colors", vec![Value::text("Red")])
}

#[test]
fn conditions_of_the_page_are_read() {
    let workspace = Workspace::in_memory();
    let lines = blocks("condition").into_iter().flat_map(str::lines);
    for text in lines {
        let read = predicate(text, &Post::TABLE, &parameters());
        let read = read.unwrap_or_else(|error| panic!("{}", error.render(text)));
        let read = dflat::Predicate::<Post>::from_bytes(&read.to_bytes()).unwrap();
        assert_eq!(workspace.fetch::<Post>().filter(read).count().unwrap(), 0);
    }
}

#[test]
fn conditions_of_one_line_of_the_page_are_the_same() {
    for block in blocks("same") {
        let read = block.lines().map(|text| {
            let read = predicate(text, &Post::TABLE, &parameters());
            let read = read.unwrap_or_else(|error| panic!("{}", error.render(text)));
            read.to_bytes()
        });
        let read: Vec<Vec<u8>> = read.collect();
        assert!(
            read.len() > 1 && read.iter().all(|bytes| bytes == &read[0]),
            "{block}"
        );
    }
}

#[test]
fn orders_and_fields_of_the_page_are_read() {
    for text in blocks("order").into_iter().flat_map(str::lines) {
        let read = orders(text, &Post::TABLE, &parameters()).unwrap();
        assert!(!read.is_empty(), "{text}");
    }
    for text in blocks("fields").into_iter().flat_map(str::lines) {
        let read = fields(text, &Post::TABLE, &parameters()).unwrap();
        assert!(!read.is_empty(), "{text}");
    }
}

#[test]
fn errors_are_shown_as_on_the_page() {
    for block in blocks("error") {
        let line = block.lines().nth(1).unwrap();
        let text = line.strip_prefix("  ").unwrap();
        let error = predicate(text, &Post::TABLE, &Parameters::new()).unwrap_err();
        assert_eq!(error.render(text), block);
    }
}

/// The program of the page.
// page: begin
fn urgent_posts(workspace: &Workspace, text: &str) -> Result<usize, Box<dyn std::error::Error>> {
    let parameters = Parameters::new().with("least", Value::Int(100));
    let condition = predicate(text, &Post::TABLE, &parameters)?;
    let condition = dflat::Predicate::<Post>::from_bytes(&condition.to_bytes())?;
    Ok(workspace.fetch::<Post>().filter(condition).count()?)
}
// page: end

#[test]
fn program_of_the_page_counts_objects() {
    let code = include_str!("page.rs")
        .split("// page: begin\n")
        .nth(1)
        .unwrap();
    let code = code.split("// page: end").next().unwrap();
    assert!(blocks("rust").contains(&code), "{code}");
    let workspace = Workspace::in_memory();
    assert_eq!(urgent_posts(&workspace, "priority > :least").unwrap(), 0);
    let wrong = urgent_posts(&workspace, "prioritty > 1").unwrap_err();
    assert!(wrong.to_string().contains("did you mean `priority`?"));
}
