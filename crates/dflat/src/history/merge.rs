//! Merges.

use std::fmt;

use dflat_engine::object::{Object as Handle, Origin, field_value};
use dflat_history::branches::{self, ConflictReason, ObjectConflict};
use dflat_history::commits::CommitId;
use dflat_history::steps::notice;
use dflat_model::{RowId, Value};

use super::History;
use super::strangers::versioned;
use crate::{ChangeRequest, Error, ErrorKind, Object, Result, Workspace};

/// The outcome of a merge.
#[derive(Debug)]
#[non_exhaustive]
pub enum Merged {
    /// The current branch had all changes already. Its last commit.
    UpToDate(CommitId),
    /// The current branch had no changes of its own, and has the last commit of the other one now.
    #[non_exhaustive]
    Forward {
        /// The commit.
        commit: CommitId,
        /// The number of objects that were changed.
        changed: u64,
    },
    /// A commit with the changes of both was made.
    #[non_exhaustive]
    Commit {
        /// The commit.
        commit: CommitId,
        /// The number of objects that were changed.
        changed: u64,
    },
    /// Nothing was changed: some objects need a decision.
    Conflicts(PendingMerge),
}

impl History<'_> {
    /// Merges a branch into the current one: the objects get the changes that both have made since
    /// their last common commit. Changes since the last commit are committed first.
    ///
    /// Objects are merged by fields: those that only one side has changed are taken from it. A
    /// table, a struct, a union or a vector is one field. If both have changed a field to different
    /// values, if one has deleted an object that the other has changed, or if two objects would
    /// have one unique value, nothing is changed, and [`Merged::Conflicts`] has these objects.
    ///
    /// The merge is one transaction over all versioned types, and subscribers get the difference.
    /// Each merge of the same two commits without a conflict makes the same commit.
    ///
    /// A branch of a remote, such as `laptop/main`, is merged like any other. A file without
    /// objects, whose branch has no commit or only one of no objects, takes the last commit of the
    /// other branch and makes none of its own.
    ///
    /// # Errors
    /// - [`NotFound`](crate::ErrorKind::NotFound) if there is no branch of this name, or the
    ///   history of a type was forgotten since a commit that the merge needs.
    /// - [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if a type of the branch is
    ///   versioned no more.
    /// - [`Corrupt`](crate::ErrorKind::Corrupt) if the history does not fit the objects.
    /// - [`Busy`](crate::ErrorKind::Busy) if others change objects again and again.
    /// - Otherwise as [`commit`](Self::commit).
    ///
    /// # Cost
    /// The nodes of the trees that differ are read, and the steps back to the last common commit.
    /// The objects that the other branch has changed are in memory, and some bytes of each commit.
    /// If [a collection](Self::collect_garbage) has deleted the trees of a common commit, they are
    /// built from all of its objects.
    ///
    /// # Examples
    /// ```
    /// # mod post {
    /// #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/post.rs"));
    /// # }
    /// use dflat::Workspace;
    /// use dflat::history::Merged;
    /// use post::{Post, PostChangeRequest, PostData};
    /// # fn main() -> dflat::Result<()> {
    /// # let directory = tempfile::tempdir().expect("a directory");
    /// # let path = directory.path().join("posts.db");
    /// let workspace = Workspace::builder(path).versioned::<Post>().open()?;
    /// let store = |priority| {
    ///     let data = PostData { title: "a".into(), priority, ..PostData::default() };
    ///     workspace.perform_changes_blocking([Post::TABLE], |tx| {
    ///         tx.submit(PostChangeRequest::upsert(data)).map(drop)
    ///     })
    /// };
    /// let history = workspace.history();
    /// store(1)?;
    /// history.branch("draft")?;
    /// store(2)?;
    /// history.checkout("draft")?;
    /// store(3)?;
    /// history.checkout("main")?;
    /// let Merged::Conflicts(mut pending) = history.merge("draft")? else { unreachable!() };
    /// for conflict in pending.of::<Post>()? {
    ///     assert_eq!(conflict.fields, ["priority"]);
    ///     let mut data = conflict.ours.expect("ours").to_data();
    ///     data.priority += conflict.theirs.expect("theirs").priority();
    ///     pending.resolve(PostChangeRequest::upsert(data))?;
    /// }
    /// assert!(matches!(pending.finish()?, Merged::Commit { .. }));
    /// assert_eq!(workspace.get::<Post>("a")?.map(|post| post.priority()), Some(5));
    /// # Ok(())
    /// # }
    /// # use dflat::Object;
    /// ```
    pub fn merge(&self, branch: &str) -> Result<Merged> {
        perform(self.workspace, branches::Merge::of(branch))
    }
}

