//! A call about to be made.

#[cfg(not(feature = "faults"))]
use std::marker::PhantomData;

use super::call::{FileKind, Operation};
use super::counter::FileCounters;
#[cfg(feature = "faults")]
use super::faults::recording::Event;

/// A call about to be made.
pub(super) struct Call<'e> {
    /// Where a call on an open file is counted; `None` for a call by name.
    pub(super) counters: Option<&'e FileCounters>,
    pub(super) kind: FileKind,
    pub(super) operation: Operation,
    /// The bytes asked for; 1 where there are none.
    pub(super) length: usize,
    #[cfg(feature = "faults")]
    effect: Effect<'e>,
}

impl<'e> Call<'e> {
    /// A call that changes nothing.
    pub(super) const fn new(
        counters: Option<&'e FileCounters>,
        kind: FileKind,
        operation: Operation,
        length: usize,
    ) -> Self {
        Self {
            counters,
            kind,
            operation,
            length,
            #[cfg(feature = "faults")]
            effect: Effect::NOTHING,
        }
    }

    /// The call, which changes something.
    #[cfg(feature = "faults")]
    pub(super) const fn with(self, effect: Effect<'e>) -> Self {
        Self { effect, ..self }
    }

    /// The call, which changes something.
    #[cfg(not(feature = "faults"))]
    pub(super) const fn with(self, _effect: Effect<'e>) -> Self {
        self
    }
}

/// What a call changes, for a recording.
#[cfg(feature = "faults")]
#[derive(Clone, Copy)]
pub(super) enum Effect<'e> {
    Nothing,
    Open,
    Write { offset: u64, content: &'e [u8] },
    Truncate { length: u64 },
    Flush { directory: bool },
    Delete { directory: bool },
}

/// Nothing, because nothing is recorded without the feature `faults`.
#[cfg(not(feature = "faults"))]
#[derive(Clone, Copy)]
pub(super) struct Effect<'e>(PhantomData<&'e [u8]>);

#[cfg(feature = "faults")]
impl<'e> Effect<'e> {
    pub(super) const NOTHING: Self = Self::Nothing;
    pub(super) const OPEN: Self = Self::Open;

    /// Of bytes that are written from `offset` on.
    pub(super) const fn write(offset: i64, content: &'e [u8]) -> Self {
        Self::Write {
            offset: offset.unsigned_abs(),
            content,
        }
    }

    /// Of a file that is cut or extended to a length.
    pub(super) const fn truncate(length: i64) -> Self {
        Self::Truncate {
            length: length.unsigned_abs(),
        }
    }

    /// Of a file that is synced, and maybe its directory.
    pub(super) const fn flush(directory: bool) -> Self {
        Self::Flush { directory }
    }

    /// Of a file that is deleted, and maybe its directory synced.
    pub(super) const fn delete(directory: bool) -> Self {
        Self::Delete { directory }
    }
}

#[cfg(not(feature = "faults"))]
impl<'e> Effect<'e> {
    pub(super) const NOTHING: Self = Self(PhantomData);
    pub(super) const OPEN: Self = Self::NOTHING;

    pub(super) const fn write(_offset: i64, _content: &'e [u8]) -> Self {
        Self::NOTHING
    }

    pub(super) const fn truncate(_length: i64) -> Self {
        Self::NOTHING
    }

    pub(super) const fn flush(_directory: bool) -> Self {
        Self::NOTHING
    }

    pub(super) const fn delete(_directory: bool) -> Self {
        Self::NOTHING
    }
}

#[cfg(feature = "faults")]
impl Call<'_> {
    /// Whether it leaves something in a recording. Of temporary files several may be there at a
    /// time, and none is left after a loss of power.
    pub(super) const fn is_recorded(&self) -> bool {
        !matches!(self.effect, Effect::Nothing) && !matches!(self.kind, FileKind::Temporary)
    }

    /// What it leaves in a recording, given the bytes that were done.
    pub(super) fn event(&self, done: usize) -> Option<Event> {
        let kind = self.kind;
        Some(match self.effect {
            Effect::Nothing => return None,
            Effect::Open => Event::Open { kind },
            Effect::Write { offset, content } => Event::Write {
                kind,
                offset,
                content: content.get(..done).unwrap_or(content).to_vec(),
            },
            Effect::Truncate { length } => Event::Truncate { kind, length },
            Effect::Flush { directory } => Event::Flush { kind, directory },
            Effect::Delete { directory } => Event::Delete { kind, directory },
        })
    }
}
