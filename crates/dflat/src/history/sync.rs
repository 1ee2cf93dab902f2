//! Sends and receives commits.

use std::fmt;
use std::io::{Read, Write};

use dflat_history::sync::{self, Pulled, Pushed, Served, Stream, SyncLimits};

use super::History;
use super::strangers::{notice_to_write, to_sync};
use crate::{Object, Result, Table, Workspace};

impl<'w> History<'w> {
    /// A remote: another file with the same history, under a name. Its branches are
    /// `name/branch` here. A name has 1 to 255 bytes, no slash and no control characters; if it has
    /// another form, exchanges fail with
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument).
    pub fn remote(&self, name: impl Into<String>) -> Remote<'w> {
        Remote {
            workspace: self.workspace,
            name: name.into(),
            allowed: None,
            accepts_forgotten: false,
            limits: SyncLimits::default(),
        }
    }

    /// Answers the remotes of other files. Pushes are refused unless
    /// [`accept_pushes`](Server::accept_pushes) allows them.
    pub fn server(&self) -> Server<'w> {
        Server {
            workspace: self.workspace,
            allowed: None,
            takes_pushes: false,
            accepts_forgotten: false,
            limits: SyncLimits::default(),
        }
    }
}

/// Another file with the same history, as [`History::remote`] gives it.
///
/// # Trust
/// The other side may be hostile: a pull takes only objects of the allowed types, verifies each,
/// derives its key, checks that the trees have the roots that the commits say, and keeps to
/// [limits](Self::limits). A failed pull moves no branch and changes no object. The library does
/// not check which program is on the other side: if others can reach the connection, authenticate
/// and encrypt it, for example with TLS or SSH.
#[must_use = "a remote does nothing by itself"]
pub struct Remote<'w> {
    workspace: &'w Workspace,
    name: String,
    allowed: Option<Vec<Table>>,
    accepts_forgotten: bool,
    limits: SyncLimits,
}

impl Remote<'_> {
    /// Takes objects of this type. Without it, those of all versioned types are taken.
    ///
    /// If a commit has objects of another type, the exchange fails.
    pub fn of<T: Object>(mut self) -> Self {
        self.allowed.get_or_insert_default().push(T::TABLE);
        self
    }

    /// Takes commits some of whose objects [were forgotten](History::forget_object) on the other
    /// side, without these objects. By default such an exchange fails with
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument).
    ///
    /// The other side sends the marks of all objects that it has forgotten. Before the first commit
    /// is taken, this side forgets those of the allowed types as well, and they stay forgotten if
    /// the exchange fails later. If one of them exists on this side, the exchange fails with
    /// [`AlreadyExists`](crate::ErrorKind::AlreadyExists), and nothing is changed: delete it first.
    /// An object that was forgotten on this side before is not forgotten again, because a program
    /// may have inserted it anew.
    ///
    /// This side cannot check that such a commit has the objects that its id stands for, so allow
    /// this only if you trust the other side.
    pub const fn accept_forgotten(mut self) -> Self {
        self.accepts_forgotten = true;
        self
    }

    /// The limits of what is taken in one exchange.
    pub const fn limits(mut self, limits: SyncLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Receives the commits of a branch of the remote that this file lacks. The branch
    /// `name/branch` then has the last of them; no other branch and no object is changed.
    /// [`History::merge`] gives the objects their changes, and [`Workspace::at_branch`] reads them.
    ///
    /// Each commit is stored as it arrives. If the exchange is interrupted, the next one goes on
    /// after the last commit that was stored.
    ///
    /// # Errors
    /// - [`NotFound`](crate::ErrorKind::NotFound) if the remote has no such branch.
    /// - [`Corrupt`](crate::ErrorKind::Corrupt) if the remote sends wrong bytes.
    /// - [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if no type is versioned, for a type
    ///   that is not allowed, for schemas that do not fit, and beyond a limit.
    /// - [`AlreadyExists`](crate::ErrorKind::AlreadyExists) if an object exists that the remote has
    ///   forgotten, and forgotten objects are [accepted](Self::accept_forgotten).
    /// - [`DeadlineExceeded`](crate::ErrorKind::DeadlineExceeded) beyond the limit of time, and if
    ///   a read or a write of the connection takes longer than the connection allows.
    /// - [`Io`](crate::ErrorKind::Io) if the connection fails.
    /// - [`Backend`](crate::ErrorKind::Backend) if the remote fails.
    /// - [`Busy`](crate::ErrorKind::Busy) if garbage is collected meanwhile: sync again.
    /// - [`WouldDeadlock`](crate::ErrorKind::WouldDeadlock) inside a handler or a callback;
    ///   otherwise the errors of a transaction.
    ///
    /// # Cost
    /// The bytes of the changed objects, or of their differences, and 200 to 400 bytes for each
    /// commit. A pull without news is two messages of less than 1 KB together.
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
    /// # let path = |name| directory.path().join(name);
    /// let laptop = Workspace::builder(path("laptop.db")).versioned::<Post>().open()?;
    /// let phone = Workspace::builder(path("phone.db")).versioned::<Post>().open()?;
    /// laptop.perform_changes_blocking([Post::TABLE], |tx| {
    ///     tx.submit(PostChangeRequest::creation(PostData::default())).map(drop)
    /// })?;
    ///
    /// phone.history().remote("laptop").pull_from(&laptop, "main")?;
    /// phone.history().merge("laptop/main")?;
    /// assert_eq!(phone.fetch::<Post>().count()?, 1);
    /// assert_eq!(phone.history().head()?, laptop.history().head()?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn pull<S: Read + Write>(&self, stream: &mut S, branch: &str) -> Result<Pulled> {
        self.with(|remote| remote.pull(stream, branch))
    }

    /// Sends the commits of a branch that the remote lacks. The remote's branch of this name then
    /// has the last of them; if it is the remote's current branch, so have its objects, in one
    /// transaction. If it is the current branch of this file, changes since the last commit are
    /// committed first.
    ///
    /// A push goes forward only: if the remote's branch has commits that this one lacks, nothing is
    /// changed.
    ///
    /// # Errors
    /// - [`NotFound`](crate::ErrorKind::NotFound) if this file has no such branch.
    /// - [`OutOfDate`](crate::ErrorKind::OutOfDate) if the remote's branch has commits that this
    ///   one lacks: pull and merge first.
    /// - [`ReadOnly`](crate::ErrorKind::ReadOnly) if the remote takes no pushes.
    /// - Otherwise as [`pull`](Self::pull).
    pub fn push<S: Read + Write>(&self, stream: &mut S, branch: &str) -> Result<Pushed> {
        self.with(|remote| remote.push(stream, branch))
    }

    /// As [`pull`](Self::pull), from another file of this process.
    ///
    /// # Errors
    /// As [`pull`](Self::pull).
    pub fn pull_from(&self, other: &Workspace, branch: &str) -> Result<Pulled> {
        let server = other.history().server();
        server.with(|server| server.serve_here(|stream| self.with(|r| r.pull(stream, branch))))
    }

    /// As [`push`](Self::push), to another file of this process.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub fn push_to(&self, other: &Workspace, branch: &str) -> Result<Pushed> {
        let server = other.history().server().accept_pushes();
        server.with(|server| server.serve_here(|stream| self.with(|r| r.push(stream, branch))))
    }

    fn with<R>(&self, sync: impl FnOnce(&sync::Remote<'_>) -> Result<R>) -> Result<R> {
        let tables = prepared(self.workspace)?;
        sync(&sync::Remote {
            engine: self.workspace.engine(),
            allowed: &allowed(&tables, self.allowed.as_deref()),
            tables: &tables,
            name: &self.name,
            accepts_forgotten: self.accepts_forgotten,
            limits: self.limits,
        })
    }
}

