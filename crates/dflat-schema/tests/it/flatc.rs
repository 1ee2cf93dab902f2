//! Differential test: vtable offsets and struct layouts equal those of `flatc`.
//!
//! The test compiles each valid schema with `flatc --cpp`, with Dflat's attributes declared. It
//! reads the offsets of fields from the generated constants (`VT_NAME = 4`), the offsets in structs
//! from the members and explicit padding, and sizes from `FLATBUFFERS_STRUCT_END(Vec3, 12)`.
//! Without `flatc` the test is skipped, except with `DFLAT_REQUIRE_FLATC=1` in the environment.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::Command;

use dflat_schema::{DefinitionKind, MemoryLoader, Options, Schema, compile};

use crate::dump::dump;
use crate::fixture::{compile_file, names, text};

/// The schemas that `flatc` refuses, because Dflat accepts more on purpose: defaults such as `E.A`,
/// types used before their declaration, comments in unusual places.
const NOT_FOR_FLATC: [&str; 4] = [
    "0012_liberal_defaults",
    "0022_forward",
    "0023_recursive_indexes",
    "0028_liberal_docs",
];

/// Dflat's attributes, which `flatc` and the compiler of Dflat for Swift know only if a schema
/// declares them.
const ATTRIBUTES: [&str; 9] = [
    "primary",
    "auto",
    "indexed",
    "unique",
    "no_indexes",
    "stored",
    "time",
    "uuid",
    "v",
];

/// Type name to field name (or `size`) to number.
type Layout = BTreeMap<String, BTreeMap<String, u32>>;

fn ours(schema: &Schema) -> Layout {
    let mut layout = Layout::new();
    for definition in &schema.definitions {
        let mut numbers = BTreeMap::new();
        match &definition.kind {
            DefinitionKind::Table(table) => {
                for field in table.fields.iter().filter(|field| !field.deprecated) {
                    numbers.insert(field.name.to_uppercase(), u32::from(field.voffset));
                }
            }
            DefinitionKind::Struct(found) => {
                numbers.insert("size".to_owned(), found.size);
                numbers.insert("align".to_owned(), found.align);
                for field in &found.fields {
                    numbers.insert(field.name.to_uppercase(), field.offset);
                }
            }
            _ => continue,
        }
        layout.insert(definition.full_name(), numbers);
    }
    layout
}

/// Reads the constants from a generated header.
fn theirs(header: &str) -> Layout {
    let mut layout = Layout::new();
    let mut namespace: Vec<&str> = Vec::new();
    let mut current = String::new();
    let (mut align, mut offset, mut private) = (0, 0, false);
    let mut members = BTreeMap::new();
    let full = |namespace: &[&str], name: &str| {
        let mut parts = namespace.to_vec();
        parts.push(name);
        parts.join(".")
    };
    for line in header.lines() {
        let line = line.trim();
        if let Some(name) = line
            .strip_prefix("namespace ")
            .and_then(|rest| rest.strip_suffix(" {"))
        {
            namespace.push(name);
        } else if line.starts_with("}  // namespace ") {
            namespace.pop();
        } else if let Some(rest) = line.strip_prefix("FLATBUFFERS_MANUALLY_ALIGNED_STRUCT(") {
            align = rest.split(')').next().unwrap().parse().unwrap();
            offset = 0;
            members = BTreeMap::new();
            private = true;
        } else if line == "public:" {
            private = false;
        } else if private && line.ends_with(';') {
            for member in line.split_terminator(';') {
                let (name, size) = member_of(member.trim(), &namespace, &layout);
                members.insert(name, offset);
                offset += size;
            }
        } else if let Some(rest) = line.strip_prefix("FLATBUFFERS_STRUCT_END(") {
            let (name, size) = rest.trim_end_matches(");").split_once(", ").unwrap();
            let numbers = layout.entry(full(&namespace, name)).or_default();
            numbers.insert("size".to_owned(), size.parse().unwrap());
            numbers.insert("align".to_owned(), align);
            members.retain(|name, _| !name.starts_with("PADDING"));
            numbers.append(&mut members);
        } else if line.contains(" FLATBUFFERS_FINAL_CLASS : private flatbuffers::Table {") {
            let name = line.split(' ').nth(1).unwrap().trim_end_matches('_');
            current = full(&namespace, name);
            layout.entry(current.clone()).or_default();
        } else if let Some(constant) = line.strip_prefix("VT_") {
            let (name, offset) = constant.trim_end_matches(',').split_once(" = ").unwrap();
            let numbers = layout.get_mut(&current).unwrap();
            // flatc appends `_` to a name that is a keyword of C++.
            numbers.insert(
                name.trim_end_matches('_').to_owned(),
                offset.parse().unwrap(),
            );
        }
    }
    layout
}