fn perform(workspace: &Workspace, mut merge: branches::Merge) -> Result<Merged> {
    let engine = workspace.engine();
    let tables = versioned(workspace)?;
    notice(engine, &tables)?;
    Ok(match merge.perform(engine, &tables)? {
        branches::Merged::UpToDate(commit) => Merged::UpToDate(commit),
        branches::Merged::Forward { commit, changed } => Merged::Forward { commit, changed },
        branches::Merged::Commit { commit, changed } => Merged::Commit { commit, changed },
        branches::Merged::Conflicts(conflicts) => Merged::Conflicts(PendingMerge {
            workspace: workspace.clone(),
            merge,
            conflicts,
        }),
        _ => {
            return Err(Error::new(
                ErrorKind::Backend,
                "the outcome of the merge is unknown",
            ));
        }
    })
}

/// A merge that needs decisions. Nothing was changed, and nothing is held: dropping it ends the
/// merge.
#[must_use = "nothing is merged until `finish` is called"]
pub struct PendingMerge {
    workspace: Workspace,
    merge: branches::Merge,
    conflicts: Vec<ObjectConflict>,
}

/// An object of a type that needs a decision.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MergeConflict<T> {
    /// Why a decision is needed.
    pub reason: ConflictReason,
    /// The names of the fields in conflict; none if one side has deleted the object.
    pub fields: Vec<String>,
    /// The object before the changes of both; `None` if there was none.
    pub base: Option<T>,
    /// Our object; `None` if there is none.
    pub ours: Option<T>,
    /// Their object; `None` if there is none.
    pub theirs: Option<T>,
}

/// The object that a merge is to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// That of the current branch, or its deletion.
    Ours,
    /// That of the other branch, or its deletion.
    Theirs,
}

impl PendingMerge {
    /// The name of the branch to merge.
    #[must_use]
    pub fn branch(&self) -> &str {
        &self.merge.branch
    }

    /// The objects of all types that need a decision.
    #[must_use]
    pub fn conflicts(&self) -> &[ObjectConflict] {
        &self.conflicts
    }

    /// The objects of a type that need a decision.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) for malformed bytes.
    pub fn of<T: Object>(&self) -> Result<Vec<MergeConflict<T>>> {
        let of_type = self.conflicts.iter().filter(|of| of.table == T::TABLE.name);
        of_type
            .map(|conflict| {
                Ok(MergeConflict {
                    reason: conflict.reason,
                    fields: conflict.fields.clone(),
                    base: object(conflict.base.as_deref())?,
                    ours: object(conflict.ours.as_deref())?,
                    theirs: object(conflict.theirs.as_deref())?,
                })
            })
            .collect()
    }

