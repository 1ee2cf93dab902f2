//! The compression of blocks.

/// How the blocks of a pack are compressed.
///
/// Compression is a property of a copy: packs of the same objects have the same digest, and so the
/// same name, however they are compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compression {
    /// Not at all. An object is read alone, and a mapped pack lends its bytes where they are.
    #[default]
    None,
    /// LZ4: fast. Each read decompresses a block of about 4 KiB.
    #[cfg(feature = "lz4")]
    Lz4,
    /// Zstandard of level 3: smaller, and slower to read. Each read decompresses a block of about
    /// 4 KiB.
    #[cfg(feature = "zstd")]
    Zstd,
}

/// A block is at most so many times as long as its stored bytes.
pub(crate) const RATIO_MAX: u64 = 1024;

impl Compression {
    /// The number of a compression in a file; `None` if this build does not have it.
    pub(crate) const fn of(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::None),
            #[cfg(feature = "lz4")]
            1 => Some(Self::Lz4),
            #[cfg(feature = "zstd")]
            2 => Some(Self::Zstd),
            _ => None,
        }
    }

    pub(crate) const fn number(self) -> u8 {
        match self {
            Self::None => 0,
            #[cfg(feature = "lz4")]
            Self::Lz4 => 1,
            #[cfg(feature = "zstd")]
            Self::Zstd => 2,
        }
    }

    /// Why a build does not read files with a number.
    pub(crate) fn missing(number: u8) -> String {
        let feature = match number {
            1 => "lz4",
            2 => "zstd",
            _ => return format!("its compression {number} is not known to this version of Dflat"),
        };
        format!("it is compressed, and the program was built without the feature `{feature}`")
    }

    /// Compresses a block into `out`, in place of its contents. Returns whether the block is to be
    /// stored so, and not as it is.
    pub(crate) fn compress(self, block: &[u8], out: &mut Vec<u8>) -> bool {
        out.clear();
        let is_done = match self {
            Self::None => false,
            #[cfg(feature = "lz4")]
            Self::Lz4 => lz4::compress(block, out),
            #[cfg(feature = "zstd")]
            Self::Zstd => zstd::compress(block, out),
        };
        let (block, stored) = (block.len() as u64, out.len() as u64);
        is_done && stored < block && block <= stored * RATIO_MAX
    }

    /// Fills a block from its stored bytes. Returns whether they are those of a block of exactly
    /// this length.
    pub(crate) fn decompress(self, stored: &[u8], block: &mut [u8]) -> bool {
        if stored.len() == block.len() {
            block.copy_from_slice(stored);
            return true;
        }
        match self {
            Self::None => false,
            #[cfg(feature = "lz4")]
            Self::Lz4 => lz4::decompress(stored, block),
            #[cfg(feature = "zstd")]
            Self::Zstd => zstd::decompress(stored, block),
        }
    }
}

#[cfg(feature = "lz4")]
mod lz4 {
    use lz4_flex::block::{compress_into, decompress_into, get_maximum_output_size};

    pub(super) fn compress(block: &[u8], out: &mut Vec<u8>) -> bool {
        out.resize(get_maximum_output_size(block.len()), 0);
        let written = compress_into(block, out);
        written.is_ok_and(|len| {
            out.truncate(len);
            true
        })
    }

    pub(super) fn decompress(stored: &[u8], block: &mut [u8]) -> bool {
        let len = block.len();
        decompress_into(stored, block).is_ok_and(|written| written == len)
    }
}

#[cfg(feature = "zstd")]
mod zstd {
    use std::cell::RefCell;

    use ::zstd::bulk::{Compressor, Decompressor};
    use ::zstd::zstd_safe::compress_bound;

    const LEVEL: i32 = 3;

    thread_local! {
        // A state has about 100 KiB, so a look-up should not allocate one.
        static COMPRESSOR: RefCell<Option<Compressor<'static>>> =
            RefCell::new(Compressor::new(LEVEL).ok());
        static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> =
            RefCell::new(Decompressor::new().ok());
    }

    pub(super) fn compress(block: &[u8], out: &mut Vec<u8>) -> bool {
        out.reserve(compress_bound(block.len()));
        let mut compress =
            |state: &mut Compressor<'_>| state.compress_to_buffer(block, out).is_ok();
        let kept = COMPRESSOR.try_with(|state| state.borrow_mut().as_mut().map(&mut compress));
        // The state may be gone if the thread is ending.
        kept.unwrap_or_else(|_| Compressor::new(LEVEL).ok().as_mut().map(compress))
            .unwrap_or(false)
    }

