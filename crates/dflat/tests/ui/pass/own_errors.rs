//! Handlers with errors of types that implement `From<dflat::Error>`.
#![allow(dead_code)]

#[path = "../../../../dflat-codegen/tests/data/post/rust.rs"]
mod post;

use dflat::{TransactionHandle, Workspace};
use post::Post;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

enum MyError {
    Parse(std::num::ParseIntError),
    Database(dflat::Error),
}

impl From<dflat::Error> for MyError {
    fn from(error: dflat::Error) -> Self {
        Self::Database(error)
    }
}

impl From<std::num::ParseIntError> for MyError {
    fn from(error: std::num::ParseIntError) -> Self {
        Self::Parse(error)
    }
}

fn main() -> Result<(), BoxError> {
    let workspace = Workspace::in_memory();
    let performer = workspace.write_first().with_error::<MyError>();
    let handle: TransactionHandle<i32, MyError> =
        performer.perform_changes([Post::TABLE], |_| Ok("x".parse()?));
    assert!(matches!(handle.wait(), Err(MyError::Parse(_))));
    let count = workspace.with_error::<BoxError>().perform_changes_blocking([Post::TABLE], |tx| {
        let count: usize = "0".parse()?;
        Ok(count + tx.fetch::<Post>().count()?)
    })?;
    assert_eq!(count, 0);
    Ok(())
}
