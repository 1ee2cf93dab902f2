//! Commits of other programs.

use dflat_engine::storage::Staleness;

use crate::{Result, Workspace};

impl Workspace {
    /// Looks for commits of other programs, and delivers them after all commits of this process. If
    /// the commits have [change records](crate::WorkspaceBuilder::change_log), only the changed
    /// objects are read; otherwise subscribed objects and results are read again, and those that
    /// changed are delivered. In memory there are no such commits.
    ///
    /// The library makes such checks by itself while it
    /// [follows other processes](crate::WorkspaceBuilder::follow_processes). This call makes one at
    /// once: all commits that ended before the call are part of the deliveries that
    /// [`settle`](Workspace::settle) waits for.
    ///
    /// It waits neither for the deliveries nor for a program that is writing, except for a commit
    /// of this process that is under way.
    ///
    /// # Errors
    /// [`ShutDown`](crate::ErrorKind::ShutDown) after shutdown; otherwise the errors of reading.
    ///
    /// # Cost
    /// If no program has committed, the cost of starting a read. The first call always reads again,
    /// and so does the first call after another process has crashed, because commits before it are
    /// not known.
    ///
    /// # Examples
    /// ```
    /// # mod post {
    /// #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/post.rs"));
    /// # }
    /// use dflat::Workspace;
    /// use post::Post;
    /// # fn main() -> dflat::Result<()> {
    /// let workspace = Workspace::in_memory();
    /// let count = workspace.observe(workspace.fetch::<Post>().live_count())?.watch()?;
    /// workspace.refresh()?;
    /// workspace.settle()?;
    /// assert_eq!(count.latest().expect("the count as it is")?, 0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn refresh(&self) -> Result<()> {
        self.engine().refresh()
    }

    /// How old the state can be that reads see. It is [`Staleness::Current`] in memory, in a file
    /// and on a server, unless the server is a replica that the program has chosen by
    /// `ServerBuilder::replica`.
    ///
    /// # Errors
    /// [`ShutDown`](crate::ErrorKind::ShutDown) after shutdown; otherwise the errors of reading.
    ///
    /// # Cost
    /// Nothing, except on a replica: one round trip.
    ///
    /// # Examples
    /// ```
    /// use dflat::{Staleness, Workspace};
    /// # fn main() -> dflat::Result<()> {
    /// let workspace = Workspace::in_memory();
    /// assert_eq!(workspace.staleness()?, Staleness::Current);
    /// # Ok(())
    /// # }
    /// ```
    pub fn staleness(&self) -> Result<Staleness> {
        self.engine().staleness()
    }
}
