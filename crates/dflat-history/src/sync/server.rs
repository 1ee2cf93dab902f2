//! The side that answers.

use std::fmt;

use dflat_engine::engine::Engine;
use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::Table;

use super::negotiate::{known, missing, offer, take_offer};
use super::receive::{Receiver, Source, write_history};
use super::send::Sender;
use super::wire::{Channel, Message, Refusal, Request, Stream, SyncLimits, VERSION, malformed};
use crate::branches::{check_name, forward, forward_branch, start};
use crate::commits::{CommitId, delete_incoming, has, head, load, tip};

/// The name under which the commits of unfinished pushes are kept. No remote has it.
const PUSHED: &str = "";

/// Answers requests.
#[derive(Clone)]
pub struct Server<'s> {
    /// The engine of this side.
    pub engine: &'s Engine,
    /// All versioned tables of the file, and those that are to be.
    pub tables: &'s [Table],
    /// The tables whose objects are given and taken.
    pub allowed: &'s [Table],
    /// Whether pushes are taken.
    pub takes_pushes: bool,
    /// Whether commits that have lost objects are taken, and marks of forgotten objects, which are
    /// then forgotten here, too. The receiver cannot check that such a commit has the objects that
    /// its id stands for.
    pub accepts_forgotten: bool,
    /// The limits of an exchange.
    pub limits: SyncLimits,
}

impl fmt::Debug for Server<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("takes_pushes", &self.takes_pushes)
            .finish_non_exhaustive()
    }
}

/// The outcome of serving.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Served {
    /// The number of pulls that were answered.
    pub pulls: u64,
    /// The number of pushes that were taken.
    pub pushes: u64,
    /// The number of requests that were refused.
    pub refused: u64,
}

/// How a request was answered.
enum Answer {
    Given,
    Taken,
    Refused(Refusal, String),
    /// The other side has ended the request.
    Ended,
}

