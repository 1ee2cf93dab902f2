//! Programs with one stored type and with fifty, with Dflat and with rusqlite.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::{MANIFEST, build, crates_of};
use crate::Result;
use crate::ci::times::Times;

/// The number of types of each program.
const TYPES: [u32; 2] = [1, 50];

/// The number of builds of a program, of which the fastest counts: the cost of a type is a small
/// difference of two times.
const BUILDS: usize = 3;

/// The manifest of a program on rusqlite, whose lock is that of the rivals.
const RUSQLITE: &str = "\
[package]
name = \"cost\"
version = \"0.0.0\"
edition = \"2024\"

[dependencies]
rusqlite = { version = \"0.40\", features = [\"bundled\"] }

[workspace]
";

/// The library that a program uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Library {
    Dflat,
    Rusqlite,
}

/// The measurements of a program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Program {
    pub(super) library: Library,
    pub(super) types: u32,
    pub(super) profile: &'static str,
    /// The time of the first build, which makes all libraries; of the program with one type.
    pub(super) first: Option<Duration>,
    /// The time of a build of the program alone.
    pub(super) again: Duration,
    /// The length of the program.
    pub(super) bytes: u64,
}

impl Library {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Dflat => "Dflat",
            Self::Rusqlite => "rusqlite",
        }
    }

    /// Writes the package of a program, all but its source.
    fn write(self, root: &Path, package: &Path, types: u32) -> Result<()> {
        fs::create_dir_all(package.join("src"))?;
        let (manifest, lock) = match self {
            Self::Dflat => (
                MANIFEST.replace("CRATES", &crates_of(root)),
                root.join("Cargo.lock"),
            ),
            Self::Rusqlite => (
                RUSQLITE.to_owned(),
                root.join("crates/dflat-bench-rivals/Cargo.lock"),
            ),
        };
        let manifest = manifest.replace("\"cost\"", &format!("\"types-{types}\""));
        fs::write(package.join("Cargo.toml"), manifest)?;
        fs::copy(lock, package.join("Cargo.lock"))?;
        if self == Self::Dflat {
            fs::write(package.join("types.fbs"), schema(types)?)?;
            let script = "fn main() {\n    dflat_build::compile([\"types.fbs\"]);\n}\n";
            fs::write(package.join("build.rs"), script)?;
        }
        Ok(())
    }

    fn code(self, types: u32) -> Result<String> {
        match self {
            Self::Dflat => with_dflat(types),
            Self::Rusqlite => with_rusqlite(types),
        }
    }
}

