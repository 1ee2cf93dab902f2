//! The directory: the types of a pack, and the places of their parts in the file.

use super::input::Input;
use super::{ALIGN, DATA_ALIGN, SlotForm, padding};

/// Bytes of the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) offset: u64,
    pub(crate) len: u64,
}

impl Extent {
    /// The offset behind the bytes; `None` if no file has it.
    pub(crate) const fn end(self) -> Option<u64> {
        self.offset.checked_add(self.len)
    }
}

/// A part of the file that is read as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Section {
    pub(crate) extent: Extent,
    pub(crate) checksum: u64,
}

/// The parts of a run: records in the order of their keys, in blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RunLayout {
    /// The number of records.
    pub(crate) count: u64,
    /// The number of blocks.
    pub(crate) blocks_count: u64,
    /// The stored bytes of the blocks, one behind the other.
    pub(crate) data: Extent,
    /// The number of the compression; 0 for none.
    pub(crate) compression: u8,
    /// If the blocks are compressed, the length of all of them before.
    pub(crate) content_len: u64,
    /// The end of each record in its block, in numbers of `ends_width` bytes.
    pub(crate) ends: Section,
    pub(crate) ends_width: u8,
    /// The entries of the blocks.
    pub(crate) blocks: Section,
    /// The end of the first key of each block in `keys`, in numbers of `key_ends_width` bytes.
    pub(crate) key_ends: Section,
    pub(crate) key_ends_width: u8,
    /// The first key of each block.
    pub(crate) keys: Section,
    /// If the blocks are compressed, the end of the stored bytes of each in the data.
    pub(crate) stored: Section,
}

/// The table from the hashes of keys to the places of objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SlotsLayout {
    pub(crate) count: u64,
    pub(crate) form: SlotForm,
    pub(crate) section: Section,
}

/// The parts of a type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TypeLayout {
    /// The encoded descriptor.
    pub(crate) descriptor: Vec<u8>,
    pub(crate) objects: RunLayout,
    pub(crate) slots: SlotsLayout,
    /// The indexes, in the order of the descriptor.
    pub(crate) indexes: Vec<RunLayout>,
}

/// All types, by ascending name of their tables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Directory {
    pub(crate) types: Vec<TypeLayout>,
}

/// The compression of a run whose blocks are stored as they are.
const UNCOMPRESSED: u8 = 0;

impl Directory {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put(&mut out, self.types.len() as u64);
        for ty in &self.types {
            put(&mut out, ty.descriptor.len() as u64);
            out.extend_from_slice(&ty.descriptor);
            put_run(&mut out, &ty.objects);
            put(&mut out, ty.slots.count);
            let form = ty.slots.form;
            out.extend_from_slice(&[form.width, form.offset_bits, form.len_bits]);
            put_section(&mut out, ty.slots.section);
            put(&mut out, ty.indexes.len() as u64);
            ty.indexes.iter().for_each(|run| put_run(&mut out, run));
        }
        out
    }

    /// `None` if the bytes are no directory.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut input = Input(bytes);
        let mut directory = Self::default();
        for _ in 0..input.number()? {
            let len = usize::try_from(input.number()?).ok()?;
            let descriptor = input.bytes(len)?.to_vec();
            let objects = run(&mut input)?;
            let slots = SlotsLayout {
                count: input.number()?,
                form: SlotForm {
                    width: input.byte()?,
                    offset_bits: input.byte()?,
                    len_bits: input.byte()?,
                },
                section: section(&mut input)?,
            };
            let mut indexes = Vec::new();
            for _ in 0..input.number()? {
                indexes.push(run(&mut input)?);
            }
            directory.types.push(TypeLayout {
                descriptor,
                objects,
                slots,
                indexes,
            });
        }
        input.is_empty().then_some(directory)
    }

    /// All parts of the file in their order, each with the number that divides its offset.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (Extent, u64)> {
        self.types.iter().flat_map(|ty| {
            let align = if ty.objects.count > 0 {
                DATA_ALIGN
            } else {
                ALIGN
            };
            let indexes = ty.indexes.iter().flat_map(|run| run.parts(ALIGN));
            let slots = (ty.slots.section.extent, ALIGN);
            ty.objects.parts(align).chain([slots]).chain(indexes)
        })
    }

    /// Whether the parts follow each other from `start` to `end` as they are written, with nothing
    /// between but padding.
    pub(crate) fn is_gapless(&self, start: u64, end: u64) -> bool {
        let mut at = start;
        for (extent, align) in self.parts() {
            let Some(after) = extent.end().filter(|after| *after <= end) else {
                return false;
            };
            if extent.offset != at + padding(at, align) {
                return false;
            }
            at = after;
        }
        at + padding(at, ALIGN) == end
    }
}

