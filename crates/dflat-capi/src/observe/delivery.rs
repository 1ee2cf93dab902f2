//! Deliveries of results, with their differences.

use std::sync::OnceLock;

use dflat_engine::observe::Difference;

use crate::boundary::{Given64, GivenMoves, In, Kind, Out, OutHandle, RawMove, export};
use crate::read::ResultHandle;

/// A delivery, lent to a callback.
pub(crate) struct DeliveryHandle {
    result: ResultHandle,
    difference: Difference,
    commits: u64,
    /// Made when they are asked for.
    lists: OnceLock<Lists>,
}

impl Kind for DeliveryHandle {
    const TAG: u64 = 0xDF1A_700A;
    const NAME: &'static str = "dflat_delivery";
}

/// The positions of a difference, one by one.
struct Lists {
    deleted: Vec<u64>,
    inserted: Vec<u64>,
    moved: Vec<RawMove>,
    updated: Vec<u64>,
}

impl DeliveryHandle {
    pub(crate) const fn new(result: ResultHandle, difference: Difference, commits: u64) -> Self {
        let lists = OnceLock::new();
        Self {
            result,
            difference,
            commits,
            lists,
        }
    }

    fn lists(&self) -> &Lists {
        self.lists.get_or_init(|| {
            let list = |positions: &dflat_engine::observe::Positions| {
                positions.iter().map(|position| position as u64).collect()
            };
            let difference = &self.difference;
            let moved = difference.moved().iter();
            Lists {
                deleted: list(difference.deleted()),
                inserted: list(difference.inserted()),
                moved: moved
                    .map(|moved| RawMove::new(moved.from, moved.to))
                    .collect(),
                updated: list(difference.updated()),
            }
        })
    }
}

/// A difference: `dflat_difference`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct RawDifference {
    deleted: Given64,
    inserted: Given64,
    moved: GivenMoves,
    updated: Given64,
}

export! {
    fn dflat_delivery_result(
        delivery: In<'_, DeliveryHandle>,
        result: OutHandle<'_, ResultHandle>,
    ) {
        result.begin()?;
        result.set(delivery.get()?.result.another());
    }

    fn dflat_delivery_difference(
        delivery: In<'_, DeliveryHandle>,
        difference: Out<'_, RawDifference>,
    ) {
        let none = RawDifference {
            deleted: Given64::of(&[]),
            inserted: Given64::of(&[]),
            moved: GivenMoves::of(&[]),
            updated: Given64::of(&[]),
        };
        difference.begin("difference", none)?;
        let lists = delivery.get()?.lists();
        difference.set(RawDifference {
            deleted: Given64::of(&lists.deleted),
            inserted: Given64::of(&lists.inserted),
            moved: GivenMoves::of(&lists.moved),
            updated: Given64::of(&lists.updated),
        });
    }

    fn dflat_delivery_commit(
        delivery: In<'_, DeliveryHandle>,
        commit: Out<'_, u64>,
        commits: Out<'_, u64>,
    ) {
        commit.set(0);
        commits.set(0);
        let delivery = delivery.get()?;
        commit.set(delivery.result.fetched.seq.0);
        commits.set(delivery.commits);
    }
}
