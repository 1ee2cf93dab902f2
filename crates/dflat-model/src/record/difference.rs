//! Differences between two payloads, by bytes.

use super::hash::{pair_of_rest, payload_hashes};
use super::{RecordError, hash_from, payload_hash};
use crate::encoding::{Encode, Input};

/// So many equal bytes between two changed ones are copied. To copy takes three bytes.
const COPIED_MIN: usize = 4;

/// The object before an update as ranges of the object after it, and other bytes between these.
///
/// The lengths and the [hashes](payload_hash) of both objects are part of the difference, so that
/// it is not applied to other bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteDifference<'a> {
    after: Side,
    before: Side,
    ranges: &'a [u8],
}

/// An object of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Side {
    length: usize,
    hash: u64,
}

impl Side {
    fn of(payload: &[u8]) -> Self {
        let (length, hash) = (payload.len(), payload_hash(payload));
        Self { length, hash }
    }

    fn encode(self, out: &mut Vec<u8>) {
        self.length.encode(out);
        out.extend_from_slice(&self.hash.to_le_bytes());
    }

    fn decode(input: &mut Input<'_>) -> Result<Self, RecordError> {
        let length = usize::decode(input)?;
        let hash = hash_from(input)?;
        Ok(Self { length, hash })
    }

    /// Whether these are the bytes of this object.
    fn is(self, payload: &[u8]) -> bool {
        self == Self::of(payload)
    }
}

/// A range to leave out and a range to copy of the object after, then bytes to insert.
struct Range<'a> {
    skipped: usize,
    copied: usize,
    inserted: &'a [u8],
}

impl<'a> Range<'a> {
    fn decode(input: &mut Input<'a>) -> Result<Self, RecordError> {
        let (skipped, copied) = (usize::decode(input)?, usize::decode(input)?);
        let inserted = usize::decode(input)?;
        let inserted = input.bytes(inserted)?;
        Ok(Self {
            skipped,
            copied,
            inserted,
        })
    }
}

impl<'a> ByteDifference<'a> {
    /// Decodes a difference, and checks that its ranges are inside the object after and have the
    /// length of the object before.
    ///
    /// # Errors
    /// [`RecordError::Malformed`].
    pub fn decode(bytes: &'a [u8]) -> Result<Self, RecordError> {
        let mut input = Input::new(bytes);
        let (after, before) = (Side::decode(&mut input)?, Side::decode(&mut input)?);
        let ranges = input.rest;
        let (mut read, mut written) = (0_usize, 0_usize);
        let add = |sum: usize, more: usize| sum.checked_add(more).ok_or(RecordError::Malformed);
        while !input.rest.is_empty() {
            let range = Range::decode(&mut input)?;
            read = add(add(read, range.skipped)?, range.copied)?;
            written = add(add(written, range.copied)?, range.inserted.len())?;
        }
        if read > after.length || written != before.length {
            return Err(RecordError::Malformed);
        }
        Ok(Self {
            after,
            before,
            ranges,
        })
    }

    /// The length and the [hash](payload_hash) of the object after the update.
    #[must_use]
    pub const fn after(&self) -> (usize, u64) {
        (self.after.length, self.after.hash)
    }

    /// The object before the update, from the object after it. The memory is at most that of the
    /// object after and of the difference.
    ///
    /// # Errors
    /// [`RecordError::Mismatch`] if these are not the bytes of the object after, or do not give
    /// those of the object before.
    pub fn apply(&self, after: &[u8]) -> Result<Vec<u8>, RecordError> {
        if !self.after.is(after) {
            return Err(RecordError::Mismatch);
        }
        let mut before = Vec::with_capacity(self.before.length);
        let (mut input, mut rest) = (Input::new(self.ranges), after);
        while !input.rest.is_empty() {
            let range = Range::decode(&mut input)?;
            let left = rest.get(range.skipped..);
            let split = left.and_then(|left| left.split_at_checked(range.copied));
            let (copied, left) = split.ok_or(RecordError::Malformed)?;
            before.extend_from_slice(copied);
            before.extend_from_slice(range.inserted);
            rest = left;
        }
        match self.before.is(&before) {
            true => Ok(before),
            false => Err(RecordError::Mismatch),
        }
    }

    /// Appends the difference that gives `before` from `after`, unless it would be as large as
    /// `before`. Returns whether it was appended.
    pub fn between(after: &[u8], before: &[u8], out: &mut Vec<u8>) -> bool {
        let start = out.len();
        let hashes = payload_hashes(after, before);
        for (payload, hash) in [after, before].into_iter().zip(hashes) {
            let length = payload.len();
            Side { length, hash }.encode(out);
        }
        let mut ranges = Ranges {
            before,
            position: 0,
            skipped: 0,
            copied: 0,
            inserted: 0,
            left_out: 0,
            limit: start + before.len(),
            out,
        };
        let shorter = after.len().min(before.len());
        if after.len() == before.len() {
            let is_smaller = ranges.add_aligned(after, before) && ranges.end();
            if !is_smaller {
                out.truncate(start);
            }
            return is_smaller;
        }
        let aligned = best_split(after, before, shorter);
        // One of the two middles is empty.
        let (after_front, after_rest) = after.split_at(aligned);
        let (before_front, before_rest) = before.split_at(aligned);
        let back = shorter - aligned;
        let (after_middle, after_back) = after_rest.split_at(after_rest.len() - back);
        let (before_middle, before_back) = before_rest.split_at(before_rest.len() - back);
        let is_smaller = ranges.add_aligned(after_front, before_front)
            && ranges.replace(after_middle.len(), before_middle.len())
            && ranges.add_aligned(after_back, before_back)
            && ranges.end();
        if !is_smaller {
            out.truncate(start);
        }
        is_smaller
    }
}

