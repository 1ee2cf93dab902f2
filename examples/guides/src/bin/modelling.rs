use dflat::{Result, Workspace};

dflat::include_schema!("subtask");

fn main() -> Result<()> {
    let workspace = Workspace::in_memory();
    let tasks = [
        (1, "cook", None),
        (2, "buy milk", Some(1)),
        (3, "buy flour", Some(1)),
    ];
    workspace.perform_changes_blocking([Task::TABLE], |tx| {
        for (id, title, parent) in tasks {
            tx.submit(TaskChangeRequest::creation(TaskData {
                id,
                title: Some(title.to_owned()),
                parent,
            }))?;
        }
        Ok(())
    })?;

    // A reference is a key; the other direction is an index.
    let milk = workspace.get::<Task>(2)?.expect("it was stored");
    if let Some(parent) = milk.parent() {
        println!("{:?}", workspace.get::<Task>(parent)?);
    }
    let parts = workspace.fetch::<Task>().filter(Task::PARENT.eq(1));
    println!("{:?}", parts.select(Task::TITLE)?);

    // A deletion takes the parts along in the same transaction.
    let deleted = workspace.perform_changes_blocking_retrying([Task::TABLE], |tx| {
        tx.delete_where(Task::ID.eq(1) | Task::PARENT.eq(1))
    })?;
    println!("{deleted} deleted");
    workspace.shutdown()
}
