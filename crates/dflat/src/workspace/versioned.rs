//! Opening a file with its history.

use std::path::Path;
use std::sync::Arc;

use dflat_history::commits::build_in_background;
use dflat_history::keeper::Keeper;
use dflat_workspace::FileOptions;

use super::WorkspaceBuilder;
use crate::{Error, ErrorKind, Object, Result, Table, Workspace};

impl WorkspaceBuilder {
    /// Keeps the changes of a type from its next change on, in the file's history. The file
    /// remembers this, so all programs that write to the type keep its changes, whether they use
    /// this option or not.
    ///
    /// If the table has more than 2,048 objects and no commit has them, the tree that the first
    /// commit needs is built in the background, in small transactions beside other writers, and the
    /// type is versioned at once. [`History::tree_builds`](crate::history::History::tree_builds)
    /// has the progress. After a restart, the build goes on when the file is opened so again.
    ///
    /// # Errors
    /// [`open`](Self::open) fails with [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if
    /// the workspace stands on a pack, or if the file is open in this process without a history.
    ///
    /// # Cost
    /// Each transaction on the type writes its changes a second time, as bytes that differ. A
    /// program with the feature `history`, but without versioned types, writes not a page more.
    ///
    /// # Examples
    /// ```
    /// # mod post {
    /// #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/post.rs"));
    /// # }
    /// use dflat::Workspace;
    /// use post::{Post, PostChangeRequest, PostData};
    /// # fn main() -> dflat::Result<()> {
    /// # let directory = tempfile::tempdir().expect("a directory");
    /// # let path = directory.path().join("posts.db");
    /// let workspace = Workspace::builder(path).versioned::<Post>().open()?;
    /// workspace.perform_changes_blocking([Post::TABLE], |tx| {
    ///     tx.set_label("first");
    ///     tx.submit(PostChangeRequest::creation(PostData::default())).map(drop)
    /// })?;
    /// let steps = workspace.history().log().collect::<dflat::Result<Vec<_>>>()?;
    /// assert_eq!(steps[0].label.as_deref(), Some("first"));
    /// assert_eq!(steps[0].tables[0].inserted, 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn versioned<T: Object>(mut self) -> Self {
        self.versioned.push(T::TABLE);
        self
    }
}

/// Opens a file, and has the changes of these types kept.
///
/// # Errors
/// As [`WorkspaceBuilder::open`](crate::WorkspaceBuilder::open), and those of
/// [`WorkspaceBuilder::versioned`](crate::WorkspaceBuilder::versioned).
pub(super) fn open(
    path: &Path,
    mut options: FileOptions,
    versioned: &[Table],
) -> Result<Workspace> {
    let stands_on_pack = options.stands_on_pack();
    if !stands_on_pack {
        options.history(Arc::new(Keeper::default()));
    }
    let untyped = dflat_workspace::Workspace::open(path, &options)?;
    if versioned.is_empty() {
        return Ok(Workspace::new(untyped));
    }
    let Some(history) = untyped.engine().history() else {
        let why = match stands_on_pack {
            true => "a workspace that stands on a pack keeps no history",
            false => "it is open in this process without a history",
        };
        let message = format!("cannot open {}: {why}", path.display());
        return Err(Error::new(ErrorKind::InvalidArgument, message));
    };
    for table in versioned {
        history.want(table, true);
    }
    untyped.engine().ask_for_versioned();
    // Without it, the first commit builds the trees.
    let _ = build_in_background(untyped.engine(), versioned);
    Ok(Workspace::new(untyped))
}
