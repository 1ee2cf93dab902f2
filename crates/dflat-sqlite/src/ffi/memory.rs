//! The freed memory that the C library keeps for the process.
//!
//! After a commit of another connection, a reader frees its page cache and reads the pages again.
//! The GNU C library gives freed memory back to the operating system if more than 128 KiB are free
//! at the end of a heap. Then each page that the reader reads again causes a page fault, which
//! takes longer than the read.
//!
//! If a program frees a block of at least 128 KiB that has a memory map of its own, the C library
//! raises this limit to twice the size of the block, up to 64 MiB. If the program has set a limit,
//! that limit stays (`man 3 mallopt`, `M_MMAP_THRESHOLD` and `M_TRIM_THRESHOLD`). So Dflat
//! allocates one such block, and frees it.
#![allow(
    unsafe_code,
    reason = "SQLite's C API is a set of functions on raw pointers"
)]

use std::sync::Once;

use libsqlite3_sys as sqlite;

/// The bytes of the block. The C library then keeps up to twice as many at the end of each heap:
/// 16 MiB, as much as the page cache of a connection has by default.
const BLOCK_BYTES: u64 = 8 * 1024 * 1024;

/// Makes the GNU C library keep freed memory for the next query or transaction.
///
/// Only the first call in a process does this. With another C library, or if the program has set a
/// limit, the call changes nothing. The block is never written, so it takes no memory.
pub(crate) fn keep_freed_memory() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: The block is freed once, and nothing reads or writes its bytes. SQLite allows a
        // block that could not be allocated.
        unsafe { sqlite::sqlite3_free(sqlite::sqlite3_malloc64(BLOCK_BYTES)) };
    });
}
