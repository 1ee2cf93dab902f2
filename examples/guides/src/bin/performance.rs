use std::time::Instant;

use dflat::{Result, Workspace};

dflat::include_schema!("task");

fn task(id: u64) -> TaskChangeRequest {
    TaskChangeRequest::creation(TaskData {
        id,
        title: Some(format!("task {id}")),
        done: id <= 5_000,
    })
}

fn main() -> Result<()> {
    let workspace = Workspace::open("many.db")?;
    workspace
        .perform_changes_blocking_retrying([Task::TABLE], |tx| tx.delete_where(Task::ID.gt(0)))?;

    let start = Instant::now();
    for id in 1..=100 {
        workspace.perform_changes_blocking([Task::TABLE], |tx| tx.submit(task(id)))?;
    }
    eprintln!("100 transactions of one task: {:?}", start.elapsed());

    let start = Instant::now();
    workspace.perform_changes_blocking([Task::TABLE], |tx| {
        (101..=10_000).try_for_each(|id| tx.submit(task(id)).map(drop))
    })?;
    eprintln!("one transaction of 9,900 tasks: {:?}", start.elapsed());

    let open = || workspace.fetch::<Task>().filter(Task::DONE.eq(false));
    println!(
        "{} open tasks, counted by: {}",
        open().count()?,
        open().explain()?
    );
    let titled = workspace.fetch::<Task>().filter(Task::TITLE.eq("task 77"));
    println!("by title: {}", titled.explain()?);
    workspace.shutdown()
}