    /// Decides that the object with the key of a request gets the values of the request: a
    /// creation, an upsert or a restoration.
    ///
    /// # Errors
    /// - [`NotFound`](crate::ErrorKind::NotFound) if no object in conflict has the key.
    /// - [`NewerSchema`](crate::ErrorKind::NewerSchema) if the file has fields of the type that
    ///   this program does not know; decide for a [`Side`] instead.
    /// - [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if the request is a deletion.
    pub fn resolve<T: Object>(&mut self, request: ChangeRequest<T>) -> Result<()> {
        let payload = request.payload()?;
        // Checks the bytes.
        T::from_bytes(&payload)?;
        let table = T::TABLE;
        let key = table.primary_key.iter();
        let key = key.map(|field| field_value(&payload, field).map(|part| part.to_value()));
        let key: Vec<Value> = key
            .collect::<Result<_, _>>()
            .map_err(|_| malformed::<T>())?;
        let conflict = self.find::<T>(&key)?.clone();
        let stored = versioned(&self.workspace)?.into_iter();
        let stored = stored
            .into_iter()
            .find(|table| table.is_stored_as(&T::TABLE));
        if stored.is_some_and(|stored| !T::TABLE.covers(&stored)) {
            let name = &T::TABLE.type_name;
            let message = format!("cannot resolve a conflict of {name}: newer code has written it");
            return Err(Error::new(ErrorKind::NewerSchema, message));
        }
        self.merge.decide(&conflict, Some(payload));
        Ok(())
    }

    /// Decides that the object with a key stays as one of the sides has it.
    ///
    /// # Errors
    /// [`NotFound`](crate::ErrorKind::NotFound) if no object in conflict has the key.
    pub fn keep<T: Object>(&mut self, key: T::Key<'_>, side: Side) -> Result<()> {
        let conflict = self.find::<T>(&values::<T>(key))?.clone();
        let payload = match side {
            Side::Ours => conflict.ours.clone(),
            Side::Theirs => conflict.theirs.clone(),
        };
        self.merge.decide(&conflict, payload);
        Ok(())
    }

    /// Decides that all objects in conflict stay as one of the sides has them.
    pub fn keep_all(&mut self, side: Side) {
        for conflict in &self.conflicts {
            let payload = match side {
                Side::Ours => conflict.ours.clone(),
                Side::Theirs => conflict.theirs.clone(),
            };
            self.merge.decide(conflict, payload);
        }
    }

    /// Decides that the object with a key is deleted.
    ///
    /// # Errors
    /// [`NotFound`](crate::ErrorKind::NotFound) if no object in conflict has the key.
    pub fn delete<T: Object>(&mut self, key: T::Key<'_>) -> Result<()> {
        let conflict = self.find::<T>(&values::<T>(key))?.clone();
        self.merge.decide(&conflict, None);
        Ok(())
    }

    /// Merges with the decisions. If an object still needs one, also because of changes that were
    /// made meanwhile, nothing is changed, and the result has these objects. A decision about an
    /// object that [was forgotten](History::forget_object) meanwhile is dropped.
    ///
    /// # Errors
    /// As [`History::merge`].
    pub fn finish(self) -> Result<Merged> {
        perform(&self.workspace, self.merge)
    }

    fn find<T: Object>(&self, key: &[Value]) -> Result<&ObjectConflict> {
        let table = T::TABLE;
        let mut conflicts = self.conflicts.iter();
        let found = conflicts.find(|of| of.table == table.name && of.key == key);
        found.ok_or_else(|| {
            let key: Vec<String> = key.iter().map(ToString::to_string).collect();
            let message = format!(
                "the merge needs no decision about the object {} of {}",
                key.join(", "),
                table.type_name
            );
            Error::new(ErrorKind::NotFound, message)
        })
    }
}

fn values<T: Object>(key: T::Key<'_>) -> Vec<Value> {
    let parts = T::key_values(key);
    parts.iter().map(|part| part.to_value()).collect()
}

fn object<T: Object>(payload: Option<&[u8]>) -> Result<Option<T>> {
    let Some(payload) = payload else {
        return Ok(None);
    };
    let handle = Handle::new(&T::TABLE, RowId(0), Origin::default(), payload);
    let object = handle.map(T::from_handle);
    object.map(Some).map_err(|_| malformed::<T>())
}

fn malformed<T: Object>() -> Error {
    let message = format!("an object of {} has malformed bytes", T::TABLE.type_name);
    Error::new(ErrorKind::Corrupt, message)
}

impl fmt::Debug for PendingMerge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingMerge")
            .field("branch", &self.branch())
            .field("conflicts", &self.conflicts)
            .finish_non_exhaustive()
    }
}
