//! The tour: create, read, update and delete posts, and watch an object and a query change.
//!
//! `cargo run -p post -- posts.db` keeps the file.
#![allow(clippy::print_stdout, reason = "the example prints what happens")]

use std::path::PathBuf;

use dflat::{Result, SubscribedObject, UpdatedObject, Workspace};
use futures::StreamExt;
use futures::executor::block_on;

mod schema {
    dflat::include_schema!("post");
}

use schema::{Color, Content, ContentRef, Post, PostChangeRequest, PostData, TextContent};

fn main() -> Result<()> {
    let directory = tempfile::tempdir().map_err(dflat::Error::user)?;
    let kept = std::env::args_os().nth(1).map(PathBuf::from);
    let path = kept.unwrap_or_else(|| directory.path().join("post.db"));
    let workspace = Workspace::open(&path)?;
    println!(
        "opened a workspace; no file is written yet: {}",
        !path.exists()
    );

    let first = create(&workspace)?;
    read(&workspace)?;
    watch(&workspace, &first)?;

    workspace.shutdown()?;
    let again = Workspace::open(&path)?;
    let titles: Vec<_> = again
        .fetch::<Post>()
        .all()?
        .iter()
        .map(|p| p.title().to_owned())
        .collect();
    println!("after opening the file again: {titles:?}");
    assert_eq!(titles, ["second post", "third post"]);
    Ok(())
}

/// Creates three posts in one transaction, which runs in the background.
fn create(workspace: &Workspace) -> Result<Post> {
    let created = workspace.perform_changes([Post::TABLE], |tx| {
        let text = TextContent {
            text: Some("This is my very first post!".to_owned()),
        };
        let first = tx.submit(PostChangeRequest::creation(PostData {
            title: "first post".to_owned(),
            color: Color::Red,
            content: Some(Content::TextContent(text)),
            ..PostData::default()
        }))?;
        for (title, priority) in [("second post", 150), ("third post", 50)] {
            let mut request = PostChangeRequest::creation(PostData::default());
            request.title = title.to_owned();
            request.color = Color::Red;
            request.priority = priority;
            tx.submit(request)?;
        }
        Ok(first)
    });
    let UpdatedObject::Inserted(first) = created.wait()? else {
        unreachable!("a creation inserts or fails")
    };
    println!("created {first:?}");
    Ok(first)
}

/// Reads by key and by queries that the compiler has checked.
fn read(workspace: &Workspace) -> Result<()> {
    let Some(post) = workspace.get::<Post>("first post")? else {
        unreachable!("it was created")
    };
    match post.content() {
        Some(ContentRef::TextContent(text)) => println!("its text is {:?}", text.text()),
        other => println!("its content is {other:?}"),
    }
    let urgent = workspace
        .fetch::<Post>()
        .filter(Post::PRIORITY.gt(100) & Post::COLOR.eq(Color::Red))
        .order_by(Post::PRIORITY.descending())
        .all()?;
    println!(
        "{} red post with a priority above 100: {}",
        urgent.len(),
        urgent[0].title()
    );
    assert_eq!(urgent.len(), 1);
    let texts = workspace
        .fetch::<Post>()
        .filter(
            Post::CONTENT
                .as_::<TextContent>()
                .text()
                .eq("This is my very first post!"),
        )
        .all()?;
    assert_eq!(texts[0], post);
    Ok(())
}

/// Subscribes to a query and to an object, then changes and deletes what they show.
fn watch(workspace: &Workspace, first: &Post) -> Result<()> {
    let red = workspace
        .fetch::<Post>()
        .filter(Post::COLOR.eq(Color::Red))
        .order_by(Post::PRIORITY.descending());
    let mut live = workspace.stream(red)?;
    let mut next_titles = || -> Result<Vec<String>> {
        let Some(posts) = block_on(live.next()) else {
            unreachable!("a query's stream goes on")
        };
        let titles = posts?.iter().map(|post| post.title().to_owned()).collect();
        println!("  the live query shows {titles:?}");
        Ok(titles)
    };
    assert_eq!(next_titles()?, ["second post", "third post", "first post"]);
    let object = workspace.subscribe(first, |event| match event {
        SubscribedObject::Updated(post) => println!("  the object is now {post:?}"),
        SubscribedObject::Deleted => println!("  the object is deleted"),
    })?;

    println!("raising the priority of the first post");
    let post = first.clone();
    let update = workspace.perform_changes_retrying([Post::TABLE], move |tx| {
        if let Some(mut request) = PostChangeRequest::change(tx, &post)? {
            request.priority = 200;
            tx.submit(request)?;
        }
        Ok(())
    });
    update.wait()?;
    assert_eq!(next_titles()?, ["first post", "second post", "third post"]);

    println!("deleting the first post");
    let post = first.clone();
    let deletion = workspace.perform_changes_retrying([Post::TABLE], move |tx| {
        PostChangeRequest::deletion(tx, &post)?
            .map(|request| tx.submit(request))
            .transpose()
    });
    assert!(matches!(deletion.wait()?, Some(UpdatedObject::Deleted(_))));
    assert_eq!(next_titles()?, ["second post", "third post"]);
    object.cancel();
    assert!(workspace.get::<Post>("first post")?.is_none());
    Ok(())
}
