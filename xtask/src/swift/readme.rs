//! The program of swift/README.md, as a reader makes it: from an empty package to a live query.

use std::fs;
use std::path::Path;

use super::{Place, run_to_end};
use crate::Result;
use crate::c_library::Profile;

/// The files of the program, each before its block of code.
const FILES: [&str; 3] = [
    "Sources/Notes/note.fbs",
    "Package.swift",
    "Sources/Notes/main.swift",
];

/// Builds and runs the program in a folder beside a link to this repository, and compares its
/// output.
pub(super) fn run(place: &Place) -> Result<()> {
    let page = fs::read_to_string(place.root.join("swift/README.md"))?;
    let folder = place.folder.join("readme");
    let package = folder.join("Notes");
    fs::create_dir_all(package.join("Sources/Notes"))?;
    link(&place.root, &folder.join("dflat"))?;
    for file in FILES {
        let code = block_after(&page, &format!("`{file}`"))
            .ok_or_else(|| format!("swift/README.md has no block for {file}"))?;
        let path = package.join(file);
        // A file that is written anew is compiled anew.
        if fs::read_to_string(&path).ok().as_deref() != Some(code) {
            fs::write(&path, code)?;
        }
    }
    let expected = block_after(&page, "It prints:").ok_or("swift/README.md has no output")?;
    let library = place.c_library(Profile::Debug)?;
    let compiler = place.program("dflatc")?;
    let mut build = place.command("swift", &library);
    build.args(["build", "--package-path"]).arg(&package);
    run_to_end(
        build.env("DFLATC", &compiler),
        "the package of swift/README.md",
    )?;
    for end in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(package.join(format!("notes.db{end}")));
    }
    let program = package.join(".build/debug/Notes");
    let mut notes = place.command(&program.display().to_string(), &library);
    let output = notes.current_dir(&package).output()?;
    let printed = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() || printed != expected {
        let errors = String::from_utf8_lossy(&output.stderr);
        return Err(format!("the program of swift/README.md prints:\n{printed}{errors}").into());
    }
    Ok(())
}

/// The first block of code after a text.
fn block_after<'a>(page: &'a str, text: &str) -> Option<&'a str> {
    let (_, rest) = page.split_once(text)?;
    let (_, rest) = rest.split_once("```")?;
    let (_, code) = rest.split_once('\n')?;
    code.split_once("```").map(|(code, _)| code)
}

#[cfg(unix)]
fn link(target: &Path, link: &Path) -> Result<()> {
    if link.symlink_metadata().is_ok() {
        fs::remove_file(link)?;
    }
    Ok(std::os::unix::fs::symlink(target, link)?)
}

#[cfg(not(unix))]
fn link(_target: &Path, _link: &Path) -> Result<()> {
    Err("this task needs links of Unix".into())
}

#[cfg(test)]
mod tests {
    use super::{FILES, block_after};

    #[test]
    fn page_has_each_file_and_the_output() {
        let page = include_str!("../../../swift/README.md");
        for file in FILES {
            assert!(block_after(page, &format!("`{file}`")).is_some(), "{file}");
        }
        assert!(block_after(page, "It prints:").is_some_and(|block| block.ends_with('\n')));
    }
}
