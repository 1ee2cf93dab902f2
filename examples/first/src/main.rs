use dflat::{Result, Workspace};

dflat::include_schema!("task");

fn main() -> Result<()> {
    let workspace = Workspace::open("tasks.db")?;

    // The subscriber is called with the result, and after each commit that changes the result.
    let open_tasks = workspace.fetch::<Task>().filter(Task::DONE.eq(false));
    let subscription = workspace.subscribe(open_tasks, |tasks| match tasks {
        Ok(tasks) => println!("to do: {:?}", titles(&tasks)),
        Err(error) => eprintln!("{error}"),
    })?;

    // A transaction that reads and then writes. Its handler runs on a background thread, and once
    // more if another process has committed in between; `wait` waits for the commit.
    let id = workspace
        .perform_changes_retrying([Task::TABLE], |tx| {
            let id = tx.fetch::<Task>().max(Task::ID)?.unwrap_or(0) + 1;
            tx.submit(TaskChangeRequest::creation(TaskData {
                id,
                title: Some(format!("task {id}")),
                ..TaskData::default()
            }))?;
            Ok(id)
        })
        .wait()?;

    println!("stored: {:?}", workspace.get::<Task>(id)?);
    subscription.cancel();
    workspace.shutdown()
}

fn titles(tasks: &[Task]) -> Vec<&str> {
    tasks.iter().filter_map(Task::title).collect()
}
