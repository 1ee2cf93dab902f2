//! The header and the footer.

use xxhash_rust::xxh3::xxh3_64;

use super::directory::Extent;
use super::input::Input;
use crate::digest::Digest;

/// Begins and ends each file. The first byte is in no text, and the line ends show a file that was
/// changed as a text.
pub(crate) const MAGIC: [u8; 8] = *b"\x93DPACK\r\n";

/// The kinds of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A whole pack.
    Whole = 0,
    /// Changes over another pack.
    Layer = 1,
}

impl Kind {
    /// The version of the format of such files.
    const fn version(self) -> u8 {
        match self {
            Self::Whole => 2,
            Self::Layer => 1,
        }
    }
}

/// The algorithm of the digest: BLAKE3 with 256 bits.
const BLAKE3: u8 = 1;

pub(crate) const HEADER_BYTES: usize = 16;
pub(crate) const FOOTER_BYTES: usize = 72;

/// The header of each file of a kind that this version writes.
pub(crate) const fn header_of(kind: Kind) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    let (magic, _) = header.split_at_mut(MAGIC.len());
    magic.copy_from_slice(&MAGIC);
    header[8] = kind.version();
    header[10] = kind as u8;
    header[11] = BLAKE3;
    header
}

/// The kind that a header states, or why bytes are no header that this version reads.
pub(crate) fn kind_of(header: &[u8; HEADER_BYTES]) -> Result<Kind, &'static str> {
    for kind in [Kind::Whole, Kind::Layer] {
        if *header == header_of(kind) {
            return Ok(kind);
        }
    }
    let [magic @ .., version, _, kind, algorithm, _, _, _, _] = header;
    Err(match () {
        () if *magic != MAGIC => "it is no pack",
        () if *version > Kind::Whole.version() => "a newer version of Dflat has written it",
        () if *kind > Kind::Layer as u8 => "this version of Dflat does not know its kind",
        () if *algorithm != BLAKE3 => "this version of Dflat does not know how its name is made",
        () => "its header is damaged",
    })
}

/// The end of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Footer {
    pub(crate) kind: Kind,
    /// The directory; the body of a layer.
    pub(crate) directory: Extent,
    pub(crate) directory_checksum: u64,
    pub(crate) digest: Digest,
}

impl Footer {
    pub(crate) fn to_bytes(self) -> Vec<u8> {
        let mut bytes = header_of(self.kind).to_vec();
        let Extent { offset, len } = self.directory;
        for number in [offset, len, self.directory_checksum] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(&self.digest.0);
        let checksum = xxh3_64(&bytes);
        bytes.extend_from_slice(&checksum.to_le_bytes());
        bytes.extend_from_slice(&MAGIC);
        bytes.split_off(HEADER_BYTES)
    }

    /// `None` if the bytes are no footer of a file of this kind.
    pub(crate) fn from_bytes(kind: Kind, bytes: &[u8; FOOTER_BYTES]) -> Option<Self> {
        let mut input = Input(bytes);
        let directory = Extent {
            offset: input.number()?,
            len: input.number()?,
        };
        let footer = Self {
            kind,
            directory,
            directory_checksum: input.number()?,
            digest: Digest(*input.bytes(32)?.first_chunk()?),
        };
        (footer.to_bytes() == bytes).then_some(footer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_changed_bit_of_a_footer_is_noticed() {
        for (kind, other) in [(Kind::Whole, Kind::Layer), (Kind::Layer, Kind::Whole)] {
            let footer = Footer {
                kind,
                directory: Extent {
                    offset: 4096,
                    len: 17,
                },
                directory_checksum: 99,
                digest: Digest([3; 32]),
            };
            let bytes = footer.to_bytes();
            let bytes: [u8; FOOTER_BYTES] = bytes.try_into().expect("its size is fixed");
            assert_eq!(Footer::from_bytes(kind, &bytes), Some(footer));
            assert_eq!(Footer::from_bytes(other, &bytes), None);
            for bit in 0..8 * FOOTER_BYTES {
                let mut changed = bytes;
                changed[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(Footer::from_bytes(kind, &changed), None, "bit {bit}");
            }
        }
    }

    #[test]
    fn each_changed_byte_of_a_header_is_noticed() {
        for kind in [Kind::Whole, Kind::Layer] {
            let header = header_of(kind);
            assert_eq!(kind_of(&header), Ok(kind));
            for at in 0..HEADER_BYTES {
                let mut changed = header;
                changed[at] ^= 0x40;
                assert!(kind_of(&changed).is_err(), "byte {at}");
            }
        }
        assert_eq!(kind_of(&[0; HEADER_BYTES]), Err("it is no pack"));
    }
}
