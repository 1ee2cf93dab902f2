use dflat::{Predicate, Result, Workspace};

dflat::include_schema!("task");

fn main() -> Result<()> {
    let workspace = Workspace::in_memory();
    workspace.perform_changes_blocking([Task::TABLE], |tx| {
        for (id, title) in [(1, "buy milk"), (2, "call Ada")] {
            tx.submit(TaskChangeRequest::creation(TaskData {
                id,
                title: Some(title.to_owned()),
                done: false,
            }))?;
        }
        Ok(())
    })?;

    // The user names a search; the program keeps its condition as bytes.
    let condition = Task::DONE.eq(false) & Task::TITLE.contains("milk");
    let searches = workspace.dictionary();
    searches.set("milk to buy", condition.to_bytes()?)?;

    // Later, the program reads the condition back.
    let bytes: Vec<u8> = searches.get("milk to buy")?.expect("it was stored");
    let condition = Predicate::<Task>::from_bytes(&bytes)?;
    println!("{} bytes: {condition}", bytes.len());
    for task in &workspace.fetch::<Task>().filter(condition).all()? {
        println!("{}: {}", task.id(), task.title().unwrap_or_default());
    }

    // Bytes of another form are an error.
    if let Err(error) = Predicate::<Task>::from_bytes(b"milk") {
        println!("{error}");
    }
    workspace.shutdown()
}
