//! Tests of the gathered frames.

use std::cell::{Cell, RefCell};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher, RandomState};

use super::*;

const PAGE: usize = 4096;
const FRAME: usize = HEADER_BYTES + PAGE;

/// A log whose writes are gathered.
#[derive(Default)]
struct Log {
    buffer: LogBuffer,
    /// The bytes of each write, and its offset.
    writes: RefCell<Vec<(i64, Vec<u8>)>>,
    /// Whether writes fail.
    is_full: Cell<bool>,
}

impl Log {
    fn through(&self, offset: i64, bytes: &[u8]) -> c_int {
        if self.is_full.get() {
            return sqlite::SQLITE_FULL;
        }
        self.writes.borrow_mut().push((offset, bytes.to_vec()));
        sqlite::SQLITE_OK
    }

    fn write(&self, offset: usize, bytes: &[u8]) -> c_int {
        let through = |offset, bytes: &[u8]| self.through(offset, bytes);
        self.buffer.write(offset as i64, bytes, through)
    }

    fn flush(&self) -> c_int {
        self.buffer
            .flush(|offset, bytes| self.through(offset, bytes))
    }

    /// Writes a frame as SQLite does. Returns the result of the second call.
    fn frame(&self, number: usize, fill: u8, is_last: bool) -> c_int {
        let (header, page) = frame(fill, is_last);
        let offset = offset_of(number);
        assert_eq!(self.write(offset, &header), sqlite::SQLITE_OK);
        self.write(offset + HEADER_BYTES, &page)
    }

    /// The number of bytes of each write.
    fn lengths(&self) -> Vec<usize> {
        self.writes
            .borrow()
            .iter()
            .map(|(_, bytes)| bytes.len())
            .collect()
    }

    /// The bytes of the log after all writes.
    fn content(&self) -> Vec<u8> {
        let mut content = Vec::new();
        for (offset, bytes) in self.writes.borrow().iter() {
            put(&mut content, *offset as usize, bytes);
        }
        content
    }
}

fn offset_of(number: usize) -> usize {
    32 + number * FRAME
}

fn frame(fill: u8, is_last: bool) -> ([u8; HEADER_BYTES], [u8; PAGE]) {
    let mut header = [fill; HEADER_BYTES];
    header[4..8].copy_from_slice(&u32::from(is_last).to_be_bytes());
    (header, [fill; PAGE])
}

fn put(content: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    content.resize(content.len().max(offset + bytes.len()), 0);
    content[offset..offset + bytes.len()].copy_from_slice(bytes);
}

#[test]
fn transaction_is_written_at_once_at_the_end_of_its_last_frame() {
    let log = Log::default();
    log.write(0, &[1; 32]);
    log.frame(0, 2, false);
    log.frame(1, 3, false);
    assert_eq!(log.lengths(), [32]);
    log.frame(2, 4, true);
    assert_eq!(log.lengths(), [32, 3 * FRAME]);
    log.frame(3, 5, true);
    assert_eq!(log.lengths(), [32, 3 * FRAME, FRAME]);
}

#[test]
fn frames_take_bounded_memory() {
    let log = Log::default();
    for number in 0..100 {
        log.frame(number, 1, false);
        assert!(log.buffer.0.borrow().bytes.len() < BYTES_MAX + FRAME);
    }
    assert_eq!(log.lengths(), [15 * FRAME; 6]);
}

#[test]
fn dropped_frames_are_never_written() {
    let log = Log::default();
    log.frame(0, 1, false);
    log.buffer.note_lock(false);
    log.frame(1, 2, true);
    assert_eq!(log.flush(), sqlite::SQLITE_OK);
    assert_eq!(
        log.writes.borrow().as_slice(),
        [(
            offset_of(1) as i64,
            [&frame(2, true).0[..], &frame(2, true).1].concat()
        )]
    );
}

