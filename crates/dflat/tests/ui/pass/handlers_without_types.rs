//! Handlers that name no error type: the library's error is theirs.
#![allow(dead_code)]

#[path = "../../../../dflat-codegen/tests/data/post/rust.rs"]
mod post;

use dflat::{Performer, Result, TransactionContext, TransactionHandle, Workspace};
use post::{Post, PostChangeRequest, PostData};

struct App {
    pending: Vec<TransactionHandle<()>>,
}

fn create(tx: &TransactionContext) -> Result<()> {
    tx.submit(PostChangeRequest::upsert(PostData::default()))?;
    Ok(())
}

fn all_forms(workspace: &Workspace) -> Result<()> {
    let mut app = App { pending: Vec::new() };
    app.pending.push(workspace.perform_changes([Post::TABLE], create));
    app.pending.push(workspace.perform_changes([Post::TABLE], |_| Ok(())));
    workspace.perform_changes([Post::TABLE], |tx| Ok(tx.fetch::<Post>().count()?)).detach();
    workspace.perform_changes_retrying([Post::TABLE], |tx| tx.get::<Post>("")).wait()?;
    workspace.perform_changes_blocking([Post::TABLE], |tx| {
        create(tx)?;
        tx.nested(|tx| create(tx))?;
        Ok(())
    })?;
    workspace.perform_changes_blocking_retrying([Post::TABLE], |_| Ok(()))?;
    let performer: Performer<'_> = workspace.write_first();
    performer.perform_changes([Post::TABLE], create).on_completion(|outcome| outcome.unwrap());
    app.pending.into_iter().try_for_each(|handle| handle.wait())
}

fn main() {
    all_forms(&Workspace::in_memory()).unwrap();
}
