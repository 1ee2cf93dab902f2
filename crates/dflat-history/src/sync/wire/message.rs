//! The messages of an exchange. `docs/sync-format.md` has their bytes.

use dflat_engine::{Error, ErrorKind, Result};

use crate::bytes::{Input, put_bytes, put_count};
use crate::chunk::Address;
use crate::commits::{CommitId, Mark, MarkKey};
use crate::tree::Root;

/// The version of the exchange that this code speaks.
pub(crate) const VERSION: u8 = 1;

/// The maximum number of commits that a request names.
pub(crate) const NAMED_MAX: usize = 64;

/// The number of ids in a message that offers commits.
pub(crate) const OFFERED_MAX: usize = 8192;

/// The number of marks in a message.
pub(crate) const MARKS_MAX: usize = 8192;

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    /// Asks for the commits of a branch.
    Pull(Request),
    /// Offers the commits of a branch.
    Push(Request),
    /// The answer to [`Push`](Self::Push).
    Ready {
        /// Those of the named commits that the receiver has.
        known: Vec<CommitId>,
        /// The last commit of the branch, if the receiver has the branch.
        tip: Option<CommitId>,
    },
    /// Commits that the sender has, each after its parents.
    Offer {
        tip: CommitId,
        ids: Vec<CommitId>,
        is_last: bool,
    },
    /// Which of the offered commits the receiver lacks: a bit for each, the lowest bit first.
    Want(Vec<u8>),
    /// The descriptor of a type.
    Descriptor(Vec<u8>),
    /// A commit.
    Commit(Vec<u8>),
    /// A part of the changes of the commit before.
    Changes { is_last: bool, bytes: Vec<u8> },
    /// Marks of objects that the sender has forgotten, with the key of their hashes.
    Marks { key: MarkKey, marks: Vec<Mark> },
    /// Objects of a type of the commit before were forgotten: the number of the type, and the root
    /// of the tree of the others.
    Rest { number: u32, root: Root },
    /// All wanted commits were sent.
    Done,
    /// The branch has the last commit now.
    Moved,
    /// The request ends without effect.
    Refused { kind: Refusal, message: String },
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) version: u8,
    pub(crate) branch: String,
    /// The types that the requesting side has versioned and allows.
    pub(crate) types: Vec<String>,
    /// Commits that the requesting side has.
    pub(crate) named: Vec<CommitId>,
}

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    Other,
    /// There is no such branch.
    NoBranch,
    /// The branch has commits that the other side lacks.
    Behind,
    /// A type is not versioned or not allowed.
    Types,
    /// Pushes are not allowed.
    ReadOnly,
}

const REFUSALS: [Refusal; 5] = [
    Refusal::Other,
    Refusal::NoBranch,
    Refusal::Behind,
    Refusal::Types,
    Refusal::ReadOnly,
];

const PULL: u8 = 1;
const PUSH: u8 = 2;
const READY: u8 = 3;
const OFFER: u8 = 4;
const WANT: u8 = 5;
const DESCRIPTOR: u8 = 6;
const COMMIT: u8 = 7;
const CHANGES: u8 = 8;
const DONE: u8 = 9;
const MOVED: u8 = 10;
const REFUSED: u8 = 11;
const MARKS: u8 = 12;
const REST: u8 = 13;

impl Message {
    /// Appends the content, and returns the kind.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) -> u8 {
        match self {
            Self::Pull(request) => request.encode(PULL, out),
            Self::Push(request) => request.encode(PUSH, out),
            Self::Ready { known, tip } => {
                put_ids(known, out);
                out.push(tip.is_some().into());
                out.extend(tip.iter().flat_map(CommitId::as_bytes));
                READY
            }
            Self::Offer { tip, ids, is_last } => {
                out.extend(tip.as_bytes());
                out.push((*is_last).into());
                put_ids(ids, out);
                OFFER
            }
            Self::Want(bits) => {
                out.extend(bits);
                WANT
            }
            Self::Descriptor(bytes) => {
                out.extend(bytes);
                DESCRIPTOR
            }
            Self::Commit(bytes) => {
                out.extend(bytes);
                COMMIT
            }
            Self::Changes { is_last, bytes } => {
                out.push((*is_last).into());
                out.extend(bytes);
                CHANGES
            }
            Self::Marks { key, marks } => {
                out.extend(key);
                put_count(marks.len(), out);
                out.extend(marks.iter().flatten());
                MARKS
            }
            Self::Rest { number, root } => {
                out.extend(number.to_le_bytes());
                out.extend(root.address().as_bytes());
                REST
            }
            Self::Done => DONE,
            Self::Moved => MOVED,
            Self::Refused { kind, message } => {
                let kind = REFUSALS.iter().position(|known| known == kind);
                out.push(kind.and_then(|kind| u8::try_from(kind).ok()).unwrap_or(0));
                out.extend(message.as_bytes());
                REFUSED
            }
        }
    }

    /// The message of a kind with this content.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] if the message is malformed.
    pub(crate) fn decode(kind: u8, content: &[u8]) -> Result<Self> {
        let mut input = Input(content);
        let read = decode(kind, &mut input);
        let read = read.filter(|_| input.0.is_empty());
        read.ok_or_else(|| malformed(&format!("a message of kind {kind} has wrong bytes")))
    }
}

