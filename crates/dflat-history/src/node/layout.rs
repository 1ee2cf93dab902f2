//! The places of the parts of a node, and the check that its bytes have this form.

use super::{IDENTIFIER, KEY_BYTES_MAX, LEVEL_MAX};
use crate::chunk::{Address, Chunk};

/// The bytes before the vectors: root offset, identifier, vtable, table.
pub(super) const HEADER_BYTES: usize = 48;

/// The position of the table.
const TABLE: usize = 24;

/// The positions of the table's fields.
const LEVEL: usize = 28;
const KEY_OFFSETS: usize = 32;
const KEYS: usize = 36;
const ADDRESSES: usize = 40;
const COUNT_ENDS: usize = 44;

/// The bytes of the length before each vector.
const LENGTH: usize = 4;

/// The places of the vectors, and the length that all keys have. Each place is the position of the
/// first element; the number of elements is before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) level: u8,
    pub(super) len: usize,
    pub(super) keys_len: usize,
    pub(super) count_ends: usize,
    pub(super) key_offsets: usize,
    pub(super) keys: usize,
    pub(super) addresses: usize,
    pub(super) total: usize,
    /// The length of each key; 0 if their lengths differ. Such keys are found without the offsets.
    pub(super) key_len: usize,
}

const fn align(position: usize) -> usize {
    position.next_multiple_of(4)
}

impl Layout {
    /// The places in a node of these sizes.
    pub(super) const fn new(level: u8, len: usize, keys_len: usize) -> Self {
        // The counts are aligned to 8 bytes, so 4 bytes of zeros stand before their length.
        let count_ends = HEADER_BYTES + 4 + LENGTH;
        let counts_end = match level {
            0 => HEADER_BYTES,
            _ => count_ends + 8 * len,
        };
        let key_offsets = counts_end + LENGTH;
        let keys = align(key_offsets + 2 * (len + 1)) + LENGTH;
        let addresses = align(keys + keys_len) + LENGTH;
        Self {
            level,
            len,
            keys_len,
            count_ends,
            key_offsets,
            keys,
            addresses,
            total: addresses + Address::BYTES * len,
            key_len: 0,
        }
    }

    /// The bytes before the vectors.
    pub(super) fn header(&self) -> [u8; HEADER_BYTES] {
        let is_leaf = self.level == 0;
        let mut header = [0; HEADER_BYTES];
        let mut put = |at: usize, bytes: &[u8]| {
            if let Some(place) = header.get_mut(at..at + bytes.len()) {
                place.copy_from_slice(bytes);
            }
        };
        put(0, &(TABLE as u32).to_le_bytes());
        put(4, &IDENTIFIER);
        let count_ends = if is_leaf { 0 } else { COUNT_ENDS - TABLE };
        let fields = [LEVEL, KEY_OFFSETS, KEYS, ADDRESSES].map(|field| field - TABLE);
        let sizes = [14, HEADER_BYTES - TABLE];
        let vtable = sizes.into_iter().chain(fields).chain([count_ends]);
        for (slot, entry) in vtable.enumerate() {
            put(8 + 2 * slot, &(entry as u16).to_le_bytes());
        }
        put(TABLE, &(TABLE as u32 - 8).to_le_bytes());
        put(LEVEL, &[self.level]);
        let vectors = [
            (KEY_OFFSETS, self.key_offsets),
            (KEYS, self.keys),
            (ADDRESSES, self.addresses),
            (COUNT_ENDS, self.count_ends),
        ];
        for (field, first) in vectors {
            if field != COUNT_ENDS || !is_leaf {
                let offset = first - LENGTH - field;
                put(field, &(offset as u32).to_le_bytes());
            }
        }
        header
    }

    /// The positions of the lengths of the vectors, and the lengths.
    pub(super) fn lengths(&self) -> impl Iterator<Item = (usize, u32)> {
        let counts = (self.level > 0).then_some((self.count_ends, self.len));
        let others = [
            (self.key_offsets, self.len + 1),
            (self.keys, self.keys_len),
            (self.addresses, self.len),
        ];
        let all = counts.into_iter().chain(others);
        all.map(|(first, len)| (first - LENGTH, len as u32))
    }

