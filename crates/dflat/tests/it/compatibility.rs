//! The code of `docs/compatibility.md` runs.

use dflat::{ErrorKind, Result, SubscribedObject, Workspace};

use crate::post::{Color, Content, Post, PostChangeRequest, PostData, TextContent};

const PAGE: &str = include_str!("../../../../docs/compatibility.md");

#[test]
fn tour_of_dflat_for_swift_runs() -> Result<()> {
    let workspace = Workspace::in_memory();
    let created = create(&workspace)?;
    fetch_and_subscribe(&workspace)?;
    change(&workspace, &created)?;
    assert!(workspace.fetch::<Post>().first()?.is_none());

    let settings = workspace.dictionary();
    settings.set("launches", 1_i64)?;
    assert_eq!(settings.get::<i64>("launches")?, Some(1));

    workspace.shutdown()?;
    let error = workspace.fetch::<Post>().all().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ShutDown);
    Ok(())
}

fn create(workspace: &Workspace) -> Result<Post> {
    let created = workspace.perform_changes([Post::TABLE], |tx| {
        let request = PostChangeRequest::creation(PostData {
            title: "first post".into(),
            color: Color::Red,
            content: Some(Content::TextContent(TextContent {
                text: Some("This is my very first post!".into()),
            })),
            ..PostData::default()
        });
        tx.submit(request)
    });
    let created: Option<Post> = created.wait()?.into_object();
    Ok(created.expect("it was inserted"))
}

fn change(workspace: &Workspace, created: &Post) -> Result<()> {
    let post = created.clone();
    let changed = workspace.perform_changes_retrying([Post::TABLE], move |tx| {
        if let Some(mut request) = PostChangeRequest::change(tx, &post)? {
            request.color = Color::Green;
            tx.submit(request)?;
        }
        Ok(())
    });
    changed.wait()?;

    let post = workspace.fetch::<Post>().first()?.expect("it is there");
    assert_eq!(post.color(), Color::Green);
    let deleted = workspace.perform_changes_retrying([Post::TABLE], move |tx| {
        if let Some(request) = PostChangeRequest::deletion(tx, &post)? {
            tx.submit(request)?;
        }
        Ok(())
    });
    deleted.wait()?;
    Ok(())
}

fn fetch_and_subscribe(workspace: &Workspace) -> Result<()> {
    let posts = workspace
        .fetch::<Post>()
        .filter(Post::TITLE.eq("first post"))
        .all()?;
    let (first, urgent) = workspace.fetch_within_a_snapshot(|snapshot| {
        let first = snapshot
            .fetch::<Post>()
            .filter(Post::TITLE.eq("first post"))
            .all()?;
        let urgent = Post::PRIORITY.gt(100) & Post::COLOR.eq(Color::Red);
        let order = Post::PRIORITY.descending();
        Ok((
            first,
            snapshot
                .fetch::<Post>()
                .filter(urgent)
                .order_by(order)
                .limit(10)
                .all()?,
        ))
    })?;
    assert_eq!((posts.len(), first.len(), urgent.len()), (1, 1, 0));

    let red = workspace
        .fetch::<Post>()
        .filter(Post::COLOR.eq(Color::Red))
        .order_by(Post::PRIORITY.descending());
    let of_query = workspace.subscribe(red, |posts| match posts {
        Ok(posts) => println!("{posts:?}"),
        Err(error) => eprintln!("{error}"),
    })?;
    let of_object = workspace.subscribe(&posts[0], |event| match event {
        SubscribedObject::Updated(post) => println!("{post:?}"),
        SubscribedObject::Deleted => println!("deleted, this is completed."),
    })?;
    of_query.cancel();
    of_object.cancel();
    Ok(())
}

#[test]
fn every_block_of_the_page_is_in_this_file() {
    let squeeze = |text: &str| {
        let text = text.split_whitespace().collect::<String>();
        // rustfmt breaks lines that are on one line of the page, and then adds a comma.
        text.replace(",)", ")").replace(",}", "}")
    };
    let source = squeeze(include_str!("compatibility.rs"));
    // The first two blocks are the program that `examples/guides` tests.
    let blocks = PAGE.split("```rust\n").skip(3);
    let blocks: Vec<&str> = blocks
        .map(|rest| rest.split("```").next().unwrap())
        .collect();
    for block in &blocks {
        assert!(
            source.contains(&squeeze(block)),
            "this is compiled nowhere:\n{block}"
        );
    }
    assert_eq!(blocks.len(), 7);
}
