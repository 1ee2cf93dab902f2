//! An embedded object database: FlatBuffers schemas, SQLite storage, typed queries, live results.
//!
//! A schema is compiled to typed objects by `dflat_build` in a build script, or by `dflatc`. A
//! [`Workspace`] stores them in an SQLite file, or in memory with the same behaviour.
//!
//! # The twelve types that matter first
//!
//! | | |
//! |---|---|
//! | [`Workspace`] | an open database, on a file or in memory |
//! | [`TransactionContext`] | a transaction, inside its handler |
//! | [`TransactionHandle`] | a transaction to wait for, to await, or to let run |
//! | [`ChangeRequest`] | a creation, an update, an upsert or a deletion, to be submitted |
//! | [`UpdatedObject`] | the effect of a submitted change |
//! | [`Fetch`] | a query, to be narrowed, ordered and run |
//! | [`Field`] | a field of a type, in conditions and orders |
//! | [`Predicate`] | a condition |
//! | [`FetchedResult`] | a slice of immutable objects |
//! | [`Subscription`] | ends its subscription when it is dropped |
//! | [`Update`] | a new result, with the difference from the result before |
//! | [`Error`] | the one error type; its [`ErrorKind`] says how the caller can react |
//!
//! The [`prelude`] has the names that most programs use.
//!
//! # By task
//!
//! - **Open** a file: [`Workspace::open`] and `Workspace::builder` with its options;
//!   [`CloseOptions`] and [`Durability`]. Or [`Workspace::in_memory`], for tests.
//! - **Change** objects: [`Workspace::perform_changes`] and its other forms, which declare the
//!   types that they use; [`Performer`] has their options, such as [errors of your own
//!   type](Workspace::with_error). Inside, [`TransactionContext::submit`] takes a
//!   [`ChangeRequest`] and returns its effect. [`TableCopy`] copies a table from another file.
//! - **Read** them on any thread: [`Workspace::get`] by primary key, [`Workspace::fetch`] by a
//!   [`Predicate`] on typed [`Field`]s, in any [`Order`]. [`Cursor`]s make pages, [`FetchIter`]
//!   reads results that are larger than memory, a [`Selection`] reads single fields, and
//!   [`GroupBy`] counts and sums by group. All reads through one [`Snapshot`] see the same state.
//!   A [`Cancellation`] ends a read, and an [`Explanation`] shows its plan.
//! - **Write conditions**: [`Field`] has comparisons, arithmetic ([`Number`]), text
//!   ([`IgnoreCase`]), flags ([`Flags`]) and vectors ([`VectorField`]); [`query!`] has operators.
//! - **Watch** them: [`Workspace::subscribe`] and [`Workspace::stream`] follow an [`Observable`]:
//!   an object, a result, a query, a count, groups or selected values. An [`Observation`] chooses
//!   a callback, an executor, a stream ([`Deliveries`]) or a cell ([`Watch`]). A [`Difference`]
//!   changes a list on a screen.
//! - **Keep** settings and small state in the [`Dictionary`] of a workspace, by key; a
//!   transaction has it as [`TransactionDictionary`].
//! - **Convert** objects: [`Payload`] to and from bytes, and with the feature `serde` to and from
//!   JSON. The payload's page shows the form.
//! - **Await** instead of blocking: methods whose names end in `_async` return an [`AsyncCall`], a
//!   future that depends on no runtime, and a [`TransactionHandle`] is a future too.
//! - **Dates, times and UUIDs** of a schema: [`Seconds`], [`Milliseconds`], [`Microseconds`] and
//!   [`Nanoseconds`], and the features `jiff` and `uuid` below.
//! - **Look after** a file: `Workspace::backup`, `check`, `repair` and `salvage`;
//!   [`Workspace::index_progress`] and [`Stats`].
//!
//! # Errors
//!
//! Every call that can fail returns an [`Error`], whose [`ErrorKind`] says how the program can
//! react; no call hides one. Most programs handle four kinds by themselves:
//!
//! - [`AlreadyExists`](ErrorKind::AlreadyExists): choose another key or unique value, or use an
//!   upsert.
//! - [`Busy`](ErrorKind::Busy): use a form that retries, such as
//!   [`Workspace::perform_changes_retrying`].
//! - [`StorageFull`](ErrorKind::StorageFull): tell the user. Nothing of the transaction is kept.
//! - [`ShutDown`](ErrorKind::ShutDown): end, because the workspace is closed.
//!
//! # Examples
//!
//! ```
//! # mod post {
//! #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/post.rs"));
//! # }
//! use dflat::Workspace;
//! use post::{Post, PostChangeRequest, PostData};
//!
//! # fn main() -> dflat::Result<()> {
//! let workspace = Workspace::in_memory(); // or Workspace::open("posts.db")?
//! let created = workspace.perform_changes([Post::TABLE], |tx| {
//!     let data = PostData { title: "first post".into(), priority: 7, ..PostData::default() };
//!     tx.submit(PostChangeRequest::creation(data))
//! });
//! created.wait()?;
//!
//! let posts = workspace.fetch::<Post>().filter(Post::PRIORITY.gt(5)).all()?;
//! assert_eq!(posts[0].title(), "first post");
//! # Ok(())
//! # }
//! ```
//!
//! # Features
//!
//! - `bundled` (default): the SQLite backend, with SQLite compiled in.
//! - `system-sqlite`: the SQLite backend, linked to the system's library.
//! - Neither: the memory backend alone, without C code.
//! - `history`: the history of versioned types, with undo and redo (the module `history`).
//! - `pack`: packs, immutable collections of objects in one file (the module `pack`); `pack-map`
//!   reads them in memory maps, and `pack-lz4` and `pack-zstd` compress them.
//! - `postgres`: workspaces on a PostgreSQL server (`Workspace::connect`).
//! - `jiff`: the dates and times of a schema, such as [`Milliseconds`], convert from and to
//!   `jiff::Timestamp`, and queries compare them with it.
//! - `uuid`: keys that are UUIDs, and conversions of a schema's UUIDs from and to `uuid::Uuid`.
//! - `serde`: generated types implement the traits of serde (see [`Payload`] for the form), and the
//!   [`Dictionary`] takes values of any type that implements them.