/// The name and size of a struct's member, such as `float b_[3]`. Padding is a member too.
fn member_of(member: &str, namespace: &[&str], layout: &Layout) -> (String, u32) {
    let (ty, name) = member.split_once(' ').unwrap();
    let (name, length) = match name.trim_end_matches(']').split_once('[') {
        Some((name, length)) => (name, length.parse().unwrap()),
        None => (name, 1),
    };
    let size = match ty {
        "int8_t" | "uint8_t" => 1,
        "int16_t" | "uint16_t" => 2,
        "int32_t" | "uint32_t" | "float" => 4,
        "int64_t" | "uint64_t" | "double" => 8,
        inner => {
            let near = format!("{}.{inner}", namespace.join("."));
            let found = layout.get(near.trim_start_matches('.'));
            found
                .or_else(|| layout.get(&inner.replace("::", ".")))
                .unwrap()["size"]
        }
    };
    (name.trim_end_matches('_').to_uppercase(), size * length)
}

/// Removes the constants of type codes, which are two bytes before their unions.
fn without_tags(ours: &Layout, mut theirs: Layout) -> Layout {
    for (name, numbers) in &mut theirs {
        let Some(known) = ours.get(name) else {
            continue;
        };
        let unions: Vec<(String, u32)> = numbers
            .keys()
            .filter(|key| !known.contains_key(*key))
            .filter_map(|key| Some((key.clone(), *known.get(key.strip_suffix("_TYPE")?)?)))
            .collect();
        for (tag, value_offset) in unions {
            assert_eq!(numbers.remove(&tag), Some(value_offset - 2), "{name}.{tag}");
        }
    }
    theirs
}

fn run_flatc(directory: &Path, name: &str) -> String {
    let attributes: String = ATTRIBUTES
        .iter()
        .map(|attribute| format!("attribute \"{attribute}\"; "))
        .collect();
    // flatc generates included files into the header of their includer, so they come after the
    // declarations of the attributes.
    fs::write(directory.join("dflat_attributes.fbs"), attributes).unwrap();
    for (from, to) in [("ok", "ok"), ("include", "include")] {
        for name in names(from, ".fbs") {
            let original = text(&format!("{from}/{name}.fbs"));
            let original = original.trim_start_matches('\u{feff}');
            let declared = format!("include \"dflat_attributes.fbs\"; {original}");
            fs::create_dir_all(directory.join(to)).unwrap();
            fs::write(directory.join(to).join(format!("{name}.fbs")), declared).unwrap();
        }
    }
    let output = Command::new("flatc")
        .args([
            "--cpp",
            "--gen-all",
            "-I",
            ".",
            "-I",
            "include",
            "-o",
            "out",
        ])
        .arg(format!("ok/{name}.fbs"))
        .current_dir(directory)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let complained = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{name}: {said}{complained}");
    // flatc generates nothing for a file without definitions.
    fs::read_to_string(directory.join(format!("out/{name}_generated.h"))).unwrap_or_default()
}

// Promise: compatibility#P66
#[test]
fn layouts_equal_those_of_flatc() {
    if Command::new("flatc").arg("--version").output().is_err() {
        let required = std::env::var_os("DFLAT_REQUIRE_FLATC").is_some_and(|value| value == "1");
        assert!(!required, "flatc is required but absent");
        writeln!(io::stderr(), "flatc is absent: layouts are not compared").unwrap();
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let mut compared = 0;
    for name in names("ok", ".fbs") {
        if NOT_FOR_FLATC.contains(&name.as_str()) {
            continue;
        }
        let schema = compile_file(&format!("ok/{name}.fbs")).schema.unwrap();
        let ours = ours(&schema);
        let header = run_flatc(directory.path(), &name);
        let theirs = without_tags(&ours, theirs(&header));
        assert_eq!(ours, theirs, "{name}");
        compared += ours.values().map(BTreeMap::len).sum::<usize>();
    }
    assert!(compared > 100, "only {compared} numbers compared");
}

/// Each attribute of Dflat may be declared, so that `flatc` accepts the schema too: the declaration
/// changes nothing.
// Promise: compatibility#P66
#[test]
fn declared_attributes_keep_their_meaning() {
    let declared: String = ATTRIBUTES
        .iter()
        .map(|name| format!("attribute \"{name}\"; "))
        .collect();
    let schema = "struct Id (uuid) { high: ulong; low: ulong; } \
                  table Item (indexed: \"note\") { note: string; name: string (unique); } \
                  table Log (stored) { id: string (primary, auto: \"uuid_v7\"); } \
                  table Post (v: \"2\") { id: ulong (primary, auto); tag: string (indexed); \
                  item: Item (no_indexes); owner: Id; at: long (time: \"seconds\"); } \
                  root_type Post;";
    let dumped = |text: &str| {
        let loader = MemoryLoader::new().with_file("post.fbs", text);
        let compiled = compile(&["post.fbs".to_owned()], &loader, &Options::default());
        assert!(
            compiled.diagnostics.is_empty(),
            "{:?}",
            compiled.diagnostics
        );
        dump(&compiled.schema.unwrap())
    };
    let plain = dumped(schema);
    assert_eq!(dumped(&format!("{declared}{schema}")), plain);
    for shown in [
        "(primary, auto)",
        "auto uuid_v7",
        ", uuid",
        "seconds",
        "stored as log,",
    ] {
        assert!(plain.contains(shown), "{shown} is not in {plain}");
    }
}
