use dflat::{Result, Workspace};

dflat::include_schema!("task_due");

fn main() -> Result<()> {
    // The file of the program in README, written with the schema without `due`.
    let workspace = Workspace::open("tasks.db")?;
    let before = workspace.fetch::<Task>().all()?;
    println!("{before:?}");

    workspace.perform_changes_blocking_retrying([Task::TABLE], |tx| {
        tx.update_where(Task::DUE.eq(-1), |task| task.due = 1_800_000_000)
    })?;
    for task in &workspace.fetch::<Task>().all()? {
        println!("{} is due at {}", task.id(), task.due());
    }
    workspace.shutdown()
}
