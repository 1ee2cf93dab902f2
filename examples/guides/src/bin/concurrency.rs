use std::thread;

use dflat::{ErrorKind, Result, TransactionContext, Workspace};

dflat::include_schema!("task");

/// Adds a task with the next free number.
fn add(tx: &TransactionContext) -> Result<u64> {
    let id = tx.fetch::<Task>().max(Task::ID)?.unwrap_or(0) + 1;
    tx.submit(TaskChangeRequest::creation(TaskData {
        id,
        ..TaskData::default()
    }))?;
    Ok(id)
}

fn main() -> Result<()> {
    let workspace = Workspace::in_memory();

    // Four threads add tasks. Each transaction reads and writes as one step.
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..25 {
                    // The handler runs on a thread of the workspace; a workspace may be shared.
                    // It runs again if another process commits between its read and its write.
                    let handle = workspace.perform_changes_retrying([Task::TABLE], add);
                    handle.wait().expect("a task should be added");
                }
            });
        }
    });
    println!("{} tasks", workspace.fetch::<Task>().count()?);

    // A handler that returns an error changes nothing.
    let failed = workspace.perform_changes_retrying([Task::TABLE], |tx| {
        tx.delete_where(Task::ID.gt(1))?;
        tx.submit(TaskChangeRequest::creation(TaskData {
            id: 1,
            ..TaskData::default()
        }))
    });
    let error = failed.wait().expect_err("task 1 exists");
    println!("{error}");
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    println!("{} tasks", workspace.fetch::<Task>().count()?);
    workspace.shutdown()
}
