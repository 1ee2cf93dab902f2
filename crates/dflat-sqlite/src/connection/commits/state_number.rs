//! The numbers that name states of a file.

use dflat_engine::storage::StateId;

use super::CommitCount;
use crate::ffi::LogCount;

/// The number of bits at the top of an id that tell the kind of the state.
const KIND_BITS: u32 = 2;

/// The number of bits of a short digest.
const DIGEST_BITS: u32 = 14;
const DIGEST_MASK: u32 = (1 << DIGEST_BITS) - 1;

/// The part of a log's digest that the id of a state contains. It tells apart two states with the
/// same count, of which the later one belongs to a log that counts anew.
pub(crate) const fn short_digest(log: LogCount) -> u32 {
    (log.digest ^ log.digest >> DIGEST_BITS ^ log.digest >> (2 * DIGEST_BITS)) & DIGEST_MASK
}

/// The parts of the id of a state.
pub(super) enum StateNumber {
    NoFile,
    File(u32),
    Log { era: u32, digest: u32, count: u32 },
    Stamps(u64),
    Unknown,
}

impl StateNumber {
    pub(super) const ERA_MAX: u32 = (1 << 16) - 1;

    pub(super) fn at(count: CommitCount, era: u32) -> Self {
        match count {
            CommitCount::File(count) => Self::File(count),
            CommitCount::Log(log) => Self::Log {
                era,
                digest: short_digest(log),
                count: log.commits,
            },
            CommitCount::Stamps(digest) => Self::Stamps(digest),
        }
    }

    pub(super) fn id(&self) -> StateId {
        let (kind, era, digest, count) = match *self {
            Self::NoFile => (0, 0, 0, 0),
            Self::File(count) => (1, 0, 0, count),
            Self::Log { era, digest, count } => (2, era, digest, count),
            // Not the id of `NoFile`.
            Self::Stamps(digest) => return StateId(digest >> KIND_BITS | 1),
            Self::Unknown => return StateId::UNKNOWN,
        };
        let high = kind << 30 | era << DIGEST_BITS | digest;
        StateId(u64::from(high) << 32 | u64::from(count))
    }

    pub(super) fn of(StateId(id): StateId) -> Self {
        // The upper and the lower half.
        let (high, count) = ((id >> 32) as u32, (id & 0xFFFF_FFFF) as u32);
        let era = high >> DIGEST_BITS & Self::ERA_MAX;
        let digest = high & DIGEST_MASK;
        match high >> 30 {
            0 if id == 0 => Self::NoFile,
            0 => Self::Stamps(id << KIND_BITS),
            1 => Self::File(count),
            2 => Self::Log { era, digest, count },
            _ => Self::Unknown,
        }
    }
}
