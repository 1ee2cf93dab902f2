//! Seeing what other programs commit.

use crate::{Result, Workspace};

impl Workspace {
    /// Looks whether another program has committed to the file since the last call: if so, objects,
    /// results, counts and projections that are subscribed to are read again, and told if they have
    /// changed, after all that was committed here. Call it by a timer, or when the file or its
    /// write-ahead log has changed; without it, other programs' commits are told with the next
    /// transaction of this process that writes. In memory there are none.
    ///
    /// It does not wait for the deliveries, nor for whoever writes.
    ///
    /// # Errors
    /// [`ShutDown`](crate::ErrorKind::ShutDown) after shutdown; else as reading can fail.
    ///
    /// # Cost
    /// If nobody has committed, that of starting to read. The first call always reads again, and so
    /// does one after another process has crashed: whether anybody has committed is not known then.
    ///
    /// # Examples
    /// ```
    /// # mod post {
    /// #     include!(concat!(
    /// #         env!("CARGO_MANIFEST_DIR"),
    /// #         "/../dflat-codegen/tests/data/post/rust.rs"
    /// #     ));
    /// # }
    /// use dflat::Workspace;
    /// use post::Post;
    /// # fn main() -> dflat::Result<()> {
    /// let workspace = Workspace::in_memory();
    /// let count = workspace.observe(workspace.fetch::<Post>().live_count())?.watch()?;
    /// // By a timer:
    /// workspace.refresh()?;
    /// workspace.settle()?;
    /// assert_eq!(count.latest().expect("the count as it is")?, 0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn refresh(&self) -> Result<()> {
        self.engine().refresh()
    }
}
