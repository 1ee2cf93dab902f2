//! Trees whose root depends on their content alone.
//!
//! A tree maps keys to the hashes of payloads, in the order of the bytes of the keys. It is made
//! of [nodes](crate::node). Where a node ends is decided by the keys that it holds, and by nothing
//! else, so equal content has equal nodes and one [`Root`], whatever edits led to it. An edit
//! makes one new node at each level, seldom more, and shares all others with the tree before.
//!
//! [`Trees`] reads and makes trees in a [store of chunks](crate::chunk::ChunkStore).
//!
//! ```
//! use std::sync::Arc;
//!
//! use dflat_history::chunk::{Address, MemoryStore};
//! use dflat_history::tree::{Edit, MergeCase, Trees};
//!
//! let trees = Trees::new(Arc::new(MemoryStore::new()));
//! let hash = |text: &str| Address::of(text.as_bytes());
//! let base = trees.build([(b"a", hash("1")), (b"b", hash("1"))])?;
//! let ours = trees.apply(&base, [Edit::put(*b"a", hash("2")), Edit::delete(*b"b")])?;
//! let theirs = trees.apply(&base, [Edit::put(*b"b", hash("3")), Edit::put(*b"c", hash("1"))])?;
//!
//! let cases = trees.merge(&base, &ours, &theirs)?.collect::<Result<Vec<_>, _>>()?;
//! let [MergeCase::Ours(a), MergeCase::Conflict(b), MergeCase::Theirs(c)] = &*cases else {
//!     panic!("{cases:?}");
//! };
//! assert_eq!((&*a.key, &*b.key, &*c.key), (&b"a"[..], &b"b"[..], &b"c"[..]));
//! assert_eq!((b.base, b.ours, b.theirs), (Some(hash("1")), None, Some(hash("3"))));
//! # Ok::<(), dflat_engine::Error>(())
//! ```

mod apply;
mod build;
mod cache;
mod check;
mod cursor;
mod diff;
mod entry;
mod level_cursor;
mod mark;
mod merge;
mod nodes;
mod range;
mod read;
mod splitter;

pub use build::TreeBuilder;
pub use check::{CheckLimits, Checked};
pub use cursor::TreeCursor;
pub use diff::Diff;
pub use entry::{Edit, Entry, EntryChange};
pub use merge::{Merge, MergeCase, MergeConflict, Merged};
pub(crate) use nodes::MissingChunk;
pub use nodes::{CACHE_BYTES_DEFAULT, Root, Trees};
pub use range::Range;
