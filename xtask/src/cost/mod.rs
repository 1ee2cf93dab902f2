//! `cargo xtask cost`: the crates and the time that a program pays for its first build with Dflat.
//!
//! The program has one type and the default features. It is a package of its own, so that neither
//! the profiles nor the compiled files of this repository change the figures. README quotes the
//! paragraph that the task writes; a test compares its counts with `cargo tree`.

mod programs;
mod shares;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use programs::{Library, Program};

use crate::Result;
use crate::ci::times::{Stopwatch, Times};
use crate::workspace;

/// The help of the task.
pub const HELP: &str = "\
Builds a program with one type from nothing, in both profiles, and prints the number of crates, the
times, and the seconds of each crate. Then builds programs with one type and with fifty, with Dflat
and with rusqlite, and prints by how much a type lengthens the build and the program. Nothing else
should run on the machine meanwhile.

Usage: cargo xtask cost [--bless]

Options:
  --bless  write the paragraphs into README.md and docs/build.md, and the figures of the page of
           benchmarks; `cargo xtask bench --write --page` writes that page
";

/// The figures for the page of benchmarks, below the root of the repository.
const FIGURES: &str = "docs/benchmarks/compile.json";

/// The lines around the paragraphs in README.md and docs/build.md.
const MARKS: [&str; 2] = ["<!-- by cargo xtask cost --bless -->\n", "<!-- end -->\n"];

const MANIFEST: &str = "\
[package]
name = \"cost\"
version = \"0.0.0\"
edition = \"2024\"

