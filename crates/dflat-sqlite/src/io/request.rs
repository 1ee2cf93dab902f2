//! A call about to be made.

#[cfg(not(feature = "faults"))]
use std::marker::PhantomData;

use super::call::{FileKind, Operation};
use super::counter::FileCounters;
#[cfg(feature = "faults")]
use super::faults::recording::Event;

/// A call about to be made.
pub(super) struct Call<'e> {
    /// The counters of a call on an open file; `None` for a call by name.
    pub(super) counters: Option<&'e FileCounters>,
    pub(super) kind: FileKind,
    pub(super) operation: Operation,
    /// The number of bytes requested; 1 for calls without bytes.
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

    /// The call with the change that it makes.
    #[cfg(feature = "faults")]
    pub(super) const fn with(self, effect: Effect<'e>) -> Self {
        Self { effect, ..self }
    }

    /// The call with the change that it makes.
    #[cfg(not(feature = "faults"))]
    pub(super) const fn with(self, _effect: Effect<'e>) -> Self {
        self
    }
}

/// The change that a call makes, for a recording.
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

/// Empty, because nothing is recorded without the feature `faults`.
#[cfg(not(feature = "faults"))]
#[derive(Clone, Copy)]
pub(super) struct Effect<'e>(PhantomData<&'e [u8]>);

#[cfg(feature = "faults")]
impl<'e> Effect<'e> {
    pub(super) const NOTHING: Self = Self::Nothing;
    pub(super) const OPEN: Self = Self::Open;

    /// The effect of writing bytes from `offset` on.
    pub(super) const fn write(offset: i64, content: &'e [u8]) -> Self {
        Self::Write {
            offset: offset.unsigned_abs(),
            content,
        }
    }

    /// The effect of cutting or extending a file to a length.
    pub(super) const fn truncate(length: i64) -> Self {
        Self::Truncate {
            length: length.unsigned_abs(),
        }
    }

    /// The effect of syncing a file, and its directory if `directory` is true.
    pub(super) const fn flush(directory: bool) -> Self {
        Self::Flush { directory }
    }

    /// The effect of deleting a file, and of syncing its directory if `directory` is true.
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
    /// Whether a recording contains the call. Temporary files are not recorded: several may exist
    /// at a time, and none of them is left after a loss of power.
    pub(super) const fn is_recorded(&self) -> bool {
        !matches!(self.effect, Effect::Nothing) && !matches!(self.kind, FileKind::Temporary)
    }

    /// The event of the call in a recording, given the number of bytes that were processed.
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
