//! The verdict of `dflatc diff` on two versions of a schema, compared with objects of both.
//!
//! Objects of either version are written and read with the other. If the verdict is that nothing
//! breaks, all parts that both versions have must be read equally; if the verdict is that something
//! breaks, some object must show it. Each pair is tried a second time with nothing deprecated.

mod value;
mod version;

use std::collections::BTreeMap;

use dflat_engine::object::verify;
use dflat_schema::{
    Compilation, Evolution, MemoryLoader, Style, Version as Schema, compare, compile, describe,
};
use dflat_testkit::random::Random;

use value::{Codec, Value};
use version::{Identity, Version};

/// The number of objects of each version that are tried for each pair.
const OBJECTS: usize = 60;

fn compiled(version: &Version, path: &str) -> Compilation {
    let loader = MemoryLoader::new().with_file(path, &version.text());
    let compilation = compile(&[path.to_owned()], &loader, &Default::default());
    let errors = compilation.diagnostics.iter();
    let errors = errors.map(|error| error.render(&compilation.sources, Style::Plain));
    let errors: Vec<String> = errors.collect();
    assert!(compilation.schema.is_some(), "{}", errors.join("\n"));
    compilation
}

/// The part of a version that another version need not understand, because the other lacks it.
struct Known {
    fields: BTreeMap<Identity, bool>,
    names: Vec<Identity>,
}

impl Known {
    fn of(version: &Version) -> Self {
        let fields = version.tables.iter().flat_map(|table| &table.fields);
        let members = version
            .structure
            .iter()
            .map(|member| (member.identity, true));
        let names = version.values.iter().chain(&version.members);
        Self {
            fields: fields
                .map(|field| (field.identity, !field.deprecated))
                .chain(members)
                .collect(),
            names: names.map(|named| named.identity).collect(),
        }
    }

    /// Whether a reader with this knowledge has read the written value correctly.
    fn agrees(&self, written: &Value, read: &Value) -> bool {
        match (written, read) {
            (Value::Fields(written), Value::Fields(read)) => written.iter().all(|(part, value)| {
                match (self.fields.get(part), read.get(part)) {
                    // The field is deprecated in this version, or newer than it.
                    (Some(false), _) => true,
                    (None, _) => false,
                    (Some(true), Some(read)) => self.agrees(value, read),
                    (Some(true), None) => false,
                }
            }),
            (Value::Vector(written), Value::Vector(read)) => {
                let pairs = || written.iter().zip(read);
                written.len() == read.len() && pairs().all(|(a, b)| self.agrees(a, b))
            }
            (Value::Enum(Ok(written)), read) if !self.names.contains(written) => {
                matches!(read, Value::Enum(Err(_)))
            }
            (Value::Member(Some((written, _))), read) if !self.names.contains(written) => {
                *read == Value::Member(None)
            }
            (Value::Member(Some((a, written))), Value::Member(Some((b, read)))) => {
                a == b && self.agrees(written, read)
            }
            (written, read) => written == read,
        }
    }
}

/// Whether `reader` reads random objects of `writer` correctly. A part that only the writer has is
/// newer if `forward` is false, and lost if it is true.
fn readable(writer: &Codec<'_>, reader: &Codec<'_>, forward: bool, random: &mut Random) -> bool {
    let mut known = Known::of(reader.version);
    if !forward {
        // An older program need not see newer fields.
        for field in writer.version.tables.iter().flat_map(|table| &table.fields) {
            known.fields.entry(field.identity).or_insert(false);
        }
    }
    let root = reader.schema.files[0].root.unwrap();
    let types = describe(reader.schema, root).types;
    (0..OBJECTS).all(|_| {
        let written = writer.any(0, 0, random);
        let payload = writer.payload(&written);
        let root = writer.schema.files[0].root.unwrap();
        verify(&describe(writer.schema, root).types, &payload).unwrap();
        verify(&types, &payload).is_ok()
            && reader
                .read(&payload)
                .is_ok_and(|read| known.agrees(&written, &read))
    })
}

/// Whether each version reads objects of the other correctly.
fn both_readable(old: &Version, new: &Version, random: &mut Random) -> bool {
    let [old_schema, new_schema] = [old, new].map(|version| {
        let compilation = compiled(version, "version.fbs");
        compilation.schema.unwrap()
    });
    let old = Codec {
        version: old,
        schema: &old_schema,
    };
    let new = Codec {
        version: new,
        schema: &new_schema,
    };
    readable(&old, &new, true, random) && readable(&new, &old, false, random)
}

/// Compares two versions, and checks the verdict. Returns also whether the types agree.
fn check(old: &Version, new: &Version, random: &mut Random) -> (Evolution, bool) {
    let [before, after] = [compiled(old, "old.fbs"), compiled(new, "new.fbs")];
    let schema = |compilation: &Compilation| compilation.schema.clone().unwrap();
    let (old_schema, new_schema) = (schema(&before), schema(&after));
    let evolution = compare(
        Schema {
            schema: &old_schema,
            sources: &before.sources,
        },
        Schema {
            schema: &new_schema,
            sources: &after.sources,
        },
    );
    // Objects have deprecated fields too, and a deprecated field may come back.
    let same =
        both_readable(old, new, random) && both_readable(&old.revived(), &new.revived(), random);
    // The library refuses writes of types that do not agree.
    let [one, other] = [&old_schema, &new_schema].map(|schema| {
        let root = schema.files[0].root.unwrap();
        describe(schema, root)
    });
    let agree = one.agrees(&other) && other.agrees(&one);
    assert!(
        agree || evolution.breaking,
        "{}\n{}",
        old.text(),
        new.text()
    );
    let changes = evolution.changes.iter();
    let changes = changes.map(|change| change.render(&evolution.sources, Style::Plain));
    let changes: Vec<String> = changes.collect();
    assert_eq!(
        evolution.breaking,
        !same,
        "old:\n{}\nnew:\n{}\n{}",
        old.text(),
        new.text(),
        changes.join("\n")
    );
    (evolution, agree)
}

// Promise: compatibility#P16
#[test]
fn verdicts_on_schema_changes_agree_with_stored_objects() {
    let (mut breaking, mut free, mut refused) = (0, 0, 0);
    let mut codes = BTreeMap::new();
    for seed in 0..400 {
        let mut random = Random::new(seed);
        let old = Version::first(&mut random);
        let mut new = old.clone();
        if random.one_in(2) {
            new.break_something(&mut random);
        }
        for _ in 0..random.below(5) {
            new.change_freely(&mut random);
        }
        let (evolution, agree) = check(&old, &new, &mut random);
        refused += usize::from(!agree);
        *(if evolution.breaking {
            &mut breaking
        } else {
            &mut free
        }) += 1;
        for change in &evolution.changes {
            *codes.entry(change.code.name).or_insert(0) += 1;
        }
    }
    assert!(breaking > 50 && free > 100, "{breaking} and {free}");
    assert!(refused > 20, "{refused}");
    // Keys and stored tables are not in payloads; the golden pairs have them.
    for code in [
        "E0300", "E0301", "E0302", "E0303", "E0304", "E0306", "E0307", "E0308",
    ] {
        assert!(codes.contains_key(code), "no pair gave {code}: {codes:?}");
    }
    for code in ["W0300", "W0301", "N0300", "N0301", "N0302", "N0303"] {
        assert!(codes.contains_key(code), "no pair gave {code}: {codes:?}");
    }
}