#![cfg_attr(docsrs, feature(doc_cfg))]

#[doc(hidden)]
pub mod codegen;

mod async_call;
mod codec;
mod dictionary;
mod fetch;
#[cfg(feature = "history")]
pub mod history;
mod object;
mod observe;
#[cfg(feature = "pack")]
pub mod pack;
pub mod prelude;
mod query;
#[cfg(feature = "postgres")]
mod server;
mod time;
mod transaction;
mod workspace;

pub use async_call::AsyncCall;
pub use dflat_engine::fetch::Cancellation;
pub use dflat_engine::storage::{CloseOptions, Durability, Staleness};
pub use dflat_engine::{Error, ErrorKind, Result};
/// A condition with natural operators: `query!(Type: condition)`.
///
/// The macro rewrites the condition to the methods of [`Field`], with the same meaning.
///
/// - A bare name is a field of the type, in the lower case of its accessor: `priority`, and a dot
///   selects a field or a method of it: `pos.x`, `title.len`.
/// - Values are literals, paths such as `Color::Red`, and any Rust expression in braces:
///   `{ least }`.
/// - `|| && == != < <= > >= in + - * / % !`, in Rust's precedence, `in` like a comparison.
/// - Methods are called as in Rust, with Rust arguments: `title.starts_with("a")`, `tag.is_null()`,
///   `content.as_::<TextContent>().text`.
/// - `any` and `all` take a condition on the member of a vector. In it, bare names are the member's
///   fields, and `it` is the member: `images.any(it == "a.png")`.
///
/// # Examples
/// ```
/// # mod post {
/// #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/post.rs"));
/// # }
/// use dflat::{Workspace, query};
/// use post::{Color, Post};
/// # fn main() -> dflat::Result<()> {
/// let workspace = Workspace::in_memory();
/// let least = 100;
/// let urgent = query!(Post: priority > { least } && color in [Color::Red, Color::Green]);
/// assert_eq!(urgent.to_string(), "(priority > 100 && color in [0, 1])");
/// let posts = workspace.fetch::<Post>().filter(urgent).all()?;
/// assert!(posts.is_empty());
/// # Ok(())
/// # }
/// ```
pub use dflat_macros::query;
pub use dflat_model::{RowId, Table, Value};
#[cfg(feature = "sqlite")]
pub use dflat_sqlite::{
    CallReport, FileKind, FileReport, IndexReport, IoReport, Operation, PerCommit, Space,
    Suggestion,
};
#[cfg(feature = "sqlite")]
pub use dflat_sqlite::{Problem, ProblemKind};
pub use dflat_workspace::{
    Access, Copied, CopyPhase, CopyProgress, CopyState, Explanation, KeyUse, OnConflict, Stats,
};
#[cfg(feature = "sqlite")]
pub use dflat_workspace::{CheckReport, Purged, RepairReport, SalvageReport};
#[cfg(feature = "serde")]
pub use dictionary::Serde;
pub use dictionary::{
    Dictionary, DictionaryDeliveries, DictionaryEntry, DictionarySubscription, FlatBuffersValue,
    FromDictionary, IntoDictionary, Overwrite, SubscribedValue, TransactionDictionary,
};
pub use fetch::{Cursor, Fetch, FetchIter, FetchedResult, Group, GroupBy, Selection};
pub use object::{Object, Payload};
pub use observe::{
    Deliveries, DeliveriesIter, Difference, LiveCount, Move, Observable, Observation, Positions,
    Projection, Step, SubscribedObject, Subscription, Update, Watch,
};
pub use query::{
    Element, Field, FieldType, Flags, IgnoreCase, Maybe, Member, Number, Operand, Order, Predicate,
    Presence, Sure, VectorField,
};
#[cfg(feature = "postgres")]
pub use server::ServerBuilder;
pub use time::{Microseconds, Milliseconds, Nanoseconds, Seconds};
pub use transaction::{ChangeRequest, TransactionContext, TransactionHandle, UpdatedObject};
#[cfg(feature = "sqlite")]
pub use workspace::{Concurrency, FileProtection, Progress, Reclaim, WorkspaceBuilder};
pub use workspace::{
    CopyTo, Duplicate, IndexProgress, IndexState, IndexesReady, Performer, Snapshot, TableCopy,
    Workspace,
};

/// Includes the code that `dflat_build` made of a schema in this package's build script.
///
/// The argument is the name of the generated text: the name of the first schema file without
/// `.fbs`, or the name given to `dflat_build::Builder::name`. The types are defined where the macro
/// is called, so attributes can be set on a module around it.
///
/// ```text
/// pub mod schema {
///     dflat::include_schema!("post"); // of build.rs: dflat_build::compile(["schemas/post.fbs"]);
/// }
/// ```
#[macro_export]
macro_rules! include_schema {
    ($name:literal) => {
        include!(concat!(
            env!(
                "OUT_DIR",
                "this package has no build script: include_schema! includes the code that \
                 `dflat_build::compile([\"schemas/..fbs\"]);` makes in `build.rs`"
            ),
            "/",
            $name,
            ".rs"
        ));
    };
}
