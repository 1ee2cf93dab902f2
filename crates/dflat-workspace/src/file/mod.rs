//! Files: how they are opened, and the engines that the workspaces of this process share.

mod engines;
mod options;

pub(crate) use engines::on_file;
pub use options::FileOptions;