    /// The ranges of bytes that only fill up, and are 0.
    fn fillings(&self) -> [std::ops::Range<usize>; 3] {
        let before_counts = match self.level {
            0 => HEADER_BYTES,
            _ => HEADER_BYTES + 4,
        };
        [
            HEADER_BYTES..before_counts,
            self.key_offsets + 2 * (self.len + 1)..self.keys - LENGTH,
            self.keys + self.keys_len..self.addresses - LENGTH,
        ]
    }
}

/// The length of all keys with these offsets, the first of which is 0; 0 if their lengths differ.
pub(super) fn common_length(offsets: &[[u8; 2]]) -> usize {
    let offset = |bytes: &[u8; 2]| usize::from(u16::from_le_bytes(*bytes));
    let len = offsets.get(1).map_or(0, offset);
    let mut all = offsets.iter().zip(0..);
    match all.all(|(bytes, place)| offset(bytes) == place * len) {
        true => len,
        false => 0,
    }
}

fn number(bytes: &[u8], at: usize) -> Option<usize> {
    let number = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_le_bytes(*number) as usize)
}

/// The places in a message that is a node; else the reason why it is none.
pub(super) fn verify(bytes: &[u8]) -> Result<Layout, &'static str> {
    const SHORT: &str = "it is too short";
    if bytes.len() > Chunk::BYTES_MAX {
        return Err("it is too long");
    }
    if bytes.get(4..8) != Some(&IDENTIFIER) {
        return Err("it lacks the identifier of nodes");
    }
    let level = *bytes.get(LEVEL).ok_or(SHORT)?;
    if level > LEVEL_MAX {
        return Err("its level is too high");
    }
    // The first vector, which has one length more than entries in a leaf, is in a known place.
    let len = match level {
        0 => number(bytes, HEADER_BYTES).ok_or(SHORT)?.checked_sub(1),
        _ => number(bytes, HEADER_BYTES + 4),
    };
    // Neither number can be so large that the places below overflow.
    let is_possible = |number: &usize| *number <= Chunk::BYTES_MAX;
    let len = len.filter(is_possible).ok_or("its length is impossible")?;
    let keys = Layout::new(level, len, 0).keys;
    let keys_len = number(bytes, keys - LENGTH).filter(is_possible);
    let layout = Layout::new(level, len, keys_len.ok_or("its keys are too long")?);
    if layout.total != bytes.len() {
        return Err("its vectors do not fill it");
    }
    if bytes.get(..HEADER_BYTES) != Some(&layout.header()) {
        return Err("its header has another form");
    }
    for (at, length) in layout.lengths() {
        if number(bytes, at) != Some(length as usize) {
            return Err("a vector has another length");
        }
    }
    for filling in layout.fillings() {
        if bytes
            .get(filling)
            .is_none_or(|bytes| bytes.iter().any(|byte| *byte != 0))
        {
            return Err("a byte between its vectors is not 0");
        }
    }
    verify_entries(bytes, &layout)
}

fn verify_entries(bytes: &[u8], layout: &Layout) -> Result<Layout, &'static str> {
    let view = super::NodeView::new(bytes, layout);
    if layout.level > 0 && layout.len == 0 {
        return Err("it has no children");
    }
    let Some(offsets) = view.offsets() else {
        return Err("its key offsets are cut off");
    };
    let (mut start, mut last) = (0, None::<&[u8]>);
    for (place, offset) in offsets.iter().enumerate() {
        let end = usize::from(u16::from_le_bytes(*offset));
        if place == 0 {
            if end != 0 {
                return Err("its first key begins late");
            }
            continue;
        }
        let key = view
            .keys_between(start, end)
            .ok_or("a key ends before it begins")?;
        if key.len() > KEY_BYTES_MAX {
            return Err("a key is too long");
        }
        if last.is_some_and(|last| last >= key) {
            return Err("its keys do not ascend");
        }
        (start, last) = (end, Some(key));
    }
    if start != layout.keys_len {
        return Err("its last key ends early");
    }
    let mut count = 0;
    for end in view.count_ends() {
        if end <= count {
            return Err("its counts do not ascend");
        }
        count = end;
    }
    Ok(Layout {
        key_len: common_length(offsets),
        ..*layout
    })
}
