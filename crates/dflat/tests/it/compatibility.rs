//! The code of `docs/compatibility.md` runs, and the tests that it, `docs/concurrency.md`
//! and `docs/live-queries.md` name exist.

use std::fs;
use std::path::{Path, PathBuf};

use dflat::{ErrorKind, Result, SubscribedObject, Workspace};

use crate::post::{Color, Content, Post, PostChangeRequest, PostData, TextContent};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page(name: &str) -> String {
    fs::read_to_string(root().join("docs").join(name)).unwrap()
}

#[test]
fn the_tour_of_the_original() -> Result<()> {
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
    let changed = workspace.perform_changes([Post::TABLE], move |tx| {
        if let Some(mut request) = PostChangeRequest::change(tx, &post)? {
            request.color = Color::Green;
            tx.submit(request)?;
        }
        Ok(())
    });
    changed.wait()?;

    let post = workspace.fetch::<Post>().first()?.expect("it is there");
    assert_eq!(post.color(), Color::Green);
    let deleted = workspace.perform_changes([Post::TABLE], move |tx| {
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
fn every_block_of_the_page_is_that_code() {
    let squeeze = |text: &str| {
        let text = text.split_whitespace().collect::<String>();
        // rustfmt breaks lines where a page need not, and then puts a comma.
        text.replace(",)", ")").replace(",}", "}")
    };
    let source = squeeze(include_str!("compatibility.rs"));
    let page = page("compatibility.md");
    let blocks = page.split("```rust\n").skip(1);
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

/// All Rust files below a folder.
fn rust_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// The file that a name in a page stands for, and the name in it; `None` for other code.
fn place(name: &str, files: &[PathBuf]) -> Option<(PathBuf, String)> {
    let conformance = Path::new("dflat-testkit/src/conformance");
    let (file, test) = match name.split_once("::") {
        None if name.contains("/ui/") => {
            let (crate_name, file) = name.split_once('/')?;
            return Some((
                root()
                    .join("crates")
                    .join(crate_name)
                    .join("tests")
                    .join(file),
                String::new(),
            ));
        }
        Some((file, test)) if file.ends_with(".rs") => {
            let (crate_name, file) = match file.split_once('/') {
                Some((name, file)) if root().join("crates").join(name).is_dir() => (name, file),
                _ => ("dflat-testkit", file),
            };
            let program = if file.starts_with("models/") {
                "tests"
            } else {
                "tests/it"
            };
            (Path::new(crate_name).join(program).join(file), test)
        }
        Some((_, law)) if law.contains("::") => return None,
        Some((module, law)) => (conformance.join(module).with_extension("rs"), law),
        None => return None,
    };
    let file = root().join("crates").join(file);
    let known = files.contains(&file) || name.contains(".rs::");
    known.then(|| (file, test.to_owned()))
}

#[test]
fn the_tests_that_pages_name_exist() {
    let mut files = Vec::new();
    rust_files(
        &root().join("crates/dflat-testkit/src/conformance"),
        &mut files,
    );
    for (name, least) in [
        ("compatibility.md", 60),
        ("concurrency.md", 30),
        ("live-queries.md", 35),
    ] {
        let page = page(name);
        let quoted = page.split('`').skip(1).step_by(2);
        let mut found = 0;
        for name in quoted {
            let Some((file, test)) = place(name, &files) else {
                continue;
            };
            let text = fs::read_to_string(&file).unwrap_or_else(|_| panic!("no {file:?}: {name}"));
            let function = match test.strip_suffix('*') {
                Some(prefix) => format!("fn {prefix}"),
                None if test.is_empty() => String::new(),
                None => format!("fn {test}("),
            };
            assert!(text.contains(&function), "there is no test {name}");
            found += 1;
        }
        assert!(found >= least, "{name} names {found} tests");
    }
}
