//! The index of a write-ahead log, in the memory of one connection.

use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// A part of the index. SQLite stores numbers of up to eight bytes in it. SQLite writes them
/// without Rust's knowledge, which atomic numbers permit.
type Region = Arc<[AtomicU64]>;

/// The regions that SQLite requested. A region keeps its address.
#[derive(Default)]
pub(super) struct MemoryIndex(RefCell<Vec<Region>>);

impl MemoryIndex {
    /// The region with a number. Null if the region does not exist and `make` is false.
    pub(super) fn region(&self, number: c_int, bytes: c_int, make: bool) -> *mut c_void {
        let mut regions = self.0.borrow_mut();
        let (Ok(number), Ok(bytes)) = (usize::try_from(number), usize::try_from(bytes)) else {
            return ptr::null_mut();
        };
        while make && regions.len() <= number {
            let empty = std::iter::repeat_with(AtomicU64::default);
            regions.push(empty.take(bytes.div_ceil(8)).collect());
        }
        regions.get(number).map_or(ptr::null_mut(), |region| {
            region.as_ptr().cast_mut().cast::<c_void>()
        })
    }

    /// Drops all regions. SQLite does not use them any more.
    pub(super) fn clear(&self) {
        self.0.borrow_mut().clear();
    }
}