/// Builds both programs of a library in a folder. `first` is the time of the first build into the
/// folder's `target`, if there was one.
///
/// # Errors
/// An error if a program cannot be written or built.
pub(super) fn measure(
    root: &Path,
    folder: &Path,
    (library, profile): (Library, &'static str),
    first: Option<Times>,
) -> Result<[Program; 2]> {
    let [one, fifty] = TYPES;
    let program = |types, first| program(root, folder, (library, profile), types, first);
    Ok([program(one, first)?, program(fifty, None)?])
}

fn program(
    root: &Path,
    folder: &Path,
    (library, profile): (Library, &'static str),
    types: u32,
    first: Option<Times>,
) -> Result<Program> {
    let package = folder.join(format!("types-{types}"));
    library.write(root, &package, types)?;
    let source = package.join("src/main.rs");
    fs::write(&source, library.code(types)?)?;
    let target = folder.join("target");
    let is_first = !target.join(built(profile)).exists();
    let begun = build(&package, profile, &target)?;
    let first = first.or_else(|| is_first.then_some(begun));
    let mut again = Duration::MAX;
    for _ in 0..BUILDS {
        fs::write(&source, library.code(types)?)?;
        again = again.min(spent(build(&package, profile, &target)?));
    }
    let name = format!("types-{types}{}", std::env::consts::EXE_SUFFIX);
    Ok(Program {
        library,
        types,
        profile,
        first: first.map(spent),
        again,
        bytes: fs::metadata(target.join(built(profile)).join(name))?.len(),
    })
}

/// The folder of a profile's programs.
fn built(profile: &str) -> &str {
    if profile == "dev" { "debug" } else { profile }
}

/// The processor time, which other programs on the machine hardly change, where it is known.
fn spent(times: Times) -> Duration {
    times.processor.unwrap_or(times.wall)
}

/// The time and the bytes by which one more type lengthens a build and a program.
pub(super) fn of_a_type([small, large]: &[Program; 2]) -> (Duration, u64) {
    let more = large.types - small.types;
    (
        large.again.saturating_sub(small.again) / more,
        large.bytes.saturating_sub(small.bytes) / u64::from(more),
    )
}

/// The measurements for the page of benchmarks.
pub(super) fn to_json(programs: &[Program], machine: &str, date: &str) -> Result<String> {
    let program = |program: &Program| {
        json!({
            "library": program.library.name(),
            "types": program.types,
            "profile": program.profile,
            "first_s": program.first.map(|time| time.as_secs_f64()),
            "again_s": program.again.as_secs_f64(),
            "bytes": program.bytes,
        })
    };
    let programs: Vec<Value> = programs.iter().map(program).collect();
    let all = json!({ "machine": machine, "date": date, "programs": programs });
    Ok(serde_json::to_string_pretty(&all)? + "\n")
}

fn schema(types: u32) -> Result<String> {
    let mut text = String::new();
    for n in 0..types {
        writeln!(
            text,
            "table T{n} (stored) {{ id: ulong (primary); title: string; done: bool (indexed); }}"
        )?;
    }
    Ok(text)
}

/// A program that upserts and queries an object of each type.
fn with_dflat(types: u32) -> Result<String> {
    let mut text = "dflat::include_schema!(\"types\");\n".to_owned();
    for n in 0..types {
        write!(
            text,
            "
fn type_{n}(workspace: &dflat::Workspace) -> dflat::Result<usize> {{
    let upserted = workspace.perform_changes([T{n}::TABLE], |tx| {{
        let data = T{n}Data {{ id: 1, title: Some(\"a\".to_owned()), ..T{n}Data::default() }};
        tx.submit(T{n}ChangeRequest::upsert(data))
    }});
    upserted.wait()?;
    let open = workspace.fetch::<T{n}>().filter(T{n}::DONE.eq(false));
    let found = open.order_by(T{n}::TITLE.ascending()).all()?;
    Ok(found.iter().filter(|found| found.title() == Some(\"a\")).count())
}}
"
        )?;
    }
    text.push_str("\nfn main() -> dflat::Result<()> {\n");
    text.push_str("    let workspace = dflat::Workspace::in_memory();\n");
    for n in 0..types {
        writeln!(text, "    println!(\"{{}}\", type_{n}(&workspace)?);")?;
    }
    text.push_str("    Ok(())\n}\n");
    Ok(text)
}

/// A program that does the same with a structure for each type, and its SQL by hand.
fn with_rusqlite(types: u32) -> Result<String> {
    let mut text = String::new();
    for n in 0..types {
        write!(
            text,
            "
struct T{n} {{
    id: i64,
    title: Option<String>,
    done: bool,
}}

fn type_{n}(db: &mut rusqlite::Connection) -> rusqlite::Result<usize> {{
    db.execute_batch(
        \"CREATE TABLE IF NOT EXISTS t{n} (id INTEGER PRIMARY KEY, title TEXT, done INTEGER NOT NULL);
         CREATE INDEX IF NOT EXISTS t{n}_done ON t{n} (done);\",
    )?;
    let object = T{n} {{ id: 1, title: Some(\"a\".to_owned()), done: false }};
    let tx = db.transaction()?;
    tx.prepare_cached(
        \"INSERT INTO t{n} (id, title, done) VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET
         title = excluded.title, done = excluded.done\",
    )?
    .execute(rusqlite::params![object.id, object.title, object.done])?;
    tx.commit()?;
    let mut select = db.prepare_cached(
        \"SELECT id, title, done FROM t{n} WHERE done = ? ORDER BY title\",
    )?;
    let read = |row: &rusqlite::Row<'_>| {{
        Ok(T{n} {{ id: row.get(0)?, title: row.get(1)?, done: row.get(2)? }})
    }};
    let found = select.query_map([false], read)?.collect::<rusqlite::Result<Vec<_>>>()?;
    Ok(found.iter().filter(|found| found.title.as_deref() == Some(\"a\")).count())
}}
"
        )?;
    }
    text.push_str("\nfn main() -> rusqlite::Result<()> {\n");
    text.push_str("    let mut db = rusqlite::Connection::open_in_memory()?;\n");
    for n in 0..types {
        writeln!(text, "    println!(\"{{}}\", type_{n}(&mut db)?);")?;
    }
    text.push_str("    Ok(())\n}\n");
    Ok(text)
}