    pub(super) fn decompress(stored: &[u8], block: &mut [u8]) -> bool {
        let len = block.len();
        let mut decompress = |state: &mut Decompressor<'_>| {
            let written = state.decompress_to_buffer(stored, block);
            written.is_ok_and(|written| written == len)
        };
        let kept = DECOMPRESSOR.try_with(|state| state.borrow_mut().as_mut().map(&mut decompress));
        kept.unwrap_or_else(|_| Decompressor::new().ok().as_mut().map(decompress))
            .unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All that this build has.
    fn all() -> impl Iterator<Item = Compression> {
        (0..=2).filter_map(Compression::of)
    }

    #[test]
    fn blocks_are_restored_or_stored_as_they_are() {
        let text = b"the same words again and again, ".repeat(100);
        let noise: Vec<u8> = (0..4096_u32)
            .map(|at| (at.wrapping_mul(0x9e37_79b9) >> 13) as u8)
            .collect();
        let zeros = vec![0; 4 << 20];
        for compression in all() {
            let mut stored = Vec::new();
            for block in [&text, &noise, &zeros] {
                if compression.compress(block, &mut stored) {
                    assert!(stored.len() < block.len());
                    let mut again = vec![1; block.len()];
                    assert!(compression.decompress(&stored, &mut again));
                    assert_eq!(&again, block);
                    let mut shorter = vec![1; block.len() - 1];
                    assert!(!compression.decompress(&stored, &mut shorter));
                    let mut longer = vec![1; block.len() + 1];
                    assert!(!compression.decompress(&stored, &mut longer));
                } else {
                    let mut again = vec![1; block.len()];
                    assert!(compression.decompress(block, &mut again));
                    assert_eq!(&again, block);
                }
            }
            let is_compressed = compression.compress(&text, &mut stored);
            assert_eq!(is_compressed, compression != Compression::None);
        }
    }

    /// Compresses and restores a block when it is dropped.
    struct AtTheEnd(std::sync::mpsc::Sender<bool>);

    impl Drop for AtTheEnd {
        fn drop(&mut self) {
            let _ = self.0.send(all().all(is_restored));
        }
    }

    fn is_restored(compression: Compression) -> bool {
        let block = b"the same words again and again, ".repeat(20);
        let (mut stored, mut again) = (Vec::new(), vec![0; block.len()]);
        let stored = match compression.compress(&block, &mut stored) {
            true => &stored,
            false => &block,
        };
        compression.decompress(stored, &mut again) && again == block
    }

    #[test]
    fn blocks_are_restored_in_destructors_at_the_end_of_a_thread() {
        thread_local! {
            static AT_THE_END: std::cell::RefCell<Option<AtTheEnd>> =
                const { std::cell::RefCell::new(None) };
        }
        let (sender, receiver) = std::sync::mpsc::channel();
        let ended = std::thread::spawn(|| {
            // This value is used first, so it is dropped after the states of the compressions.
            AT_THE_END.set(Some(AtTheEnd(sender)));
            all().all(is_restored)
        });
        assert!(ended.join().expect("it does not panic"));
        assert_eq!(receiver.recv(), Ok(true));
    }

    #[test]
    fn damaged_bytes_are_refused_or_give_a_block_of_the_length() {
        let block = b"the same words again and again, ".repeat(20);
        for compression in all().skip(1) {
            let mut stored = Vec::new();
            assert!(compression.compress(&block, &mut stored));
            for at in 0..stored.len() {
                for bit in 0..8 {
                    let mut changed = stored.clone();
                    changed[at] ^= 1 << bit;
                    compression.decompress(&changed, &mut vec![0; block.len()]);
                    compression.decompress(&changed[..at], &mut vec![0; block.len()]);
                }
            }
        }
    }

    #[test]
    fn numbers_give_their_compression() {
        for compression in all() {
            assert_eq!(Compression::of(compression.number()), Some(compression));
        }
        assert_eq!(Compression::of(3), None);
        assert!(Compression::missing(2).contains("`zstd`"));
        assert!(Compression::missing(3).contains("not known"));
    }
}
