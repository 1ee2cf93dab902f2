//! The code of `docs/postgres.md` and of `docs/backends.md` runs.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use dflat::{OnConflict, Result, Workspace};
use dflat_testkit::fixture::{bounded, next};
use dflat_testkit::post::{Post, PostChangeRequest, PostData};

use crate::engines::is_skipped;
use crate::server::{server, sql};

const PAGE: &str = include_str!("../../../../docs/postgres.md");
const BACKENDS: &str = include_str!("../../../../docs/backends.md");

fn program(shown: Sender<usize>) -> Result<()> {
    let address = server().unwrap().address();
    let workspace = Workspace::connect(&address)?;
    let list = workspace.fetch::<Post>().filter(Post::PRIORITY.gt(5));
    let subscription = workspace.subscribe(list, move |update| {
        if let Ok(update) = update {
            // Called for the commits of every program on the server.
            let _ = shown.send(update.result().len());
        }
    })?;
    workspace.perform_changes_blocking([Post::TABLE], |tx| {
        tx.submit(PostChangeRequest::upsert(PostData {
            title: "first post".into(),
            priority: 7,
            ..PostData::default()
        }))
    })?;
    let urgent = workspace
        .fetch::<Post>()
        .filter(Post::PRIORITY.gt(5))
        .all()?;
    assert_eq!(urgent[0].title(), "first post");
    drop(subscription);
    workspace.shutdown()
}

fn options() -> Result<usize> {
    let address = server().unwrap().address();
    let workspace = Workspace::server(&address)
        .schema("posts")
        .readers_max(8)
        .busy_timeout(Duration::from_secs(5))
        .open()?;
    workspace.fetch::<Post>().count()
}

fn moved(directory: &Path, address: &str) -> Result<()> {
    let told = Cell::new((0, 0));
    let show = |done: u64, total: u64| told.set((done, total));
    let file = Workspace::open(directory.join("posts.db"))?;
    let posts = ["b", "a"].map(|title| PostData {
        title: title.into(),
        ..PostData::default()
    });
    file.perform_changes_blocking([Post::TABLE], |tx| {
        posts
            .into_iter()
            .try_for_each(|post| tx.submit(PostChangeRequest::creation(post)).map(drop))
    })?;
    let workspace = Workspace::server(address).schema("moved").open()?;
    let copied = file
        .copy_to(&workspace)
        .of::<Post>()
        .dictionary()
        .on_progress(|state| {
            show(state.done, state.total);
            ControlFlow::Continue(())
        })
        .run()?;
    assert_eq!(copied.inserted, 2);
    assert_eq!(told.get(), (2, 2));
    let titles = |workspace: &Workspace| -> Result<Vec<String>> {
        let posts = workspace.fetch::<Post>().all()?;
        Ok(posts.iter().map(|post| post.title().to_owned()).collect())
    };
    assert_eq!(titles(&workspace)?, ["b", "a"]);
    // And back, to another file.
    let other = Workspace::open(directory.join("other.db"))?;
    assert_eq!(workspace.copy_to(&other).of::<Post>().run()?.inserted, 2);
    assert_eq!(titles(&other)?, ["b", "a"]);
    // By a pack.
    let pack = workspace.fetch::<Post>().pack(directory)?;
    pack.verify()?;
    let imported = file.import::<Post>(&pack, OnConflict::Keep)?;
    assert_eq!(imported.kept, 2);
    Ok(())
}

fn backends(folder: &Path) -> Result<()> {
    let memory = Workspace::in_memory();
    let file = Workspace::open(folder.join("posts.db"))?;
    for workspace in [&memory, &file] {
        workspace.perform_changes_blocking([Post::TABLE], |tx| {
            tx.submit(PostChangeRequest::upsert(PostData {
                title: "first post".into(),
                ..PostData::default()
            }))
        })?;
    }
    let pack = file.fetch::<Post>().pack(folder)?;
    assert_eq!(
        pack.get::<Post>("first post")?.map(|post| post.priority()),
        Some(0)
    );
    Ok(())
}

#[test]
fn objects_are_in_memory_in_a_file_and_in_a_pack() {
    let directory = tempfile::tempdir().unwrap();
    backends(directory.path()).unwrap();
}

#[test]
fn objects_are_moved_to_a_server_and_back() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let directory = tempfile::tempdir().unwrap();
        moved(directory.path(), &server().unwrap().address()).unwrap();
    });
}

#[test]
fn programs_of_the_page_run() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let (shown, list) = channel();
        program(shown).unwrap();
        while next(&list) != 1 {}
        assert_eq!(options().unwrap(), 0);
        // The tables are those of the page.
        let columns = "SELECT column_name FROM information_schema.columns WHERE \
                       table_schema = 'dflat' AND table_name = 'post' ORDER BY ordinal_position";
        let columns = sql(server().unwrap(), columns).unwrap().concat();
        assert_eq!(columns, ["rowid", "key", "tie", "rest", "p"]);
        // The queries for administrators run, and have rows while a connection is open.
        let held = Workspace::connect(&server().unwrap().address()).unwrap();
        assert_eq!(held.fetch::<Post>().count().unwrap(), 1);
        let queries = PAGE.split("```sql\n").skip(1);
        let queries = queries.map(|rest| rest.split("```").next().unwrap());
        let queries: Vec<&str> = queries
            .filter(|query| query.starts_with("SELECT"))
            .collect();
        assert_eq!(queries.len(), 6);
        for query in queries {
            let rows = sql(server().unwrap(), query).unwrap();
            assert!(!rows.is_empty(), "{query}");
        }
        drop(held);
    });
}

#[test]
fn every_block_of_the_page_is_in_this_file() {
    // Without the commas of values that are divided into lines.
    let squeeze = |text: &str| {
        let text = text.split_whitespace().collect::<String>();
        text.replace(",)", ")").replace(",}", "}")
    };
    let source = squeeze(include_str!("page.rs"));
    let pages = [PAGE, BACKENDS];
    let blocks = pages
        .iter()
        .flat_map(|page| page.split("```rust\n").skip(1));
    let blocks: Vec<&str> = blocks
        .map(|rest| rest.split("```").next().unwrap())
        .collect();
    for block in &blocks {
        assert!(
            source.contains(&squeeze(block)),
            "compiled nowhere:\n{block}"
        );
    }
    assert_eq!(blocks.len(), 4);
}
