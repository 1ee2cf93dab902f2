use dflat::{Result, Step, Workspace};

dflat::include_schema!("task");

fn main() -> Result<()> {
    let workspace = Workspace::in_memory();

    // The subscriber keeps a list up to date, step by step, as a widget does.
    let open = workspace.fetch::<Task>().filter(Task::DONE.eq(false));
    let mut list: Vec<String> = Vec::new();
    let subscription = workspace.subscribe(open, move |update| match update {
        Ok(update) => {
            let line = |position: usize| update[position].title().unwrap_or_default().to_owned();
            for step in update.difference().steps() {
                println!("{step:?}");
                match step {
                    Step::Remove(at) => drop(list.remove(at)),
                    Step::Insert(at) => list.insert(at, line(at)),
                    Step::Update(at) => list[at] = line(at),
                }
            }
            println!("{list:?}");
        }
        Err(error) => eprintln!("{error}"),
    })?;

    for (id, title) in [(1, "buy milk"), (2, "call Ada")] {
        workspace.perform_changes_blocking([Task::TABLE], |tx| {
            tx.submit(TaskChangeRequest::creation(TaskData {
                id,
                title: Some(title.to_owned()),
                done: false,
            }))
        })?;
    }
    workspace.perform_changes_blocking_retrying([Task::TABLE], |tx| {
        tx.update_where(Task::ID.eq(1), |task| task.done = true)
    })?;
    workspace.settle()?; // Wait until the subscriber has been called for all commits.
    subscription.cancel();
    workspace.shutdown()
}
