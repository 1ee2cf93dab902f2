use dflat::history::Step;
use dflat::{Result, Workspace};

dflat::include_schema!("task");

/// Stores a task, as a step with a label.
fn store(workspace: &Workspace, label: &str, title: &str, done: bool) -> Result<()> {
    workspace.perform_changes_blocking([Task::TABLE], |tx| {
        tx.set_label(label);
        let data = TaskData {
            id: 1,
            title: Some(title.to_owned()),
            done,
        };
        tx.submit(TaskChangeRequest::upsert(data)).map(drop)
    })
}

fn show(workspace: &Workspace) -> Result<()> {
    match workspace.get::<Task>(1)? {
        Some(task) => println!("{:?}, done: {}", task.title().unwrap_or(""), task.done()),
        None => println!("no task"),
    }
    Ok(())
}

fn main() -> Result<()> {
    let workspace = Workspace::builder("tasks.db")
        .versioned::<Task>()
        .author("Ann")
        .open()?;
    store(&workspace, "add", "dig", false)?;
    store(&workspace, "rename", "dig deep", false)?;
    store(&workspace, "finish", "dig deep", true)?;
    show(&workspace)?;

    let history = workspace.history();
    while let Some(undone) = history.undo()? {
        println!("undone: {}", undone.label.unwrap_or_default());
        show(&workspace)?;
    }
    history.redo()?;
    history.redo()?;
    show(&workspace)?;

    // A new change ends the redo.
    store(&workspace, "finish", "dig a hole", true)?;
    assert_eq!(history.redo()?, None);

    for step in history.log() {
        let Step {
            id, note, label, ..
        } = step?;
        println!("{} {} {note:?}", id.0, label.unwrap_or_default());
    }
    let blamed = history.blame::<Task>(1)?;
    println!("{} steps have changed the task", blamed.len());
    Ok(())
}
