//! Each block of code in the README of the crate and in that of the guides is, blanks aside, in a
//! file that compiles. `examples/first` tests the README of the repository.

use dflat::{Dictionary, Result, Workspace};

use crate::post::{Color, Post, PostChangeRequest, PostData};

/// The README of the guides and that of the crate, with the number of their blocks.
const READMES: [(&str, usize); 2] = [
    (include_str!("../../../../docs/README.md"), 1),
    (include_str!("../../README.md"), 1),
];

#[test]
fn the_program_at_the_top_runs() -> Result<()> {
    let workspace = Workspace::in_memory();

    workspace
        .perform_changes([Post::TABLE], |tx| {
            tx.submit(PostChangeRequest::creation(PostData {
                title: "first post".into(),
                color: Color::Red,
                priority: 150,
                ..PostData::default()
            }))
        })
        .wait()?;

    let posts = workspace
        .fetch::<Post>()
        .filter(Post::PRIORITY.gt(100) & Post::COLOR.eq(Color::Red))
        .order_by(Post::TITLE.ascending())
        .limit(10)
        .all()?;

    let subscription = workspace.subscribe(&posts, |posts| match posts {
        Ok(posts) => println!("{} urgent red posts", posts.len()),
        Err(error) => eprintln!("{error}"),
    })?;

    assert_eq!(posts.len(), 1);
    subscription.cancel();
    Ok(())
}

#[test]
fn settings_example_of_the_readme_runs() -> Result<()> {
    let workspace = Workspace::in_memory();

    let settings = workspace.dictionary();
    settings.set("volume", 0.7)?;
    let launches = settings.update("launches", |n: Option<i64>| Some(n.unwrap_or(0) + 1))?;
    let subscription = settings.subscribe::<f64>("volume", |volume| println!("{volume:?}"))?;

    workspace
        .perform_changes_retrying([Post::TABLE, Dictionary::TABLE], |tx| {
            tx.dictionary().set("last title", "second post")?;
            tx.submit(PostChangeRequest::creation(PostData {
                title: "second post".into(),
                ..PostData::default()
            }))
        })
        .wait()?;

    assert_eq!(launches, Some(1));
    subscription.cancel();
    let title = settings.get::<String>("last title")?;
    assert_eq!(title.as_deref(), Some("second post"));
    Ok(())
}

#[test]
fn every_block_of_code_is_in_a_file_that_compiles() {
    let squeeze = |text: &str| text.split_whitespace().collect::<String>();
    let source = squeeze(include_str!("readme.rs"));
    for (readme, expected) in READMES {
        let mut count = 0;
        for block in readme.split("```rust\n").skip(1) {
            let (code, _) = block.split_once("```").expect("the block should end");
            // A test must not leave a file behind.
            let code = squeeze(code).replace("open(\"posts.db\")?", "in_memory()");
            assert!(
                source.contains(&code),
                "this block is compiled nowhere:\n{block}"
            );
            count += 1;
        }
        assert_eq!(count, expected);
    }
}