impl Server<'_> {
    /// Answers the requests of a connection until the other side closes it between two requests.
    ///
    /// # Errors
    /// - [`ErrorKind::Corrupt`] if the other side sends wrong bytes.
    /// - [`ErrorKind::InvalidArgument`] beyond a limit.
    /// - [`ErrorKind::AlreadyExists`] if an object that the other side has forgotten exists here.
    /// - [`ErrorKind::Io`] if the connection fails or ends within a request.
    /// - Otherwise the errors of reading and of a transaction.
    pub fn serve(&self, stream: &mut dyn Stream) -> Result<Served> {
        let mut channel = Channel::new(stream, self.limits);
        let mut served = Served::default();
        loop {
            let Some(message) = channel.request()? else {
                return Ok(served);
            };
            match self.answer(&mut channel, &message) {
                Ok(Answer::Given) => served.pulls += 1,
                Ok(Answer::Taken) => served.pushes += 1,
                Ok(Answer::Ended) => {}
                Ok(Answer::Refused(kind, text)) => {
                    served.refused += 1;
                    refuse(&mut channel, kind, text)?;
                }
                Err(error) => {
                    // The error that ended the request is the one to report.
                    let _ = refuse(&mut channel, Refusal::Other, reason(&error));
                    return Err(error);
                }
            }
        }
    }

    fn answer(&self, channel: &mut Channel<'_>, message: &Message) -> Result<Answer> {
        match message {
            Message::Pull(request) | Message::Push(request) if request.version != VERSION => {
                let text = format!("this side speaks version {VERSION} of the exchange");
                Ok(Answer::Refused(Refusal::Other, text))
            }
            Message::Pull(request) => self.give(channel, request),
            Message::Push(request) => self.take(channel, request),
            _ => Err(malformed("another message than a request")),
        }
    }

    /// Answers a pull.
    fn give(&self, channel: &mut Channel<'_>, request: &Request) -> Result<Answer> {
        self.commit(&request.branch)?;
        let found = self.engine.read_history(|snapshot| {
            let Some(tip) = tip(snapshot, &request.branch)? else {
                return Ok(None);
            };
            let known = known(snapshot, &request.named)?;
            let types = load(snapshot, tip)?.tables;
            Ok(Some((tip, missing(snapshot, tip, &known)?, types)))
        })?;
        let Some((tip, ids, types)) = found else {
            let text = format!("there is no branch {:?}", request.branch);
            return Ok(Answer::Refused(Refusal::NoBranch, text));
        };
        let mut of_both = request.types.clone();
        of_both.retain(|name| self.allowed.iter().any(|table| table.name == *name));
        if let Some(of) = types.iter().find(|of| !of_both.contains(&of.name)) {
            let text = format!(
                "the branch {} has objects of {}; open the files of both sides with `versioned` \
                 for this type, and allow it",
                request.branch, of.name
            );
            return Ok(Answer::Refused(Refusal::Types, text));
        }
        let wanted = offer(channel, tip, &ids)?;
        if !wanted.is_empty() {
            // An earlier commit may have a type that the last one lacks.
            let mut sender = Sender::new(self.engine, self.tables);
            sender.send(channel, &wanted, &of_both)?;
        }
        Ok(Answer::Given)
    }

    /// Answers a push.
    fn take(&self, channel: &mut Channel<'_>, request: &Request) -> Result<Answer> {
        if !self.takes_pushes {
            let text = "this side takes no pushes".to_owned();
            return Ok(Answer::Refused(Refusal::ReadOnly, text));
        }
        let branch = &request.branch;
        if let Err(error) = check_name(branch) {
            return Ok(Answer::Refused(Refusal::Other, error.to_string()));
        }
        self.commit(branch)?;
        let (known, before) = self.engine.read_history(|snapshot| {
            Ok((known(snapshot, &request.named)?, tip(snapshot, branch)?))
        })?;
        channel.send(&Message::Ready { known, tip: before })?;
        channel.flush()?;
        let Some(offered) = take_offer(self.engine, channel)? else {
            return Ok(Answer::Ended);
        };
        let source = Source {
            remote: PUSHED,
            branch,
            accepts_forgotten: self.accepts_forgotten,
        };
        let mut receiver = Receiver::new(self.engine, (self.tables, self.allowed), source);
        if !offered.wanted.is_empty() {
            receiver.receive(channel, &offered)?;
        }
        let moved = self.forward(receiver.tables(), branch, offered.tip)?;
        if !moved {
            let text = format!("the branch {branch} has commits that the pushed one lacks");
            return Ok(Answer::Refused(Refusal::Behind, text));
        }
        channel.send(&Message::Moved)?;
        channel.flush()?;
        Ok(Answer::Taken)
    }

    /// Commits the changes since the last commit of a branch, if it is the current one.
    fn commit(&self, branch: &str) -> Result<()> {
        let head = self.engine.read_history(head)?;
        match head.branch == branch {
            true => start(self.engine, self.tables).map(drop),
            false => Ok(()),
        }
    }

    /// Moves a branch to a commit that was received.
    fn forward(&self, tables: &[Table], branch: &str, tip: CommitId) -> Result<bool> {
        let (is_current, is_known) = self.engine.read_history(|snapshot| {
            Ok((
                head(snapshot)?.branch == branch,
                has(snapshot, &[tip])? == [true],
            ))
        })?;
        if !is_known {
            return Err(malformed("the last commit of the branch was not sent"));
        }
        let moved = match is_current {
            true => forward(self.engine, tables, tip)?,
            false => forward_branch(self.engine, tables, branch, tip)?,
        };
        write_history(self.engine, tables, |writer| {
            delete_incoming(writer, (PUSHED, branch))
        })?;
        Ok(moved)
    }
}

fn refuse(channel: &mut Channel<'_>, kind: Refusal, message: String) -> Result<()> {
    channel.send(&Message::Refused { kind, message })?;
    channel.flush()
}

/// The reason that the other side is told. The whole error may name files and objects.
fn reason(error: &Error) -> String {
    match error.kind() {
        ErrorKind::InvalidArgument | ErrorKind::Corrupt => error.to_string(),
        kind => format!("the request failed: {kind:?}"),
    }
}
