//! The code of `docs/durability.md` runs.

use dflat::{Durability, Result, Workspace};

use crate::concurrency_page::add_title;
use crate::guide_page::check_blocks;
use crate::post::Post;

const PAGE: &str = include_str!("../../../../docs/durability.md");

#[test]
fn examples_of_the_durability_page_run() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let path = folder.join("posts.dflat");
    let workspace = Workspace::builder(&path)
        .durability(Durability::Normal)
        .open()?;
    let saved = workspace.perform_changes([Post::TABLE], |tx| {
        tx.set_durability(Durability::Full);
        add_title(tx, "must not be lost")
    });
    saved.wait()?;
    workspace.backup(folder.join("copy.dflat"))?;

    workspace.suspend()?;
    workspace.resume();

    if !workspace.check([Post::TABLE])?.is_sound() {
        workspace.repair([Post::TABLE])?;
    }
    workspace.shutdown()?;
    Workspace::salvage(&path, folder.join("saved.dflat"), [Post::TABLE])?;
    for name in ["copy.dflat", "saved.dflat"] {
        let other = Workspace::open(folder.join(name))?;
        let post = other.fetch::<Post>().first()?;
        assert_eq!(post.unwrap().title(), "must not be lost");
        other.shutdown()?;
    }
    Ok(())
}

#[test]
fn every_block_of_the_page_is_in_this_file() {
    check_blocks(PAGE, include_str!("durability_page.rs"), 4);
}
