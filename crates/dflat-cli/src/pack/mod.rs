//! Commands on packs.

mod build;
mod unpack;
mod verify;

pub(crate) use build::pack;
pub(crate) use unpack::unpack;
pub(crate) use verify::verify;
