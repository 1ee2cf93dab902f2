use std::error::Error;

use dflat::{Predicate, Value, Workspace};
use dflat_condition::{Parameters, predicate};

dflat::include_schema!("task");

/// The titles of the tasks that meet a condition.
fn search(workspace: &Workspace, text: &str) -> Result<Vec<Option<String>>, Box<dyn Error>> {
    let parameters = Parameters::new().with("word", Value::text("milk"));
    let condition = predicate(text, &Task::TABLE, &parameters)?;
    let condition = Predicate::<Task>::from_bytes(&condition.to_bytes())?;
    let found = workspace.fetch::<Task>().filter(condition);
    Ok(found.select(Task::TITLE)?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let workspace = Workspace::in_memory();
    workspace.perform_changes_blocking([Task::TABLE], |tx| {
        for (id, title) in (1..).zip(["buy milk", "call Ada", "milk the cow"]) {
            tx.submit(TaskChangeRequest::creation(TaskData {
                id,
                title: Some(title.to_owned()),
                done: id == 3,
            }))?;
        }
        Ok(())
    })?;

    // Conditions as a user may type them; `:word` stands for a value of the program.
    for text in [
        "title.contains(:word) && done == false",
        "titel == \"call Ada\"",
        "done = true",
    ] {
        match search(&workspace, text) {
            Ok(titles) => println!("{titles:?}"),
            Err(error) => println!("{error}"),
        }
    }
    Ok(workspace.shutdown()?)
}
