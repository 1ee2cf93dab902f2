//! The number and the sizes of a type's objects.

use std::ops::ControlFlow;

use dflat_engine::storage::{ScanPlan, Source, View};
use dflat_model::Table;

use crate::failure::Failure;
use crate::file::OpenFile;
use crate::session::Session;

/// The number of powers of two that a size can reach.
const POWERS: usize = 40;

/// The sizes of a type's objects.
pub(super) struct Sizes {
    pub(super) objects: u64,
    /// The bytes of all objects.
    pub(super) bytes: u64,
    pub(super) largest: u64,
    /// The number of objects of up to 1, 2, 4, .. bytes, and above the number before.
    pub(super) powers: [u64; POWERS],
}

impl Sizes {
    /// Reads every row of a table, without verifying it.
    pub(super) fn of(
        (file, session): (&OpenFile, &Session),
        table: &Table,
    ) -> Result<Self, Failure> {
        let mut sizes = Self {
            objects: 0,
            bytes: 0,
            largest: 0,
            powers: [0; POWERS],
        };
        let plan = ScanPlan {
            table,
            source: Source::Rows,
            payload: true,
        };
        file.source().read(table, View::Latest, |snapshot, _| {
            snapshot.scan(&plan, &mut |row| {
                sizes.add(row.payload.len() as u64);
                match session.is_interrupted() {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                }
            })
        })?;
        session.check()?;
        Ok(sizes)
    }

    fn add(&mut self, bytes: u64) {
        self.objects += 1;
        self.bytes += bytes;
        self.largest = self.largest.max(bytes);
        let power = bytes.max(1).next_power_of_two().trailing_zeros() as usize;
        if let Some(count) = self.powers.get_mut(power) {
            *count += 1;
        }
    }
}
