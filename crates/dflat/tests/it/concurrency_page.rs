//! The code of `docs/concurrency.md` runs.

use dflat::{ErrorKind, Object, Predicate, Result, TransactionContext, UpdatedObject, Workspace};

use crate::guide_page::{check_blocks, squeeze};
use crate::post::{Post, PostChangeRequest, PostData};

const PAGE: &str = include_str!("../../../../docs/concurrency.md");

pub(crate) fn add_title(tx: &TransactionContext, title: &str) -> Result<()> {
    let title = title.into();
    let data = PostData {
        title,
        ..PostData::default()
    };
    tx.submit(PostChangeRequest::creation(data)).map(drop)
}

pub(crate) fn add(tx: &TransactionContext, number: usize) -> Result<()> {
    add_title(tx, &format!("post {number}"))
}

fn change(tx: &TransactionContext, seen: &Post) -> Result<()> {
    let Some(mut request) = PostChangeRequest::change(tx, seen)? else {
        return Ok(());
    };
    request.priority = 2;
    tx.submit(request.if_unchanged(seen)).map(drop)
}

#[derive(Debug)]
#[expect(dead_code, reason = "a failing test shows the fields")]
enum ImportError {
    Malformed,
    Number(std::num::ParseIntError),
    Database(dflat::Error),
}

impl From<std::num::ParseIntError> for ImportError {
    fn from(error: std::num::ParseIntError) -> Self {
        Self::Number(error)
    }
}

impl From<dflat::Error> for ImportError {
    fn from(error: dflat::Error) -> Self {
        Self::Database(error)
    }
}

#[test]
fn example_of_own_errors_runs() -> Result<(), ImportError> {
    let workspace = Workspace::in_memory();
    let import = workspace.with_error::<ImportError>();
    let imported = import.perform_changes([Post::TABLE], |tx| {
        for line in ["third 7", "fourth high"] {
            let (title, priority) = line.split_once(' ').ok_or(ImportError::Malformed)?;
            let data = PostData {
                title: title.into(),
                priority: priority.parse()?,
                ..PostData::default()
            };
            tx.submit(PostChangeRequest::creation(data))?;
        }
        Ok(())
    });
    assert!(matches!(imported.wait(), Err(ImportError::Number(_))));
    assert_eq!(workspace.fetch::<Post>().count()?, 0);
    Ok(())
}

#[test]
fn examples_of_the_concurrency_page_run() -> Result<()> {
    let workspace = Workspace::in_memory();
    let first = workspace.perform_changes([Post::TABLE], |tx| {
        let data = PostData {
            title: "first".into(),
            ..PostData::default()
        };
        Ok(tx.submit(PostChangeRequest::creation(data))?.into_object())
    });
    let first: Option<Post> = first.wait()?;
    let seen = first.expect("it was inserted");

    let handles: Vec<_> = (0..100)
        .map(|number| workspace.perform_changes([Post::TABLE], move |tx| add(tx, number)))
        .collect();
    for handle in handles {
        handle.wait()?;
    }

    let titles = ["a", "b"].map(String::from);
    let count = workspace.perform_changes_blocking([Post::TABLE], |tx| {
        titles.iter().try_for_each(|title| add_title(tx, title))?;
        Ok(titles.len())
    })?;

    let nested = workspace.perform_changes([Post::TABLE], |tx| {
        let both = tx.nested(|tx| {
            add_title(tx, "second")?;
            add_title(tx, "first")
        });
        Ok(both.unwrap_err().kind())
    });
    assert_eq!(nested.wait()?, ErrorKind::AlreadyExists);

    for expected in [None, Some(ErrorKind::OutOfDate)] {
        let seen = seen.clone();
        let changed = workspace.perform_changes([Post::TABLE], move |tx| change(tx, &seen));
        let outcome = changed.wait();
        assert_eq!(outcome.err().map(|error| error.kind()), expected);
    }

    let number = workspace.perform_changes_retrying([Post::TABLE], |tx| {
        let number = tx.fetch::<Post>().all()?.len();
        add(tx, number)
    });
    number.wait()?;
    workspace
        .write_first()
        .perform_changes_blocking([Post::TABLE], |tx| {
            let number = tx.fetch::<Post>().count()?;
            add_title(tx, &format!("number {number}"))
        })?;
    assert_eq!(workspace.fetch::<Post>().all()?.len(), 103 + count);
    Ok(())
}

