//! The cost of one more table: the difference between programs with many tables and with one.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Duration;

use super::{MANIFEST, build, crates_of};
use crate::Result;

/// The number of tables that the larger program has besides those of the smaller one.
const MORE: u32 = 50;

/// The number of builds of a program, of which the fastest counts: the cost of a table is a small
/// difference of two times.
const BUILDS: usize = 3;

/// The cost of one table with one query and one upsert.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slope {
    /// The time by which a build of the program alone takes longer, its libraries being built.
    pub(super) time: Duration,
    /// The bytes by which the program is larger.
    pub(super) bytes: u64,
}

/// Builds both programs in a folder, whose folder `target` has the libraries already.
///
/// # Errors
/// An error if a program cannot be written or built.
pub(super) fn measure(root: &Path, folder: &Path, profile: &str) -> Result<Slope> {
    let small = program(root, folder, profile, 1)?;
    let large = program(root, folder, profile, 1 + MORE)?;
    Ok(Slope {
        time: large.0.saturating_sub(small.0) / MORE,
        bytes: large.1.saturating_sub(small.1) / u64::from(MORE),
    })
}

/// The time and the bytes of a program with some tables.
fn program(root: &Path, folder: &Path, profile: &str, tables: u32) -> Result<(Duration, u64)> {
    let package = folder.join(format!("tables-{tables}"));
    fs::create_dir_all(package.join("src"))?;
    let manifest = MANIFEST.replace("CRATES", &crates_of(root));
    let manifest = manifest.replace("\"cost\"", &format!("\"tables-{tables}\""));
    fs::write(package.join("Cargo.toml"), manifest)?;
    fs::copy(root.join("Cargo.lock"), package.join("Cargo.lock"))?;
    fs::write(package.join("tables.fbs"), schema(tables)?)?;
    let script = "fn main() {\n    dflat_build::compile([\"tables.fbs\"]);\n}\n";
    fs::write(package.join("build.rs"), script)?;
    let source = package.join("src/main.rs");
    fs::write(&source, code(tables)?)?;
    // The first build makes the libraries and the build script, the others the program alone.
    let target = folder.join("target");
    build(&package, profile, &target)?;
    let mut time = Duration::MAX;
    for _ in 0..BUILDS {
        fs::write(&source, code(tables)?)?;
        let times = build(&package, profile, &target)?;
        time = time.min(times.processor.unwrap_or(times.wall));
    }
    let built = if profile == "dev" { "debug" } else { profile };
    let name = format!("tables-{tables}{}", std::env::consts::EXE_SUFFIX);
    let bytes = fs::metadata(target.join(built).join(name))?.len();
    Ok((time, bytes))
}

fn schema(tables: u32) -> Result<String> {
    let mut text = String::new();
    for n in 0..tables {
        writeln!(
            text,
            "table T{n} (stored) {{ id: ulong (primary); title: string; done: bool (indexed); }}"
        )?;
    }
    Ok(text)
}

/// A program that upserts and queries an object of each table.
fn code(tables: u32) -> Result<String> {
    let mut text = "dflat::include_schema!(\"tables\");\n".to_owned();
    for n in 0..tables {
        write!(
            text,
            "
fn table_{n}(workspace: &dflat::Workspace) -> dflat::Result<usize> {{
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
    for n in 0..tables {
        writeln!(text, "    println!(\"{{}}\", table_{n}(&workspace)?);")?;
    }
    text.push_str("    Ok(())\n}\n");
    Ok(text)
}