[dependencies]
dflat = { path = \"CRATES/dflat\" }

[build-dependencies]
dflat-build = { path = \"CRATES/dflat-build\" }

[workspace]
";

const PROGRAM: &str = "\
dflat::include_schema!(\"post\");

fn main() -> dflat::Result<()> {
    let workspace = dflat::Workspace::in_memory();
    workspace
        .perform_changes([Post::TABLE], |tx| {
            tx.submit(PostChangeRequest::creation(PostData {
                title: \"first post\".into(),
                ..PostData::default()
            }))
        })
        .wait()?;
    println!(\"{}\", workspace.fetch::<Post>().filter(Post::PRIORITY.eq(0)).count()?);
    Ok(())
}
";

/// The crates that Cargo compiles besides the program itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Those in the program.
    pub program: usize,
    /// Those that only build scripts use: the schema compiler, and the one that compiles SQLite.
    pub build: usize,
}

/// Writes the package into an empty folder.
///
/// # Errors
/// An error if a file cannot be written.
pub fn write_package(root: &Path, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder.join("src"))?;
    fs::write(
        folder.join("Cargo.toml"),
        MANIFEST.replace("CRATES", &crates_of(root)),
    )?;
    fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock"))?;
    fs::copy(root.join("schemas/post.fbs"), folder.join("post.fbs"))?;
    let script = "fn main() {\n    dflat_build::compile([\"post.fbs\"]);\n}\n";
    fs::write(folder.join("build.rs"), script)?;
    Ok(fs::write(folder.join("src/main.rs"), PROGRAM)?)
}

/// The folder of the crates, as a manifest names it.
fn crates_of(root: &Path) -> String {
    root.join("crates").to_string_lossy().replace('\\', "/")
}

/// Counts the crates of a package with `cargo tree`.
///
/// # Errors
/// An error if Cargo fails.
pub fn count(folder: &Path) -> Result<Counts> {
    let program = tree(folder, "normal")?;
    let all = tree(folder, "normal,build")?;
    Ok(Counts {
        program: program.len(),
        build: all.difference(&program).count(),
    })
}

/// The crates below a package, each with its version.
fn tree(folder: &Path, edges: &str) -> Result<BTreeSet<String>> {
    let mut cargo = workspace::cargo();
    cargo.args(["tree", "--offline", "--prefix", "none", "--format", "{p}"]);
    let output = cargo.args(["-e", edges]).current_dir(folder).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    let text = String::from_utf8(output.stdout)?;
    // The first line is the package itself.
    let names = text.lines().skip(1).map(|line| {
        let words: Vec<_> = line.split(' ').take(2).collect();
        words.join(" ")
    });
    Ok(names.filter(|name| !name.is_empty()).collect())
}

/// Counts, builds and prints; with `is_blessed`, also writes README.md and docs/build.md.
///
/// # Errors
/// An error if a package cannot be written or built, or a page has no place for its paragraph.
pub fn run(root: &Path, is_blessed: bool) -> Result<()> {
    let target = workspace::metadata(root, &["--no-deps", "--offline"])?;
    let folder = PathBuf::from(workspace::text(&target["target_directory"])).join("cost");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    write_package(root, &folder)?;
    let counts = count(&folder)?;
    let target = folder.join("target");
    let dev = build(&folder, "dev", &target)?;
    let seconds = shares::read(&target)?;
    let release = build(&folder, "release", &target)?;
    let text = paragraph(counts, [dev, release]);
    println!("{text}\ndev: {dev}\nrelease: {release}");
    for (name, seconds) in &seconds {
        println!("{seconds:6.1} s  {name}");
    }
    let own = [("dev", dev), ("release", release)].map(|(profile, first)| {
        programs::measure(root, &folder, (Library::Dflat, profile), Some(first))
    });
    let [dev, release] = own;
    let own = [dev?, release?];
    let rusqlite = folder.join("rusqlite");
    let by_hand = ["dev", "release"]
        .map(|profile| programs::measure(root, &rusqlite, (Library::Rusqlite, profile), None));
    let [dev, release] = by_hand;
    let programs: Vec<Program> = own
        .iter()
        .chain(&[dev?, release?])
        .flatten()
        .copied()
        .collect();
    for program in &programs {
        println!("{program:?}");
    }
    let more = format!("{}\n{}", shares::sentence(&seconds), of_a_type(&own));
    println!("{more}");
    if is_blessed {
        bless(&root.join("README.md"), &text)?;
        bless(&root.join("docs/build.md"), &more)?;
        let json = programs::to_json(&programs, &machine(), &date(SystemTime::now()))?;
        fs::write(root.join(FIGURES), json)?;
    }
    Ok(())
}

/// Writes a paragraph into a page.
fn bless(path: &Path, text: &str) -> Result<()> {
    let page = fs::read_to_string(path)?;
    let (before, old, after) = split(&page).ok_or_else(|| {
        let path = path.display();
        format!("{path} lacks the marks")
    })?;
    println!("{} had:\n{old}", path.display());
    Ok(fs::write(path, format!("{before}{text}{after}"))?)
}

/// The sentence on the cost of a type, in `dev` and in `release`.
fn of_a_type([dev, release]: &[[Program; 2]; 2]) -> String {
    let (in_dev, _) = programs::of_a_type(dev);
    let (in_release, bytes) = programs::of_a_type(release);
    format!(
        "A table with one query and one upsert lengthens the build of the program by {:.2} s in \
         `dev` and {:.2} s in `release`, and the program in `release` by {:.0} KB, on {} on {}.\n",
        in_dev.as_secs_f64(),
        in_release.as_secs_f64(),
        bytes as f64 / 1_000.0,
        machine(),
        date(SystemTime::now())
    )
}

fn build(folder: &Path, profile: &str, target: &Path) -> Result<Times> {
    let watch = Stopwatch::start();
    let mut cargo = workspace::cargo();
    cargo.args(["build", "--offline", "--timings", "--profile", profile]);
    cargo.arg("--target-dir").arg(target);
    // An incremental build of the same source would reuse everything.
    cargo.env("CARGO_INCREMENTAL", "0");
    let status = cargo.current_dir(folder).status()?;
    if status.success() {
        Ok(watch.read())
    } else {
        Err(format!("the program cannot be built: {status}").into())
    }
}

/// A page before its paragraph, the paragraph, and the page after it.
pub fn split(readme: &str) -> Option<(&str, &str, &str)> {
    let start = readme.find(MARKS[0])? + MARKS[0].len();
    let end = start + readme[start..].find(MARKS[1])?;
    Some((&readme[..start], &readme[start..end], &readme[end..]))
}

/// The sentence with the counts, as README has it.
pub fn sentence(counts: Counts) -> String {
    let Counts { program, build } = counts;
    format!(
        "A program with one type compiles {program} crates, SQLite's C code included, and {build} \
         more for build scripts."
    )
}

fn paragraph(counts: Counts, times: [Times; 2]) -> String {
    // Other programs on the machine lengthen the wall time, so it is the second choice.
    let [dev, release] = times.map(|times| match times.processor {
        Some(spent) => format!("{:.0} s of processor time", spent.as_secs_f64()),
        None => format!("{:.0} s", times.wall.as_secs_f64()),
    });
    format!(
        "{}\nThe first build took {dev} in the profile `dev` and {release} in `release`, on {} on {}.\n",
        sentence(counts),
        machine(),
        date(SystemTime::now())
    )
}

/// The processors of this machine.
fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find(|line| line.starts_with("model name"));
    let name = model.and_then(|line| Some(line.split_once(": ")?.1.trim()));
    let name = name.map_or_else(String::new, |name| format!(" ({name})"));
    format!("{cores} cores{name}")
}

/// The date of a time, in UTC.
fn date(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    // Years that begin in March end with the day that leap years add.
    let days = seconds / 86_400 + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    format!("{}-{month:02}-{day:02}", era * 400 + year + next)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn date_is_that_of_the_calendar() {
        for (seconds, expected) in [
            (0, "1970-01-01"),
            (951_782_399, "2000-02-28"),
            (951_782_400, "2000-02-29"),
            (1_798_761_599, "2026-12-31"),
        ] {
            assert_eq!(date(UNIX_EPOCH + Duration::from_secs(seconds)), expected);
        }
    }
}
