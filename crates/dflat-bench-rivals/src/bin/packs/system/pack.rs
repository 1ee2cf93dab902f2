//! Packs: borrowed and typed, with checks and without, mapped and read at an offset, compressed,
//! and under layers.
#![allow(unsafe_code, reason = "this program changes no pack that is mapped")]

use std::fs;
use std::path::{Path, PathBuf};

use dflat::pack::{BuildOptions, Compression, OpenOptions, Pack, PackBuilder};
use dflat_model::ValueRef;

use super::{Entry, Sum, System};
use crate::Result;
use crate::data::{Data, sum};
use crate::schema::{Packed, PackedData};

/// The folders of the files of packs.
pub(crate) struct Files;

impl Files {
    pub(crate) const PLAIN: &str = "pack";
}

pub(super) fn entries() -> Vec<Entry> {
    let entry = |name, folder, build, open, note| Entry {
        name,
        folder,
        build,
        open,
        note,
    };
    let plain: super::Build = |folder, data| built(folder, data).map(drop);
    vec![
        entry(
            "Pack, mapped",
            Files::PLAIN,
            plain,
            |folder| untyped(folder, true, false),
            "borrowed bytes, checks off",
        ),
        entry(
            "Pack, mapped, checked",
            Files::PLAIN,
            plain,
            |folder| untyped(folder, true, true),
            "borrowed bytes; a block is checked at its first read",
        ),
        entry(
            "Pack, mapped, typed",
            Files::PLAIN,
            plain,
            |folder| typed(folder, true),
            "objects of the generated type, verified; checks off",
        ),
        entry(
            "Pack",
            Files::PLAIN,
            plain,
            |folder| untyped(folder, false, false),
            "read at an offset into a buffer, checks off",
        ),
        entry(
            "Pack, checked",
            Files::PLAIN,
            plain,
            |folder| untyped(folder, false, true),
            "each read checks its block",
        ),
        entry(
            "Pack, typed",
            Files::PLAIN,
            plain,
            |folder| typed(folder, false),
            "objects of the generated type, verified; checks off",
        ),
        entry(
            "Pack, LZ4",
            "pack-lz4",
            |folder, data| compressed(folder, data, Compression::Lz4),
            |folder| untyped(folder, false, false),
            "each read decompresses its block, checks off",
        ),
        entry(
            "Pack, Zstandard",
            "pack-zstd",
            |folder, data| compressed(folder, data, Compression::Zstd),
            |folder| untyped(folder, false, false),
            "each read decompresses its block, checks off",
        ),
        entry(
            "Pack, mapped, 8 layers",
            Files::PLAIN,
            plain,
            layered,
            "8 layers of 100 changes each in memory, checks off",
        ),
    ]
}

/// The pack in a folder.
fn path_in(folder: &Path) -> Result<PathBuf> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "pack")
        {
            return Ok(path);
        }
    }
    Err("the folder has no pack".into())
}

fn built(folder: &Path, data: &Data) -> Result<Pack> {
    let builder = PackBuilder::new(folder, [Packed::TABLE], BuildOptions::default());
    let mut builder = builder?;
    for key in &data.keys {
        builder.add::<Packed>(&data.object(*key))?;
    }
    Ok(builder.finish()?)
}

fn compressed(folder: &Path, data: &Data, compression: Compression) -> Result<()> {
    let options = BuildOptions::default().compression(compression);
    let mut builder = PackBuilder::new(folder, [Packed::TABLE], options)?;
    for key in &data.keys {
        builder.add::<Packed>(&data.object(*key))?;
    }
    builder.finish()?;
    Ok(())
}

pub(crate) fn opened(folder: &Path, is_mapped: bool, checks: bool) -> Result<Pack> {
    let options = OpenOptions::default().check_blocks(checks);
    let path = path_in(folder)?;
    Ok(match is_mapped {
        // SAFETY: Nobody changes the file while this program measures.
        true => unsafe { Pack::open_mapped(path, options)? },
        false => Pack::open_with(path, options)?,
    })
}

fn untyped(folder: &Path, is_mapped: bool, checks: bool) -> Result<Box<dyn System>> {
    over(&opened(folder, is_mapped, checks)?)
}

pub(crate) fn over(pack: &Pack) -> Result<Box<dyn System>> {
    let objects = pack.untyped().objects(&Packed::TABLE)?;
    Ok(Box::new(Untyped { objects }))
}

/// A pack with layers in memory, which change keys that no look-up asks for.
fn amended(pack: &Pack, layers: u64) -> Result<Pack> {
    let mut pack = pack.clone();
    for layer in 0..layers {
        let mut edit = pack.edit();
        for change in 0..100 {
            let id = (layer * 100 + change).wrapping_mul(0x9E37_79B9_7F4A_7C15) & !1;
            let text = Some("changed".to_owned());
            edit = edit.upsert::<Packed>(&PackedData { id, text });
        }
        pack = edit.finish()?;
    }
    Ok(pack)
}

fn layered(folder: &Path) -> Result<Box<dyn System>> {
    over(&amended(&opened(folder, true, false)?, 8)?)
}

struct Untyped {
    objects: dflat_pack::Objects,
}

impl System for Untyped {
    fn get(&mut self, keys: &[u64]) -> Result<Sum> {
        let mut all = Sum::default();
        let mut reader = self.objects.reader();
        for key in keys {
            if let Some(payload) = reader.payload(&[ValueRef::UInt(*key)])? {
                all.add(sum(payload));
            }
        }
        Ok(all)
    }

    fn get_many(&mut self, keys: &[u64]) -> Result<Option<Sum>> {
        let mut all = Sum::default();
        let mut reader = self.objects.reader();
        let (chunks, _) = keys.as_chunks::<16>();
        for keys in chunks {
            let keys = keys.map(|key| [ValueRef::UInt(key)]);
            reader.payloads(&keys, |_, payload| {
                if let Some(payload) = payload {
                    all.add(sum(payload));
                }
            })?;
        }
        Ok(Some(all))
    }

    fn scan(&mut self) -> Result<Sum> {
        let mut all = Sum::default();
        let mut iter = self.objects.iter();
        while let Some((_, payload)) = iter.next_payload()? {
            all.add(sum(payload));
        }
        Ok(all)
    }
}

struct Typed {
    objects: dflat::pack::PackObjects<Packed>,
}

fn typed(folder: &Path, is_mapped: bool) -> Result<Box<dyn System>> {
    let objects = opened(folder, is_mapped, false)?.objects()?;
    Ok(Box::new(Typed { objects }))
}

/// The sum over the bytes of a typed object: those of its values.
fn typed_sum(object: &Packed) -> u64 {
    object
        .id()
        .wrapping_add(sum(object.text().unwrap_or_default().as_bytes()))
}

impl System for Typed {
    fn get(&mut self, keys: &[u64]) -> Result<Sum> {
        let mut all = Sum::default();
        for key in keys {
            if let Some(object) = self.objects.get(*key)? {
                all.add(typed_sum(&object));
            }
        }
        Ok(all)
    }

    fn get_many(&mut self, keys: &[u64]) -> Result<Option<Sum>> {
        let mut all = Sum::default();
        for keys in keys.chunks(16) {
            let found = self.objects.get_many(keys.iter().copied())?;
            for object in found.iter().flatten() {
                all.add(typed_sum(object));
            }
        }
        Ok(Some(all))
    }

    fn scan(&mut self) -> Result<Sum> {
        let mut all = Sum::default();
        for object in self.objects.iter() {
            all.add(typed_sum(&object?));
        }
        Ok(all)
    }
}
