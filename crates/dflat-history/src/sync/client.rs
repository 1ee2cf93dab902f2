//! The side that asks: pulls and pushes.

use std::fmt;

use dflat_engine::engine::Engine;
use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::Table;

use super::negotiate::{ahead, known, offer, sample, take_offer};
use super::receive::{Receiver, Source, write_history};
use super::send::Sender;
use super::wire::{Channel, Message, Request, Stream, SyncLimits, VERSION, malformed};
use crate::branches::{check_remote, start, tip_of};
use crate::commits::{
    CommitId, branches, delete_incoming, has, head, incoming, put_remote, remote_name, remote_tip,
    remotes,
};

/// A remote: another file with the same history, under a name.
#[derive(Clone)]
pub struct Remote<'r> {
    /// The engine of this side.
    pub engine: &'r Engine,
    /// All versioned tables of the file, and those that are to be.
    pub tables: &'r [Table],
    /// The tables whose objects are taken.
    pub allowed: &'r [Table],
    /// The name of the remote.
    pub name: &'r str,
    /// Whether commits that have lost objects are taken, and marks of forgotten objects, which are
    /// then forgotten here, too. The receiver cannot check that such a commit has the objects that
    /// its id stands for.
    pub accepts_forgotten: bool,
    /// The limits of an exchange.
    pub limits: SyncLimits,
}

impl fmt::Debug for Remote<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// The outcome of a pull.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pulled {
    /// The last commit of the remote's branch.
    pub commit: CommitId,
    /// The number of commits that were received.
    pub commits: usize,
    /// The number of changes of objects in them.
    pub changes: u64,
    /// The number of bytes that were received and sent.
    pub bytes: u64,
}

/// The outcome of a push.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pushed {
    /// The last commit of the branch on both sides.
    pub commit: CommitId,
    /// The number of commits that were sent.
    pub commits: usize,
    /// The number of changes of objects in them.
    pub changes: u64,
    /// The number of bytes that were received and sent.
    pub bytes: u64,
}

