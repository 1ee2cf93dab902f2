//! Frames of the write-ahead log that go to the operating system in one write.
//!
//! SQLite writes each frame in two calls: a header of 24 bytes, then the page. This buffer gathers
//! the frames of a transaction. It writes them at the end of the transaction's last frame, when the
//! buffer is full, and before any other call on the log.
//!
//! Only the connection that writes reads a frame before the last frame of its transaction is
//! written, and its reads are such calls. So no connection can see that a frame is written late.
//!
//! If a transaction is rolled back, another connection may write to the place of its frames next.
//! So the buffer drops all frames before the lock for writing is released.
//!
//! If the last frame of a transaction cannot be written or synced, the commit fails. But a process
//! that opens the file later would find the whole transaction in the log. So the buffer overwrites
//! the header of that frame, without which the transaction has no end. It does so only while the
//! connection has the lock for writing, so it never overwrites a frame of an earlier transaction.
//!
//! The format of frames: <https://www.sqlite.org/fileformat2.html#the_write_ahead_log>.

use std::cell::RefCell;
use std::ffi::c_int;

use libsqlite3_sys as sqlite;

/// The length of a frame's header. SQLite also writes a header alone, if its checksum has changed.
const HEADER_BYTES: usize = 24;

/// If this many bytes are gathered, they are written: 15 frames with pages of the usual 4 KiB.
const BYTES_MAX: usize = 60 * 1024;

/// Frames of one connection that are not written yet.
// Invariant: used by the thread that uses the connection.
#[derive(Default)]
pub(super) struct LogBuffer(RefCell<Pending>);

#[derive(Default)]
struct Pending {
    /// The offset of the first byte in the log.
    start: i64,
    bytes: Vec<u8>,
    /// Whether the last header is that of the last frame of a transaction.
    is_last: bool,
    /// Whether the connection has the lock for writing.
    has_lock: bool,
    /// The offset of the first header that ends the present transaction. On some devices, SQLite
    /// repeats the last frame.
    end: Option<i64>,
    /// Whether the frame of that header was given to the operating system.
    is_ended: bool,
}

impl LogBuffer {
    /// Gathers bytes that SQLite writes, or writes them. `write` writes bytes at an offset.
    pub(super) fn write(
        &self,
        offset: i64,
        content: &[u8],
        write: impl Fn(i64, &[u8]) -> c_int,
    ) -> c_int {
        let mut pending = self.0.borrow_mut();
        if offset != pending.end() {
            let code = pending.flush(&write);
            if code != sqlite::SQLITE_OK {
                return code;
            }
        }
        if let Ok(header) = <&[u8; HEADER_BYTES]>::try_from(content) {
            pending.begin_frame(offset, header);
            return sqlite::SQLITE_OK;
        }
        if pending.bytes.is_empty() {
            return write(offset, content);
        }
        pending.bytes.extend_from_slice(content);
        match pending.is_last || pending.bytes.len() >= BYTES_MAX {
            true => pending.flush(&write),
            false => sqlite::SQLITE_OK,
        }
    }

    /// Writes the gathered bytes, before another call on the log.
    pub(super) fn flush(&self, write: impl Fn(i64, &[u8]) -> c_int) -> c_int {
        self.0.borrow_mut().flush(&write)
    }

    /// Makes the log lack the end of the present transaction, whose frames could not be synced. If
    /// this fails too, a process that opens the file later may find the transaction.
    pub(super) fn take_back(&self, write: impl Fn(i64, &[u8]) -> c_int) {
        self.0.borrow_mut().take_back(&write);
    }

    /// Notes that the lock for writing is taken or released. Drops the gathered bytes, which there
    /// are only if a transaction was rolled back.
    pub(super) fn note_lock(&self, is_taken: bool) {
        let mut pending = self.0.borrow_mut();
        pending.bytes.clear();
        pending.has_lock = is_taken;
        pending.end = None;
        pending.is_ended = false;
    }
}

impl Pending {
    /// The offset after the gathered bytes. If there are none, any offset may follow.
    fn end(&self) -> i64 {
        self.start + self.bytes.len() as i64
    }

    fn begin_frame(&mut self, offset: i64, header: &[u8; HEADER_BYTES]) {
        if self.bytes.is_empty() {
            self.start = offset;
        }
        // The number of pages after the commit in the last frame of a transaction; otherwise 0.
        self.is_last = header[4..8] != [0; 4];
        if self.is_last {
            self.end.get_or_insert(offset);
        }
        self.bytes.extend_from_slice(header);
    }

    fn flush(&mut self, write: &impl Fn(i64, &[u8]) -> c_int) -> c_int {
        if self.bytes.is_empty() {
            return sqlite::SQLITE_OK;
        }
        let code = write(self.start, &self.bytes);
        self.bytes.clear();
        self.is_ended |= self.is_last && self.has_lock;
        if code != sqlite::SQLITE_OK {
            self.take_back(write);
        }
        code
    }

    fn take_back(&mut self, write: &impl Fn(i64, &[u8]) -> c_int) {
        if let Some(end) = self.end.filter(|_| self.is_ended) {
            self.is_ended = false;
            // The caller returns an error already.
            write(end, &[0; HEADER_BYTES]);
        }
    }
}

#[cfg(test)]
mod tests;
