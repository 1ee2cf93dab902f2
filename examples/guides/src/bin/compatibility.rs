use dflat::{ErrorKind, Result, SubscribedObject, Workspace};

dflat::include_schema!("task");

fn main() -> Result<()> {
    // A file that Dflat for Swift wrote is opened in the same way.
    let workspace = Workspace::open("shared.db")?;

    // Swift: workspace.performChanges([Task.self], changesHandler: { transactionContext in .. })
    let created = workspace.perform_changes([Task::TABLE], |tx| {
        tx.submit(TaskChangeRequest::creation(TaskData {
            id: 1,
            title: Some("buy milk".to_owned()),
            done: false,
        }))
    });
    println!("{:?}", created.wait()?);

    // Swift: workspace.fetch(for: Task.self).where(Task.done == false)
    let open = workspace
        .fetch::<Task>()
        .filter(Task::DONE.eq(false))
        .all()?;

    // Swift: workspace.subscribe(object: task) { .. }
    let subscription = workspace.subscribe(&open[0], |event| match event {
        SubscribedObject::Updated(task) => println!("now {task:?}"),
        SubscribedObject::Deleted => println!("deleted"),
    })?;

    // Swift: TaskChangeRequest.changeRequest(task)
    let task = open[0].clone();
    let changed = workspace.perform_changes_retrying([Task::TABLE], move |tx| {
        if let Some(mut request) = TaskChangeRequest::change(tx, &task)? {
            request.done = true;
            tx.submit(request)?;
        }
        Ok(())
    });
    changed.wait()?;

    // Swift: TaskChangeRequest.deletionRequest(task)
    let task = open[0].clone();
    let deleted = workspace.perform_changes_retrying([Task::TABLE], move |tx| {
        if let Some(request) = TaskChangeRequest::deletion(tx, &task)? {
            tx.submit(request)?;
        }
        Ok(())
    });
    deleted.wait()?;

    subscription.cancel();
    workspace.shutdown()?;
    let error = workspace.fetch::<Task>().all().expect_err("it is closed");
    assert_eq!(error.kind(), ErrorKind::ShutDown);
    Ok(())
}