#[test]
fn failed_write_is_returned_and_not_repeated() {
    let log = Log::default();
    log.is_full.set(true);
    log.frame(0, 1, false);
    assert_eq!(log.flush(), sqlite::SQLITE_FULL);
    assert_eq!(log.flush(), sqlite::SQLITE_OK);
    assert_eq!(log.frame(0, 1, true), sqlite::SQLITE_FULL);
    log.frame(1, 1, false);
    // A write elsewhere fails if the gathered frames cannot be written before.
    assert_eq!(log.write(0, &[1; 32]), sqlite::SQLITE_FULL);
    log.is_full.set(false);
    assert_eq!(log.flush(), sqlite::SQLITE_OK);
    assert_eq!(log.lengths(), [0; 0]);
}

/// Without the header of its last frame, a transaction has no end in the log.
#[test]
fn transaction_whose_end_is_not_synced_is_taken_back() {
    let log = Log::default();
    let take_back = || {
        let writes = log.lengths().len();
        log.buffer
            .take_back(|offset, bytes| log.through(offset, bytes));
        log.lengths().len() - writes
    };
    log.buffer.note_lock(true);
    log.frame(0, 1, true);
    log.buffer.note_lock(false);
    assert_eq!(take_back(), 0, "the transaction is over");
    log.buffer.note_lock(true);
    log.frame(1, 2, false);
    assert_eq!(take_back(), 0, "the transaction has no end");
    // The last frame twice, as on devices that damage neighbours of the bytes that they write.
    log.frame(2, 3, true);
    log.frame(3, 3, true);
    assert_eq!(take_back(), 1);
    let mut expected = Vec::new();
    for (number, fill) in [1, 2, 3, 3].into_iter().enumerate() {
        let (header, page) = frame(fill, number != 1);
        let header = if number == 2 {
            [0; HEADER_BYTES]
        } else {
            header
        };
        put(
            &mut expected,
            offset_of(number),
            &[&header[..], &page].concat(),
        );
    }
    assert!(log.content() == expected);
    assert_eq!(take_back(), 0, "it is taken back");
    // Without the lock, the frames of another transaction are not overwritten.
    log.buffer.note_lock(false);
    log.frame(2, 4, true);
    assert_eq!(take_back(), 0, "the connection has no lock");
}

/// A random number below `limit`.
fn below(limit: usize, seed: u64, draw: &mut u64) -> usize {
    *draw += 1;
    let number = BuildHasherDefault::<DefaultHasher>::new().hash_one((seed, *draw));
    number as usize % limit
}

/// Random writes give the bytes that they give without a buffer, and each transaction is complete
/// once its last frame is written.
#[test]
fn random_writes_agree_with_writes_without_a_buffer() {
    let seed = RandomState::new().hash_one(0);
    let mut draw = 0;
    let mut random = |limit| below(limit, seed, &mut draw);
    for _ in 0..200 {
        let (log, mut expected) = (Log::default(), Vec::new());
        let mut next = 0;
        for fill in 1..=60 {
            let place = offset_of(random(next + 1));
            let is_last = random(3) == 0;
            let (offset, bytes) = match random(10) {
                0 => (0, vec![fill; 32]),
                // A header with another checksum.
                1 => (place, frame(fill, false).0.to_vec()),
                // A page that is written again.
                2 => (place + HEADER_BYTES, vec![fill; PAGE]),
                _ => {
                    // After a savepoint was undone, its frames are written over.
                    next -= random(4).min(next) * usize::from(random(5) == 0);
                    let (header, page) = frame(fill, is_last);
                    log.write(offset_of(next), &header);
                    put(&mut expected, offset_of(next), &header);
                    next += 1;
                    (offset_of(next - 1) + HEADER_BYTES, page.to_vec())
                }
            };
            let is_end = bytes.len() == PAGE && log.buffer.0.borrow().is_last;
            put(&mut expected, offset, &bytes);
            log.write(offset, &bytes);
            if is_end {
                assert!(log.content() == expected, "seed {seed}");
            }
            if random(10) == 0 {
                log.flush();
                assert!(log.content() == expected, "seed {seed}");
            }
        }
        log.flush();
        assert!(log.content() == expected, "seed {seed}");
    }
}
