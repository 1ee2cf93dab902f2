use dflat::{Result, Workspace};

dflat::include_schema!("task");

/// Adds a task, as a handler of a server would.
async fn add(workspace: Workspace, id: u64) -> Result<()> {
    let added = workspace.perform_changes([Task::TABLE], move |tx| {
        tx.submit(TaskChangeRequest::upsert(TaskData {
            id,
            title: Some(format!("task {id}")),
            done: id.is_multiple_of(2),
        }))
    });
    added.await?;
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let workspace = Workspace::open("tasks.db")?;

    // A hundred tasks of the runtime write at the same time.
    let writers: Vec<_> = (1..=100)
        .map(|id| tokio::spawn(add(workspace.clone(), id)))
        .collect();
    for writer in writers {
        writer.await.map_err(dflat::Error::user)??;
    }

    // Reads run on threads of the library; this thread stays free for other tasks.
    let open = workspace.fetch::<Task>().filter(Task::DONE.eq(false));
    println!("open: {}", open.count_async().await?);
    println!("task 7: {:?}", workspace.get_async::<Task>(7).await?);

    workspace.backup_async("copy.db").await?;
    workspace.shutdown_async().await
}
