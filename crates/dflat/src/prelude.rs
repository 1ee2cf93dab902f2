//! The names that most programs use: `use dflat::prelude::*;`.
//!
//! It leaves out names that a program is likely to have already, such as `Result`, `Error`, `Field`
//! and `Update`: write them with their path, as in `dflat::Result`.
//!
//! # Examples
//! ```
//! # mod post {
//! #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/post.rs"));
//! # }
//! use dflat::prelude::*;
//! use post::{Post, PostChangeRequest, PostData};
//! # fn main() -> dflat::Result<()> {
//! let workspace = Workspace::in_memory();
//! let created = workspace.perform_changes([Post::TABLE], |tx: &TransactionContext| {
//!     tx.submit(PostChangeRequest::creation(PostData::default()))
//! });
//! created.wait()?;
//! let posts: FetchedResult<Post> = workspace.fetch().filter(query!(Post: priority == 0)).all()?;
//! assert_eq!(posts.len(), 1);
//! # Ok(())
//! # }
//! ```

pub use crate::{
    ChangeRequest, Dictionary, Durability, ErrorKind, Fetch, FetchedResult, Object, Observable,
    Payload, Predicate, Subscription, TransactionContext, TransactionHandle, UpdatedObject,
    Workspace, query,
};
