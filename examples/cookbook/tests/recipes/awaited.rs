//! Recipes for asynchronous programs.

use std::time::Duration;

use cookbook::{Note, State};
use dflat::{Result, Workspace};

use crate::{some_notes, titles};

/// Reads what a start page shows: three reads of one state, made at the same time.
async fn start_page(workspace: &Workspace) -> Result<(usize, Vec<Note>, Option<Note>)> {
    let snapshot = workspace.snapshot_async().await?;
    let open = snapshot.fetch::<Note>().filter(Note::STATE.eq(State::Open));
    let newest = snapshot
        .fetch::<Note>()
        .order_by(Note::CREATED.descending())
        .limit(2);
    let (open, newest, first) = futures::future::try_join3(
        open.count_async(),
        newest.all_async(),
        snapshot.get_async::<Note>(1),
    )
    .await?;
    Ok((open, newest.to_vec(), first))
}

#[test]
fn start_page_has_three_results() -> Result<()> {
    let workspace = some_notes()?;
    let (open, newest, first) = futures::executor::block_on(start_page(&workspace))?;
    assert_eq!(open, 1);
    assert_eq!(titles(&newest), ["apples", "report"]);
    assert_eq!(first.map(|note| note.id()), Some(1));
    Ok(())
}

/// Finds notes, or returns `None` if that takes too long; the read ends then.
async fn find_in_time(
    workspace: &Workspace,
    text: &str,
    limit: Duration,
) -> Result<Option<Vec<Note>>> {
    let notes = workspace.fetch::<Note>().filter(Note::BODY.contains(text));
    match tokio::time::timeout(limit, notes.all_async()).await {
        Ok(notes) => Ok(Some(notes?.to_vec())),
        Err(_) => Ok(None),
    }
}

#[test]
fn a_read_is_given_up_after_its_time() -> Result<()> {
    let workspace = some_notes()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let found = runtime.block_on(find_in_time(&workspace, "x", Duration::from_secs(600)))?;
    assert!(found.unwrap().is_empty());
    Ok(())
}