/// The number of bytes that two payloads of different lengths should have before the place where
/// bytes were inserted or removed, so that few other bytes differ.
///
/// Payloads are aligned, so multiples of four are tried, and then the bytes after the best of them.
fn best_split(after: &[u8], before: &[u8], shorter: usize) -> usize {
    let back = |payload: &'_ [u8]| payload.len() - shorter;
    let (after_back, before_back) = (&after[back(after)..], &before[back(before)..]);
    let fronts = words(after).iter().zip(words(before));
    let backs = words(after_back).iter().zip(words(before_back));
    // The number of different words if the split is at a position, less the number at the start.
    let (mut different, mut least, mut best) = (0_isize, 0, 0);
    for (position, ((a, b), (c, d))) in fronts.zip(backs).enumerate() {
        different += isize::from(a != b) - isize::from(c != d);
        if different < least {
            (least, best) = (different, position + 1);
        }
    }
    let mut best = 4 * best;
    let is_equal = |a: &[u8], b: &[u8], at: usize| a.get(at) == b.get(at);
    while best < shorter
        && is_equal(after, before, best)
        && !is_equal(after_back, before_back, best)
    {
        best += 1;
    }
    best
}

fn words(payload: &[u8]) -> &[[u8; 4]] {
    payload.as_chunks().0
}

/// The ranges of a difference while they are written.
struct Ranges<'w> {
    before: &'w [u8],
    /// The end of the inserted bytes in the object before.
    position: usize,
    skipped: usize,
    copied: usize,
    inserted: usize,
    /// The bytes of the object after that the next range leaves out.
    left_out: usize,
    /// The length of `out` from which the difference is too large.
    limit: usize,
    out: &'w mut Vec<u8>,
}

impl Ranges<'_> {
    /// Adds parts of both objects that have one length. Returns false if the difference is too
    /// large. In 16 bytes, the bytes between the first and the last different one are not copied.
    #[inline]
    fn add_aligned(&mut self, after: &[u8], before: &[u8]) -> bool {
        let ((after_pairs, _), (before_pairs, _)) = (after.as_chunks(), before.as_chunks());
        let mut equal = 0;
        for (after, before) in after_pairs.iter().zip(before_pairs) {
            let different = u128::from_le_bytes(*after) ^ u128::from_le_bytes(*before);
            if different == 0 {
                equal += 16;
            } else {
                match self.add_different(equal, different) {
                    Some(end) => equal = 16 - end,
                    None => return false,
                }
            }
        }
        let rest = after.len() % 16;
        let different = pair_of_rest(after) ^ pair_of_rest(before);
        if different == 0 {
            equal += rest;
        } else {
            match self.add_different(equal, different) {
                Some(end) => equal = rest - end,
                None => return false,
            }
        }
        equal == 0 || self.copy(equal)
    }

    /// Adds `equal` bytes and then a pair of numbers with different bytes. Returns the position in
    /// the pair after its last different byte, or none if the difference is too large.
    fn add_different(&mut self, equal: usize, different: u128) -> Option<usize> {
        let first = different.trailing_zeros() as usize / 8;
        let end = 16 - different.leading_zeros() as usize / 8;
        let equal = equal + first;
        let fits = if equal >= COPIED_MIN {
            self.copy(equal) && self.replace(end - first, end - first)
        } else {
            self.replace(equal + end - first, equal + end - first)
        };
        fits.then_some(end)
    }

    fn copy(&mut self, length: usize) -> bool {
        if self.copied == 0 && self.inserted == 0 {
            self.skipped += std::mem::take(&mut self.left_out);
        } else if self.left_out > 0 || self.inserted > 0 {
            self.flush();
        }
        self.copied += length;
        self.position += length;
        self.out.len() < self.limit
    }

    /// Takes bytes of the object before in place of bytes of the object after.
    fn replace(&mut self, after: usize, before: usize) -> bool {
        self.left_out += after;
        self.inserted += before;
        self.position += before;
        self.out.len() + self.inserted < self.limit
    }

    fn flush(&mut self) {
        let inserted = &self.before[self.position - self.inserted..self.position];
        let numbers = [self.skipped, self.copied, self.inserted];
        // Most ranges are short, and insert at most one byte.
        if numbers.iter().all(|number| *number < 0x80) {
            self.out
                .extend_from_slice(&numbers.map(|number| number as u8));
        } else {
            numbers.iter().for_each(|number| number.encode(self.out));
        }
        match inserted {
            [] => {}
            [byte] => self.out.push(*byte),
            _ => self.out.extend_from_slice(inserted),
        }
        (self.skipped, self.copied, self.inserted) = (self.left_out, 0, 0);
        self.left_out = 0;
    }

    fn end(&mut self) -> bool {
        if self.copied > 0 || self.inserted > 0 {
            self.flush();
        }
        self.out.len() < self.limit
    }
}

#[cfg(test)]
mod tests;
