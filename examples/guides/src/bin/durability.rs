use dflat::{Durability, Result, Workspace};

dflat::include_schema!("task");

fn main() -> Result<()> {
    let workspace = Workspace::builder("safe.db")
        .durability(Durability::Full)
        .open()?;
    let id = 1;
    workspace.perform_changes_blocking([Task::TABLE], |tx| {
        tx.submit(TaskChangeRequest::upsert(TaskData {
            id,
            title: Some("survives a loss of power".to_owned()),
            done: false,
        }))
    })?;

    // A copy of the file, made while other threads may write.
    workspace.backup("safe.backup")?;
    let report = workspace.check([Task::TABLE])?;
    println!("sound: {}, rows: {}", report.is_sound(), report.rows);
    workspace.shutdown()?;

    let backup = Workspace::builder("safe.backup").read_only(true).open()?;
    println!("{:?}", backup.get::<Task>(id)?);
    backup.shutdown()
}
