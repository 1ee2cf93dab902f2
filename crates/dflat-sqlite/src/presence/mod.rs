//! Which processes follow a file, and how they learn of one another's commits.
//!
//! A process that follows holds a shared lock on a small file beside the database, the presence
//! file. The system releases the lock when the process ends, however it ends. A process that has
//! committed asks whether another process holds such a lock, and changes the time of the presence
//! file if so. A thread of each follower waits for changes of the directory, and looks for new
//! commits.
//!
//! Invariant: nothing here opens the database, its log or the log's index, because closing such a
//! file would release the locks that connections of this process hold on it.

mod follower;
mod following;
mod presence_file;
mod system;
mod waits;

pub(crate) use follower::Presence;
pub use following::Following;