fn decode(kind: u8, input: &mut Input<'_>) -> Option<Message> {
    Some(match kind {
        PULL => Message::Pull(Request::decode(input)?),
        PUSH => Message::Push(Request::decode(input)?),
        READY => Message::Ready {
            known: ids(input, NAMED_MAX)?,
            tip: input.optional(|input| input.array().map(CommitId::from_bytes))?,
        },
        OFFER => Message::Offer {
            tip: CommitId::from_bytes(input.array()?),
            is_last: flag(input)?,
            ids: ids(input, OFFERED_MAX)?,
        },
        WANT => Message::Want(rest(input)),
        DESCRIPTOR => Message::Descriptor(rest(input)),
        COMMIT => Message::Commit(rest(input)),
        CHANGES => Message::Changes {
            is_last: flag(input)?,
            bytes: rest(input),
        },
        MARKS => Message::Marks {
            key: input.array()?,
            marks: input
                .list(Input::array)
                .filter(|marks| marks.len() <= MARKS_MAX)?,
        },
        REST => Message::Rest {
            number: u32::from_le_bytes(input.array()?),
            root: Root::from_address(Address::from_bytes(input.array()?)),
        },
        DONE => Message::Done,
        MOVED => Message::Moved,
        REFUSED => Message::Refused {
            kind: *REFUSALS.get(usize::from(input.byte()?))?,
            message: String::from_utf8(rest(input)).ok()?,
        },
        _ => return None,
    })
}

impl Request {
    fn encode(&self, kind: u8, out: &mut Vec<u8>) -> u8 {
        out.push(self.version);
        put_bytes(self.branch.as_bytes(), out);
        put_count(self.types.len(), out);
        for name in &self.types {
            put_bytes(name.as_bytes(), out);
        }
        put_ids(&self.named, out);
        kind
    }

    fn decode(input: &mut Input<'_>) -> Option<Self> {
        let version = input.byte()?;
        // The content of another version is not known.
        if version != VERSION {
            input.0 = &[];
            return Some(Self {
                version,
                branch: String::new(),
                types: Vec::new(),
                named: Vec::new(),
            });
        }
        Some(Self {
            version,
            branch: input.text()?,
            types: input.list(Input::text)?,
            named: ids(input, NAMED_MAX)?,
        })
    }
}

fn put_ids(ids: &[CommitId], out: &mut Vec<u8>) {
    put_count(ids.len(), out);
    out.extend(ids.iter().flat_map(CommitId::as_bytes));
}

fn ids(input: &mut Input<'_>, max: usize) -> Option<Vec<CommitId>> {
    let ids = input.list(|input| input.array().map(CommitId::from_bytes))?;
    (ids.len() <= max).then_some(ids)
}

fn flag(input: &mut Input<'_>) -> Option<bool> {
    match input.byte()? {
        0 => Some(false),
        1 => Some(true),
        _ => None,
    }
}

fn rest(input: &mut Input<'_>) -> Vec<u8> {
    std::mem::take(&mut input.0).to_vec()
}

/// The error of a peer that sends other bytes than the exchange allows.
pub(crate) fn malformed(why: &str) -> Error {
    let message = format!("cannot sync: the other side has sent wrong bytes: {why}");
    Error::new(ErrorKind::Corrupt, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(byte: u8) -> CommitId {
        CommitId::from_bytes([byte; 32])
    }

    fn samples() -> Vec<Message> {
        let request = Request {
            version: VERSION,
            branch: "main".to_owned(),
            types: vec!["item".to_owned(), "other".to_owned()],
            named: vec![id(1), id(2)],
        };
        vec![
            Message::Pull(request.clone()),
            Message::Push(request),
            Message::Ready {
                known: vec![id(3)],
                tip: Some(id(4)),
            },
            Message::Offer {
                tip: id(1),
                ids: vec![id(5), id(6)],
                is_last: true,
            },
            Message::Want(vec![3]),
            Message::Descriptor(vec![1, 2]),
            Message::Commit(vec![]),
            Message::Changes {
                is_last: false,
                bytes: vec![9],
            },
            Message::Marks {
                key: [7; 32],
                marks: vec![[8; 32], [9; 32]],
            },
            Message::Rest {
                number: 1,
                root: Root::EMPTY,
            },
            Message::Done,
            Message::Moved,
            Message::Refused {
                kind: Refusal::Behind,
                message: "no".to_owned(),
            },
        ]
    }

    #[test]
    fn messages_are_read_as_they_were_written() {
        for message in samples() {
            let mut content = Vec::new();
            let kind = message.encode(&mut content);
            assert_eq!(Message::decode(kind, &content).unwrap(), message);
        }
    }

    #[test]
    fn messages_that_are_cut_or_too_long_are_refused() {
        for message in samples() {
            let mut content = Vec::new();
            let kind = message.encode(&mut content);
            let is_open = matches!(kind, WANT | DESCRIPTOR | COMMIT | CHANGES | REFUSED);
            for length in 0..content.len() {
                let cut = Message::decode(kind, &content[..length]);
                assert!(is_open || cut.is_err(), "{message:?} {length}");
            }
            content.push(0);
            let long = Message::decode(kind, &content);
            assert!(is_open || long.is_err(), "{message:?}");
        }
        assert!(Message::decode(0, &[]).is_err());
        assert!(Message::decode(14, &[]).is_err());
    }

    #[test]
    fn request_of_another_version_is_read_as_such() {
        let Message::Pull(request) = Message::decode(PULL, &[2, 9, 9, 9]).unwrap() else {
            panic!("another message");
        };
        assert_eq!(request.version, 2);
    }

    #[test]
    fn list_that_claims_more_members_than_it_has_bytes_takes_no_memory() {
        let content = [&[0; 32][..], &[1], &[255; 4]].concat();
        assert!(Message::decode(OFFER, &content).is_err());
    }
}
