//! An allocator that counts the bytes that Rust code holds, while counting is switched on.
//!
//! Memory that SQLite allocates is not counted, because SQLite does not use Rust's allocator.
#![allow(
    unsafe_code,
    reason = "an allocator is unsafe by definition; this one only counts"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicIsize, Ordering};
use std::sync::{Mutex, PoisonError};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// Off while time is measured: counting costs about as much as allocating.
static ON: AtomicBool = AtomicBool::new(false);
/// Whether the bytes of threads that are not [`COUNTED`] are counted, too.
static ALL: AtomicBool = AtomicBool::new(false);
static HELD: AtomicIsize = AtomicIsize::new(0);
static PEAK: AtomicIsize = AtomicIsize::new(0);
/// Held by the thread that counts.
static TURN: Mutex<()> = Mutex::new(());

thread_local! {
    static COUNTED: Cell<bool> = const { Cell::new(false) };
}

struct Counting;

/// The change of the held memory by some work.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    /// The bytes held after the work, minus those held before it.
    pub held_bytes: isize,
    /// The maximum of the bytes held during the work, minus those held before it.
    pub peak_bytes: isize,
}

/// Runs `work` and counts the bytes of all threads. Memory that was held before and is freed by
/// `work` counts as negative.
pub fn counted<R>(work: impl FnOnce() -> R) -> (R, Usage) {
    count_while(true, work)
}

/// Runs `work` and counts the bytes of this thread, as [`counted`] counts those of all threads.
pub fn counted_here<R>(work: impl FnOnce() -> R) -> (R, Usage) {
    count_while(false, work)
}

fn count_while<R>(all: bool, work: impl FnOnce() -> R) -> (R, Usage) {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    HELD.store(0, Ordering::SeqCst);
    PEAK.store(0, Ordering::SeqCst);
    ALL.store(all, Ordering::SeqCst);
    COUNTED.set(true);
    ON.store(true, Ordering::SeqCst);
    let result = work();
    ON.store(false, Ordering::SeqCst);
    COUNTED.set(false);
    let usage = Usage {
        held_bytes: HELD.load(Ordering::SeqCst),
        peak_bytes: PEAK.load(Ordering::SeqCst),
    };
    (result, usage)
}

#[inline]
fn count(bytes: isize) {
    if ON.load(Ordering::Relaxed) && (ALL.load(Ordering::Relaxed) || COUNTED.get()) {
        let held = HELD.fetch_add(bytes, Ordering::Relaxed) + bytes;
        PEAK.fetch_max(held, Ordering::Relaxed);
    }
}

// SAFETY: Every call goes to the system's allocator, unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size().cast_signed());
        // SAFETY: The caller keeps the contract, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size().cast_signed());
        // SAFETY: The caller keeps the contract, which is the same.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-layout.size().cast_signed());
        // SAFETY: The caller keeps the contract, which is the same.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size.cast_signed() - layout.size().cast_signed());
        // SAFETY: The caller keeps the contract, which is the same.
        unsafe { System.realloc(pointer, layout, size) }
    }
}
