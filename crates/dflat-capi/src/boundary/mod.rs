//! Where pointers of C become references of Rust, the only module with `unsafe`.
//!
//! Each type here that holds a pointer is an argument of an exported function, and nothing in this
//! crate makes one from another pointer. The header requires of each argument that it is NULL or
//! valid for the call; these types check what can be checked, and the rest of the crate has no
//! `unsafe`. Plain arguments, such as texts, are in the crate `dflat-capi-boundary`.

mod callback;
mod code;
mod error;
mod export;
mod handle;
mod lent;
mod list;
mod live;
mod order;

pub(crate) use callback::{Callback, KeptCallback};
pub(crate) use code::{OK, invalid};
pub(crate) use dflat_capi_boundary::{Bytes, Given, List, Out, Text, export_value};
pub(crate) use error::ErrorHandle;
pub(crate) use export::{OutError, export, export_release, guard, guard_release, with_error};
pub(crate) use handle::{In, Kind, OutHandle, Owned, lend_handle};
pub(crate) use lent::{RawView, lend_object, lent_view_of, take_object, view_of};
pub(crate) use list::{Given64, GivenMoves, RawMove};
pub(crate) use live::{Lent, OutLent, lend};
pub(crate) use order::{causes_calls, waits_for_calls};
