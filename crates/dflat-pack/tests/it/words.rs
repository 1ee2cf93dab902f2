//! Objects for tests.

use std::path::Path;

use dflat_engine::object::Writer;
use dflat_model::{Table, ValueRef};
use dflat_pack::{BuildOptions, Pack, PackBuilder};
use dflat_schema::{MemoryLoader, compile, describe};

const SCHEMA: &str = "table Word { word: string (primary); rank: int = 7 (indexed); \
                      note: string; } \
                      table Place { x: long (primary); y: double (primary); name: string; } \
                      table Empty { id: int (primary); }";

/// The root table of a schema.
fn table(root: &str) -> Table {
    table_of(&format!("{SCHEMA} root_type {root};"))
}

/// The root table of a schema with this text.
pub(crate) fn table_of(text: &str) -> Table {
    let loader = MemoryLoader::new().with_file("words.fbs", text);
    let compiled = compile(&["words.fbs".to_owned()], &loader, &Default::default());
    let schema = compiled.schema.expect("the schema has no errors");
    Table::new(describe(&schema, schema.files[0].root.unwrap()))
}

/// A type with a key of one text, and an index.
pub(crate) fn words() -> Table {
    table("Word")
}

/// A type with a key of two numbers.
pub(crate) fn places() -> Table {
    table("Place")
}

/// A type without objects.
pub(crate) fn empty() -> Table {
    table("Empty")
}

/// Writes a root table.
pub(crate) fn written(write: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let mut writer = Writer::new();
    let root = writer.begin();
    assert!(writer.begin_table(root));
    write(&mut writer);
    writer.leave();
    writer.finish().unwrap().to_vec()
}

pub(crate) fn word(word: &str, rank: i32, note: Option<&str>) -> Vec<u8> {
    written(|writer| {
        let text = writer.slot(4);
        if rank != 7 {
            writer.scalar(6, rank);
        }
        let note = note.map(|note| (writer.slot(8), note));
        writer.end_table();
        writer.text(text, word);
        if let Some((slot, note)) = note {
            writer.text(slot, note);
        }
    })
}

pub(crate) fn place(x: i64, y: f64, name: &str) -> Vec<u8> {
    written(|writer| {
        if x != 0 {
            writer.scalar(4, x);
        }
        if y.to_bits() != 0 {
            writer.scalar(6, y);
        }
        let slot = writer.slot(8);
        writer.end_table();
        writer.text(slot, name);
    })
}

/// The key of a word.
pub(crate) fn key(word: &str) -> [ValueRef<'_>; 1] {
    [ValueRef::Text(word)]
}

/// Builds a pack with options.
pub(crate) fn build(
    directory: &Path,
    tables: &[Table],
    objects: &[(Table, Vec<u8>)],
    options: BuildOptions,
) -> dflat_engine::Result<Pack> {
    build_each(directory, tables, objects.iter().cloned(), options)
}

/// Builds a pack of objects that are made one by one.
pub(crate) fn build_each(
    directory: &Path,
    tables: &[Table],
    objects: impl Iterator<Item = (Table, Vec<u8>)>,
    options: BuildOptions,
) -> dflat_engine::Result<Pack> {
    let mut builder = PackBuilder::new(directory, tables.iter().cloned(), options)?;
    for (table, payload) in objects {
        builder.add(&table, &payload)?;
    }
    builder.finish()
}

/// The names in a directory.
pub(crate) fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

/// Random numbers from a seed.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 11) % limit
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.below(at as u64 + 1) as usize);
        }
    }
}
