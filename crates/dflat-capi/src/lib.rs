//! The C interface of the Dflat object database.
//!
//! The header `include/dflat.h` declares and documents every function; a test compares it with this
//! crate. Each module has the functions of one subject, such as `perform` and `fetch`. Below them,
//! `callbacks` calls functions of the program, and `boundary` is the only module with `unsafe`,
//! where pointers of C become references; plain arguments are in the crate `dflat-capi-boundary`.
//!
//! # Features
//!
//! - `bundled` (default): SQLite is compiled in.
//! - `system-sqlite`: the library is linked to the system's SQLite.
//! - `thread-sanitizer`: callbacks, and the functions that cause or wait for them, take POSIX
//!   locks, so that the thread sanitizer of a C compiler sees their order. For tests only.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod boundary;

mod buffer;
mod callbacks;
mod dictionary;
mod error;
mod executor;
mod json;
mod number;
mod object;
mod observe;
mod options;
mod perform;
mod read;
mod table;
mod transaction;
mod upkeep;
mod workspace;
