//! Files: how they are opened, and the engines that the workspaces of this process share.

mod base;
mod engines;
mod options;

pub use base::Base;
pub(crate) use engines::on_file;
pub use options::FileOptions;
