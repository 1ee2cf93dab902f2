use dflat::{Result, Workspace};

dflat::include_schema!("task");

fn main() -> Result<()> {
    let workspace = Workspace::in_memory();
    let titles = ["buy milk", "call Ada", "sell the milk jug", "milk the cow"];
    workspace.perform_changes_blocking([Task::TABLE], |tx| {
        for (id, title) in (1..).zip(titles) {
            tx.submit(TaskChangeRequest::creation(TaskData {
                id,
                title: Some(title.to_owned()),
                done: id == 4,
            }))?;
        }
        Ok(())
    })?;

    let open = || workspace.fetch::<Task>().filter(Task::DONE.eq(false));
    let found = open()
        .filter(Task::TITLE.ignore_case().contains("MILK"))
        .order_by(Task::ID.descending())
        .limit(10)
        .all()?;
    for task in &found {
        println!("{}: {}", task.id(), task.title().unwrap_or_default());
    }
    println!(
        "{} of {} are open",
        open().count()?,
        workspace.fetch::<Task>().count()?
    );
    println!("read by: {}", open().explain()?);
    Ok(())
}