/// Answers the remotes of other files, as [`History::server`] gives it.
#[must_use = "a server does nothing by itself"]
pub struct Server<'w> {
    workspace: &'w Workspace,
    allowed: Option<Vec<Table>>,
    takes_pushes: bool,
    accepts_forgotten: bool,
    limits: SyncLimits,
}

impl Server<'_> {
    /// Gives and takes objects of this type. Without it, those of all versioned types.
    pub fn of<T: Object>(mut self) -> Self {
        self.allowed.get_or_insert_default().push(T::TABLE);
        self
    }

    /// As [`Remote::accept_forgotten`], for commits that are pushed.
    pub const fn accept_forgotten(mut self) -> Self {
        self.accepts_forgotten = true;
        self
    }

    /// Takes pushes. By default they are refused.
    pub const fn accept_pushes(mut self) -> Self {
        self.takes_pushes = true;
        self
    }

    /// The limits of what is taken in one exchange.
    pub const fn limits(mut self, limits: SyncLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Answers pulls and pushes on this connection, one after the other, until the other side
    /// closes it between two of them. Changes since the last commit of the current branch are
    /// committed when the branch is asked for.
    ///
    /// The caller accepts connections, knows which program is on the other side, and sets how long
    /// a read and a write may take.
    ///
    /// # Errors
    /// As [`Remote::pull`]. A request that is refused, such as one for a branch that is not there,
    /// is no error.
    ///
    /// # Examples
    /// ```no_run
    /// # mod post {
    /// #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/post.rs"));
    /// # }
    /// use std::net::TcpListener;
    /// use std::time::Duration;
    ///
    /// use dflat::Workspace;
    /// use post::Post;
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let workspace = Workspace::builder("posts.db").versioned::<Post>().open()?;
    /// for stream in TcpListener::bind("127.0.0.1:7000")?.incoming() {
    ///     let mut stream = stream?;
    ///     stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    ///     stream.set_write_timeout(Some(Duration::from_secs(30)))?;
    ///     if let Err(error) = workspace.history().server().accept_pushes().serve(&mut stream) {
    ///         eprintln!("{error}");
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn serve<S: Read + Write>(&self, stream: &mut S) -> Result<Served> {
        self.with(|server| server.serve(stream as &mut dyn Stream))
    }

    fn with<R>(&self, sync: impl FnOnce(&sync::Server<'_>) -> Result<R>) -> Result<R> {
        let tables = prepared(self.workspace)?;
        sync(&sync::Server {
            engine: self.workspace.engine(),
            allowed: &allowed(&tables, self.allowed.as_deref()),
            tables: &tables,
            takes_pushes: self.takes_pushes,
            accepts_forgotten: self.accepts_forgotten,
            limits: self.limits,
        })
    }
}

/// The versioned types, with the changes of other programs in the history.
fn prepared(workspace: &Workspace) -> Result<Vec<Table>> {
    let tables = to_sync(workspace)?;
    notice_to_write(workspace)?;
    Ok(tables)
}

/// Those of the versioned types that are allowed.
fn allowed(tables: &[Table], allowed: Option<&[Table]>) -> Vec<Table> {
    let is_allowed = |table: &&Table| {
        allowed.is_none_or(|allowed| allowed.iter().any(|other| other.is_stored_as(table)))
    };
    tables.iter().filter(is_allowed).cloned().collect()
}

impl fmt::Debug for Remote<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Server<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("takes_pushes", &self.takes_pushes)
            .finish_non_exhaustive()
    }
}
