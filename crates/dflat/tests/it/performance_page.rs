//! The code of `docs/performance.md` runs.

use dflat::{Object, Result, Workspace};

use crate::concurrency_page::{add, add_title};
use crate::live_queries::squeeze;
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
    let source = squeeze(include_str!("performance_page.rs"));
    // The first two blocks are the program that `examples/guides` tests.
    let blocks: Vec<&str> = PAGE.split("```rust\n").skip(3).collect();
    for block in &blocks {
        let block = block.split("```").next().unwrap();
        assert!(
            source.contains(&squeeze(block)),
            "compiled nowhere:\n{block}"
        );
    }
    assert_eq!(blocks.len(), 4);
}
