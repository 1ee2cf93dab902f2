//! The digest of a pack's content. `docs/pack-format.md` states of which bytes it is made.

use crate::digest::Digest;
use crate::layout::CONTENT;

/// BLAKE3 is fast on so many bytes at once.
const PIECE_BYTES: usize = 128 * 1024;

/// Hashes bytes that come in small pieces.
pub(crate) struct PiecewiseHash {
    hasher: blake3::Hasher,
    waiting: Vec<u8>,
}

impl PiecewiseHash {
    pub(crate) fn new() -> Self {
        Self {
            hasher: blake3::Hasher::new(),
            waiting: Vec::new(),
        }
    }

    pub(crate) fn add(&mut self, bytes: &[u8]) {
        if self.waiting.len() + bytes.len() > PIECE_BYTES {
            self.hasher.update(&self.waiting);
            self.waiting.clear();
        }
        if bytes.len() > PIECE_BYTES {
            self.hasher.update(bytes);
        } else {
            self.waiting.extend_from_slice(bytes);
        }
    }

    fn finish(mut self) -> [u8; 32] {
        self.hasher.update(&self.waiting);
        *self.hasher.finalize().as_bytes()
    }
}

/// The content of one type: its objects, each with the zeros behind it, and their lengths.
pub(crate) struct TypeContent {
    pub(crate) data: PiecewiseHash,
    lengths: PiecewiseHash,
}

impl TypeContent {
    pub(crate) fn new() -> Self {
        Self {
            data: PiecewiseHash::new(),
            lengths: PiecewiseHash::new(),
        }
    }

    /// Adds the length of an object.
    pub(crate) fn add_length(&mut self, len: u64) {
        self.lengths.add(&len.to_le_bytes());
    }
}

/// The content of a pack, type by type.
pub(crate) struct PackContent(blake3::Hasher);

impl PackContent {
    pub(crate) fn new(types: usize) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(CONTENT);
        hasher.update(&(types as u64).to_le_bytes());
        Self(hasher)
    }

    /// Adds the next type, with the number of its objects.
    pub(crate) fn add(&mut self, descriptor: &[u8], count: u64, content: TypeContent) {
        self.0.update(&(descriptor.len() as u64).to_le_bytes());
        self.0.update(descriptor);
        self.0.update(&count.to_le_bytes());
        self.0.update(&content.data.finish());
        self.0.update(&content.lengths.finish());
    }

    pub(crate) fn finish(self) -> Digest {
        Digest(*self.0.finalize().as_bytes())
    }
}
