//! The code of `docs/performance.md` runs.

use dflat::{Object, Result, Workspace};

use crate::concurrency_page::{add, add_title};
use crate::guide_page::check_blocks;
use crate::post::Post;

const PAGE: &str = include_str!("../../../../docs/performance.md");

#[test]
fn examples_of_the_performance_page_run() -> Result<()> {
    let workspace = Workspace::in_memory();
    let titles = ["a", "b"].map(String::from);
    workspace.perform_changes_blocking([Post::TABLE], |tx| {
        titles.iter().try_for_each(|title| add_title(tx, title))
    })?;

    let queued: Vec<_> = (0..100)
        .map(|number| workspace.perform_changes([Post::TABLE], move |tx| add(tx, number)))
        .collect();
    for transaction in queued {
        transaction.wait()?;
    }

    let snapshot = workspace.snapshot()?;
    let found = titles.iter().map(|title| snapshot.get::<Post>(title));
    let found = found.collect::<Result<Vec<_>>>()?;
    assert!(found.iter().all(Option::is_some));

    let kept: Option<Post> = workspace.get::<Post>("a")?.map(|post| post.detach());
    assert_eq!(kept.unwrap().title(), "a");
    assert_eq!(workspace.fetch::<Post>().count()?, 102);
    Ok(())
}

#[test]
fn every_block_of_the_page_is_in_this_file() {
    check_blocks(PAGE, include_str!("performance_page.rs"), 4);
}