impl RunLayout {
    fn parts(&self, align: u64) -> impl Iterator<Item = (Extent, u64)> {
        let is_compressed = self.compression != UNCOMPRESSED;
        let sections = self.sections().into_iter();
        let sections = sections.chain(is_compressed.then_some(self.stored));
        [(self.data, align)]
            .into_iter()
            .chain(sections.map(|section| (section.extent, ALIGN)))
    }

    /// The parts of each run that are read as a whole.
    const fn sections(&self) -> [Section; 4] {
        [self.ends, self.blocks, self.key_ends, self.keys]
    }
}

fn put(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(&number.to_le_bytes());
}

fn put_section(out: &mut Vec<u8>, section: Section) {
    let Section { extent, checksum } = section;
    [extent.offset, extent.len, checksum]
        .into_iter()
        .for_each(|number| put(out, number));
}

fn put_run(out: &mut Vec<u8>, run: &RunLayout) {
    let Extent { offset, len } = run.data;
    [run.count, run.blocks_count, offset, len]
        .into_iter()
        .for_each(|number| put(out, number));
    out.extend_from_slice(&[run.compression, run.ends_width, run.key_ends_width]);
    run.sections()
        .into_iter()
        .for_each(|section| put_section(out, section));
    if run.compression != UNCOMPRESSED {
        put(out, run.content_len);
        put_section(out, run.stored);
    }
}

fn section(input: &mut Input<'_>) -> Option<Section> {
    let extent = Extent {
        offset: input.number()?,
        len: input.number()?,
    };
    let checksum = input.number()?;
    Some(Section { extent, checksum })
}

fn run(input: &mut Input<'_>) -> Option<RunLayout> {
    let (count, blocks_count) = (input.number()?, input.number()?);
    let data = Extent {
        offset: input.number()?,
        len: input.number()?,
    };
    let compression = input.byte()?;
    let (ends_width, key_ends_width) = (input.byte()?, input.byte()?);
    let mut run = RunLayout {
        count,
        blocks_count,
        data,
        compression,
        content_len: data.len,
        ends_width,
        key_ends_width,
        ends: section(input)?,
        blocks: section(input)?,
        key_ends: section(input)?,
        keys: section(input)?,
        stored: Section::default(),
    };
    if compression != UNCOMPRESSED {
        run.content_len = input.number()?;
        run.stored = section(input)?;
    }
    Some(run)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Directory {
        let mut at = 0;
        let mut section = |len: u64| {
            let offset = at + padding(at, ALIGN);
            at = offset + len;
            Section {
                extent: Extent { offset, len },
                checksum: len + 1,
            }
        };
        let mut run = |count, compression| RunLayout {
            count,
            blocks_count: 1,
            data: section(40).extent,
            compression,
            content_len: 40 + u64::from(compression),
            ends: section(6),
            ends_width: 2,
            blocks: section(24),
            key_ends: section(2),
            key_ends_width: 2,
            keys: section(5),
            stored: match compression {
                UNCOMPRESSED => Section::default(),
                _ => section(8),
            },
        };
        let (objects, index) = (run(0, UNCOMPRESSED), run(3, 2));
        let slots = SlotsLayout::default();
        Directory {
            types: vec![TypeLayout {
                descriptor: vec![1, 2, 3],
                objects,
                slots,
                indexes: vec![index],
            }],
        }
    }

    #[test]
    fn directory_is_read_as_it_was_written() {
        let directory = sample();
        let bytes = directory.to_bytes();
        assert_eq!(Directory::from_bytes(&bytes), Some(directory));
        for len in 0..bytes.len() {
            assert_eq!(Directory::from_bytes(&bytes[..len]), None, "{len} bytes");
        }
        let longer = [bytes.as_slice(), &[0]].concat();
        assert_eq!(Directory::from_bytes(&longer), None);
    }

    #[test]
    fn huge_numbers_of_types_are_refused() {
        let bytes = [u64::MAX.to_le_bytes(), u64::MAX.to_le_bytes()].concat();
        assert_eq!(Directory::from_bytes(&bytes), None);
    }

    #[test]
    fn parts_that_overlap_or_leave_gaps_are_noticed() {
        let mut directory = sample();
        let keys = directory.types[0].objects.keys.extent;
        directory.types[0].slots.section.extent.offset = keys.offset + 8;
        let parts: Vec<_> = directory.parts().collect();
        let end = parts
            .last()
            .and_then(|(extent, _)| extent.end())
            .unwrap_or(0);
        let end = end + padding(end, ALIGN);
        assert!(directory.is_gapless(0, end));
        assert!(!directory.is_gapless(0, end + 8));
        assert!(!directory.is_gapless(0, end - 8));
        assert!(!directory.is_gapless(8, end));
        let mut moved = directory.clone();
        moved.types[0].objects.ends.extent.offset += 8;
        assert!(!moved.is_gapless(0, end));
        moved.types[0].objects.ends.extent.len = u64::MAX;
        assert!(!moved.is_gapless(0, end));
    }
}
