//! Decides when unused pages are given back: some at a time, while no transaction writes.
//!
//! A commit that leaves enough unused pages starts this. The first step is made when no transaction
//! has written for a while; transactions may write between the steps.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use dflat_engine::Result;

use crate::io::Space;
use crate::options::Reclaim;
use crate::upkeep::free_pages::Reclaimed;

/// The policy of giving pages back, and the writes that happened meanwhile.
pub(crate) struct Reclaiming {
    reclaim: Reclaim,
    /// How often write access was given back.
    writes: AtomicU64,
    /// The value of `writes` when the next step was put into the queue.
    writes_seen: AtomicU64,
    /// Whether the file can't give back pages.
    is_unable: AtomicBool,
}

/// The next piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NextReclaim {
    /// A step of so many pages.
    Step(u32),
    /// A step, after this time.
    Wait(Duration),
    /// A checkpoint: enough was given back.
    Checkpoint,
    Nothing,
}

impl Reclaiming {
    pub(crate) const fn new(reclaim: Reclaim) -> Self {
        Self {
            reclaim,
            writes: AtomicU64::new(0),
            writes_seen: AtomicU64::new(0),
            is_unable: AtomicBool::new(false),
        }
    }

    /// Notes a write, and the unused space after it, if that is known. If pages are to be given
    /// back, returns how long after the last write.
    pub(crate) fn note_write(&self, space: Option<Space>) -> Option<Duration> {
        self.writes.fetch_add(1, Ordering::Relaxed);
        let is_due = space.is_some_and(|space| self.reclaim.is_due(space));
        match self.reclaim {
            Reclaim::Idle { after, .. } if is_due && !self.is_unable() => Some(after),
            _ => None,
        }
    }

    /// Notes that a step is put into the queue. Returns whether there was a write since the last
    /// step was.
    pub(crate) fn note_queued(&self) -> bool {
        let writes = self.writes.load(Ordering::Relaxed);
        self.writes_seen.swap(writes, Ordering::Relaxed) != writes
    }

    /// The work that follows when a step is due.
    pub(crate) fn begin(&self) -> NextReclaim {
        match self.reclaim {
            Reclaim::Never => NextReclaim::Nothing,
            Reclaim::Idle { after, .. } if self.note_queued() => NextReclaim::Wait(after),
            Reclaim::Idle { pages, .. } => NextReclaim::Step(pages),
        }
    }

    /// The work that follows a step. A step that failed is tried again after a later commit.
    pub(crate) fn end(&self, reclaimed: &Result<Reclaimed>) -> NextReclaim {
        let Reclaim::Idle { pages, after, .. } = self.reclaim else {
            return NextReclaim::Nothing;
        };
        match reclaimed {
            Ok(Reclaimed::Space(space)) if self.reclaim.is_done(*space) => NextReclaim::Checkpoint,
            Ok(Reclaimed::Space(_)) => {
                // The step itself is one write.
                let own = self.writes_seen.fetch_add(1, Ordering::Relaxed) + 1;
                if self.writes.load(Ordering::Relaxed) == own {
                    NextReclaim::Step(pages)
                } else {
                    self.note_queued();
                    NextReclaim::Wait(after)
                }
            }
            Ok(Reclaimed::Unable) => {
                self.is_unable.store(true, Ordering::Relaxed);
                NextReclaim::Nothing
            }
            Ok(Reclaimed::Nothing) => {
                self.note_queued();
                NextReclaim::Wait(after)
            }
            Err(_) => NextReclaim::Nothing,
        }
    }

    /// Whether the file can't give back pages.
    pub(crate) fn is_unable(&self) -> bool {
        self.is_unable.load(Ordering::Relaxed)
    }

    /// Notes that the file, which could not give back pages, may be able to now.
    pub(crate) fn set_able(&self) {
        self.is_unable.store(false, Ordering::Relaxed);
    }
}

impl Reclaim {
    /// Whether there is enough unused space for a first step.
    fn is_due(self, space: Space) -> bool {
        match self {
            Self::Never => false,
            Self::Idle { pages, percent, .. } => {
                space.free_pages >= u64::from(pages) && space.free_percent() > u64::from(percent)
            }
        }
    }

    /// Whether enough was given back: half of the share may stay, for later writes.
    fn is_done(self, space: Space) -> bool {
        match self {
            Self::Never => true,
            Self::Idle { percent, .. } => space.free_percent() <= u64::from(percent / 2),
        }
    }
}

#[cfg(test)]
mod tests;