impl Remote<'_> {
    /// Receives the commits of a branch of the remote that this file lacks, and has the branch
    /// `name/branch` refer to the last of them. No other branch and no object is changed.
    ///
    /// # Errors
    /// - [`ErrorKind::NotFound`] if the remote has no such branch.
    /// - [`ErrorKind::Corrupt`] if the remote sends wrong bytes.
    /// - [`ErrorKind::InvalidArgument`] for a type that is not allowed, and beyond a limit.
    /// - [`ErrorKind::AlreadyExists`] if an object that the remote has forgotten exists here.
    /// - [`ErrorKind::DeadlineExceeded`] beyond the limit of time.
    /// - [`ErrorKind::Io`] if the connection fails.
    /// - [`ErrorKind::Backend`] if the remote fails.
    /// - Otherwise the errors of reading and of a transaction.
    pub fn pull(&self, stream: &mut dyn Stream, branch: &str) -> Result<Pulled> {
        check_remote(self.name)?;
        self.check_types()?;
        let mut channel = Channel::new(stream, self.limits);
        let named = self.engine.read_history(|snapshot| {
            let tracked = remote_tip(snapshot, &remote_name(self.name, branch))?;
            let begun = incoming(snapshot)?.into_iter().map(|branch| branch.commit);
            let own = head(snapshot)?.commit;
            let others = branches(snapshot)?.into_iter().chain(remotes(snapshot)?);
            let others = others.map(|branch| branch.commit);
            let tips = begun.chain(tracked).chain(own).chain(others);
            let tips = known(snapshot, &tips.collect::<Vec<_>>())?;
            sample(snapshot, tips)
        })?;
        channel.send(&Message::Pull(self.request(self.allowed, branch, named)))?;
        channel.flush()?;
        let Some(offered) = take_offer(self.engine, &mut channel)? else {
            return Err(malformed("no offer of commits"));
        };
        let source = Source {
            remote: self.name,
            branch,
            accepts_forgotten: self.accepts_forgotten,
        };
        let mut receiver = Receiver::new(self.engine, (self.tables, self.allowed), source);
        if !offered.wanted.is_empty() {
            receiver.receive(&mut channel, &offered)?;
        }
        let tip = offered.tip;
        self.track(receiver.tables(), branch, tip)?;
        Ok(Pulled {
            commit: tip,
            commits: offered.wanted.len(),
            changes: receiver.changes,
            bytes: channel.sent + channel.received,
        })
    }

    /// Sends the commits of a branch that the remote lacks, and has the remote's branch of this
    /// name refer to the last of them. If it is the current branch, changes since the last commit
    /// are committed first.
    ///
    /// # Errors
    /// - [`ErrorKind::NotFound`] if this file has no such branch.
    /// - [`ErrorKind::OutOfDate`] if the remote's branch has commits that this one lacks: pull and
    ///   merge first.
    /// - [`ErrorKind::ReadOnly`] if the remote takes no pushes.
    /// - Otherwise as [`pull`](Self::pull).
    pub fn push(&self, stream: &mut dyn Stream, branch: &str) -> Result<Pushed> {
        check_remote(self.name)?;
        self.check_types()?;
        let current = self
            .engine
            .read_history(|snapshot| Ok(head(snapshot)?.branch))?;
        if current == branch {
            start(self.engine, self.tables)?;
        }
        let tip = tip_of(self.engine, branch)?;
        let mut channel = Channel::new(stream, self.limits);
        let named = self.engine.read_history(|snapshot| {
            let tracked = remote_tip(snapshot, &remote_name(self.name, branch))?;
            sample(snapshot, [tip].into_iter().chain(tracked))
        })?;
        channel.send(&Message::Push(self.request(self.allowed, branch, named)))?;
        channel.flush()?;
        let Message::Ready { known, tip: theirs } = channel.expect()? else {
            return Err(malformed("another answer to a push"));
        };
        let ids = match self.to_push(tip, (known, theirs), branch) {
            Ok(ids) => ids,
            Err(error) => {
                // The connection can be used again.
                let ended = channel.send(&Message::Done).and_then(|()| channel.flush());
                return Err(ended.err().unwrap_or(error));
            }
        };
        let wanted = offer(&mut channel, tip, &ids)?;
        let mut sender = Sender::new(self.engine, self.tables);
        if !wanted.is_empty() {
            sender.send(&mut channel, &wanted, &names(self.allowed))?;
        }
        let Message::Moved = channel.expect()? else {
            return Err(malformed("another end of a push"));
        };
        self.track(self.tables, branch, tip)?;
        Ok(Pushed {
            commit: tip,
            commits: wanted.len(),
            changes: sender.sent,
            bytes: channel.sent + channel.received,
        })
    }

    fn check_types(&self) -> Result<()> {
        match self.allowed.is_empty() {
            false => Ok(()),
            true => {
                let message = "cannot sync: no type of this file is versioned, or none was \
                               allowed; a program versions a type by opening the file with `versioned`";
                Err(Error::new(ErrorKind::InvalidArgument, message))
            }
        }
    }

    /// The commits to offer. The remote's branch must be before ours.
    fn to_push(
        &self,
        tip: CommitId,
        (known_there, theirs): (Vec<CommitId>, Option<CommitId>),
        branch: &str,
    ) -> Result<Vec<CommitId>> {
        let ahead = self
            .engine
            .read_history(|snapshot| ahead(snapshot, tip, (&known_there, theirs)))?;
        ahead.ok_or_else(|| {
            let message = format!(
                "cannot push {branch}: the other side's branch has commits that this one lacks; \
                 pull and merge first"
            );
            Error::new(ErrorKind::OutOfDate, message)
        })
    }

    fn request(&self, tables: &[Table], branch: &str, named: Vec<CommitId>) -> Request {
        Request {
            version: VERSION,
            branch: branch.to_owned(),
            types: names(tables),
            named,
        }
    }

    /// Notes the last commit of the remote's branch.
    fn track(&self, tables: &[Table], branch: &str, tip: CommitId) -> Result<()> {
        let is_noted = self.engine.read_history(|snapshot| {
            let is_tracked = remote_tip(snapshot, &remote_name(self.name, branch))? == Some(tip);
            let begun = incoming(snapshot)?;
            let name = remote_name(self.name, branch);
            Ok(is_tracked && !begun.iter().any(|begun| begun.name == name))
        })?;
        if is_noted {
            return Ok(());
        }
        write_history(self.engine, tables, |writer| {
            if has(writer, &[tip])? != [true] {
                return Err(malformed("the last commit of the branch was not sent"));
            }
            put_remote(writer, (self.name, branch), tip)?;
            delete_incoming(writer, (self.name, branch))
        })
    }
}

fn names(tables: &[Table]) -> Vec<String> {
    tables.iter().map(|table| table.name.to_string()).collect()
}
