//! The code of `docs/live-queries.md` runs.

use std::sync::mpsc;

use dflat::{FetchedResult, Object, Result, Step, Table, Update, Workspace};
use futures::StreamExt;
use futures::executor::block_on;

use crate::guide_page::check_blocks;
use crate::post::{Post, PostChangeRequest, PostData};

const PAGE: &str = include_str!("../../../../docs/live-queries.md");

fn add(workspace: &Workspace, title: &'static str, priority: i32) -> Result<()> {
    let added = workspace.perform_changes([Post::TABLE], move |tx| {
        let title = title.into();
        let data = PostData {
            title,
            priority,
            ..PostData::default()
        };
        tx.submit(PostChangeRequest::creation(data)).map(drop)
    });
    added.wait()
}

#[test]
fn examples_of_the_live_queries_page_run() -> Result<()> {
    let workspace = Workspace::in_memory();
    let (queue, jobs) = mpsc::channel();
    let (shown, lists) = mpsc::channel();

    let change = |list: &mut Vec<String>, update: &Update<FetchedResult<Post>>| {
        let line = |post: &Post| format!("{} {}", post.priority(), post.title());
        for step in update.difference().steps() {
            match step {
                Step::Remove(at) => drop(list.remove(at)),
                Step::Insert(at) => list.insert(at, line(&update[at])),
                Step::Update(at) => list[at] = line(&update[at]),
            }
        }
    };
    let mut list = Vec::new();
    let show = move |update: Result<Update<FetchedResult<Post>>>| {
        change(&mut list, &update.unwrap());
        shown.send(list.clone()).unwrap();
    };

    let urgent = || workspace.fetch::<Post>().filter(Post::PRIORITY.gt(100));
    let top = urgent().order_by(Post::PRIORITY.descending()).limit(20);
    let count = urgent().live_count();
    let sections = urgent().group_by(Post::COLOR).sum(Post::PRIORITY);
    let titles = urgent().live_select(Post::TITLE);

    let subscription = workspace
        .observe(top)?
        .on(move |job| drop(queue.send(job)))
        .call(show)?;
    let count = workspace.observe(count)?.watch()?;
    let sections = workspace.observe(sections)?.watch()?;
    let mut titles = workspace.observe(titles)?.buffer(16).stream();

    let first = block_on(titles.next()).unwrap()?;
    assert!(first.is_empty());
    add(&workspace, "b", 150)?;
    add(&workspace, "a", 200)?;
    add(&workspace, "c", 1)?;
    jobs.recv().unwrap()();
    while let Ok(job) = jobs.try_recv() {
        job();
    }
    assert_eq!(lists.try_iter().last().unwrap(), ["200 a", "150 b"]);
    assert_eq!(count.latest().unwrap()?, 2);
    let second = block_on(titles.next()).unwrap()?;
    assert_eq!(*second.into_result(), ["b"]);

    subscription.cancel();
    drop((count, sections, titles));
    Ok(())
}

#[test]
fn every_block_of_the_page_is_in_this_file() {
    check_blocks(PAGE, include_str!("live_queries.rs"), 4);
}

/// A post with a field beside its handle, unlike the types of generated code.
#[derive(Clone)]
struct Labelled(Post, u64);

impl Object for Labelled {
    const TABLE: Table = Post::TABLE;

    type Key<'k> = <Post as Object>::Key<'k>;
    type Data = PostData;

    fn key_values<'k>(key: Self::Key<'k>) -> dflat::codegen::KeyParts<'k> {
        Post::key_values(key)
    }

    fn from_handle(handle: dflat::codegen::Handle) -> Self {
        Self(Post::from_handle(handle), 7)
    }

    fn handle(&self) -> &dflat::codegen::Handle {
        self.0.handle()
    }
}

#[test]
fn objects_of_a_type_with_more_than_a_handle_are_delivered() -> Result<()> {
    let workspace = Workspace::in_memory();
    add(&workspace, "first", 1)?;
    let known = workspace.fetch::<Labelled>().all()?;
    let watch = workspace.observe(&known)?.watch()?;
    add(&workspace, "second", 2)?;
    workspace.settle()?;
    let received = watch.latest().unwrap()?;
    let received: Vec<_> = received
        .iter()
        .map(|Labelled(post, n)| (post.title(), *n))
        .collect();
    assert_eq!(received, [("first", 7), ("second", 7)]);
    assert!(workspace.fetch::<Labelled>().offset(2).all()?.is_empty());
    Ok(())
}