#[test]
fn calls_that_the_page_lists_change_objects() -> Result<()> {
    let workspace = Workspace::in_memory();
    workspace.perform_changes_blocking([Post::TABLE], |tx| {
        let data = PostData::default();
        let post = tx.submit(PostChangeRequest::creation(data))?;
        let post = post.into_object().expect("it was inserted");

        let mut data = post.to_data();
        data.priority = 1;
        let upserted = tx.submit(PostChangeRequest::upsert(data))?;
        assert!(matches!(upserted, UpdatedObject::Updated(_)));

        let mut request = PostChangeRequest::change(tx, &post)?.expect("it is stored");
        request.tag = Some("a".to_owned());
        let changed = tx.submit(request)?.into_object().expect("it is stored");
        assert_eq!((changed.priority(), changed.tag()), (1, Some("a")));

        let condition = Post::PRIORITY.eq(1);
        let changed = tx.update_where(condition, |post| post.priority = 2)?;
        assert_eq!(changed, 1);

        let request = PostChangeRequest::deletion(tx, &post)?.expect("it is stored");
        let deleted = tx.submit(request)?;
        assert!(matches!(deleted, UpdatedObject::Deleted(_)));
        assert!(PostChangeRequest::change(tx, &post)?.is_none());
        assert!(PostChangeRequest::deletion(tx, &post)?.is_none());

        let restored = tx.submit(PostChangeRequest::restoration(&post))?;
        let restored = restored.into_object().expect("it was inserted");
        assert_eq!(restored.to_data(), post.to_data());

        let requests = ["a", "a"].map(|title| {
            PostChangeRequest::creation(PostData {
                title: title.to_owned(),
                ..PostData::default()
            })
        });
        let outcomes = tx.submit_many(requests);
        assert!(matches!(outcomes[0], Ok(UpdatedObject::Inserted(_))));
        let refused = outcomes[1].as_ref().map_err(dflat::Error::kind);
        assert_eq!(refused.err(), Some(ErrorKind::AlreadyExists));

        let condition = Post::PRIORITY.eq(2);
        let deleted = tx.delete_where(condition)?;
        assert_eq!(deleted, 0);
        let deleted = tx.delete::<Post>("first")?;
        assert!(deleted.is_none());
        let deleted = tx.delete::<Post>("a")?;
        assert_eq!(
            deleted.map(|post| post.title().to_owned()).as_deref(),
            Some("a")
        );
        let deleted = tx.delete_where(Predicate::<Post>::all([]))?;
        assert_eq!(deleted, 1);
        Ok(())
    })
}

#[test]
fn every_call_that_the_page_lists_is_in_this_file() {
    let source = squeeze(include_str!("concurrency_page.rs"));
    let mut calls = 0;
    for row in PAGE.lines().filter(|line| line.starts_with("| ")) {
        let cell = row.rsplit(" | ").next().unwrap_or_default();
        let Some((code, _)) = cell.strip_prefix('`').and_then(|cell| cell.split_once('`')) else {
            continue;
        };
        let code = squeeze(&code.replace("\\|", "|"));
        assert!(source.contains(&code), "compiled nowhere: {code}");
        calls += 1;
    }
    assert_eq!(calls, 10);
}

#[test]
fn every_block_of_the_page_is_in_this_file() {
    check_blocks(PAGE, include_str!("concurrency_page.rs"), 8);
}
