//! The symbols of the C library: those of the header, and no others.

use std::path::Path;
use std::process::Command;

use crate::Result;

/// The beginning of the name of each symbol that the library exports.
const PREFIX: &str = "dflat_";

/// Writes an archive whose only member has the objects of another archive, and whose other symbols
/// cannot be seen by the program that links it: the program may have another SQLite, or another
/// library in Rust.
///
/// # Errors
/// An error if a program of the binary utilities is missing or fails.
pub(super) fn hide(archive: &Path, hidden: &Path) -> Result<()> {
    let object = hidden.with_extension("o");
    let mut link = Command::new("ld");
    link.args(["-r", "--whole-archive"]).arg(archive);
    run(link.arg("-o").arg(&object))?;
    let mut localize = Command::new("objcopy");
    localize.args(["--strip-debug", "--wildcard"]);
    localize.arg(format!("--keep-global-symbol={PREFIX}*"));
    // The bitcode of the objects is joined to something that tools cannot read.
    localize.args(["--remove-section", ".llvmbc"]);
    localize.args(["--remove-section", ".llvmcmd"]);
    run(localize.arg(&object))?;
    if hidden.exists() {
        std::fs::remove_file(hidden)?;
    }
    run(Command::new("ar").arg("rcs").arg(hidden).arg(&object))?;
    Ok(std::fs::remove_file(object)?)
}

/// Copies a shared library without its debug information, which takes five times the space of the
/// rest. The names of functions stay.
///
/// # Errors
/// An error if `objcopy` is missing or fails.
pub(super) fn strip(shared: &Path, stripped: &Path) -> Result<()> {
    let mut strip = Command::new("objcopy");
    run(strip.arg("--strip-debug").arg(shared).arg(stripped))?;
    Ok(())
}

/// Checks that a library exports symbols of the header only. `is_shared` says whether the dynamic
/// symbols count.
///
/// # Errors
/// An error that names some other symbols.
pub(super) fn check(library: &Path, is_shared: bool) -> Result<()> {
    let mut nm = Command::new("nm");
    nm.args(["--extern-only", "--defined-only", "--format=posix"]);
    if is_shared {
        nm.arg("--dynamic");
    }
    let listed = run(nm.arg(library))?;
    // A line of a symbol has its name, its kind, its value and its size.
    let lines = listed.lines().filter(|line| line.contains(' '));
    let names: Vec<&str> = lines
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    let others: Vec<&&str> = names
        .iter()
        .filter(|name| !name.starts_with(PREFIX))
        .take(5)
        .collect();
    if names.is_empty() || !others.is_empty() {
        let library = library.display();
        return Err(
            format!("{library} exports {others:?} besides the functions of the header").into(),
        );
    }
    Ok(())
}

/// Runs a program, and returns its output.
fn run(command: &mut Command) -> Result<String> {
    let output = command
        .output()
        .map_err(|error| format!("cannot run {command:?}: {error}"))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{command:?}: {}: {text}", output.status).into());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;

    use super::*;

    /// A program with its own `sqlite3_open` can link an archive that hides one.
    #[test]
    fn hidden_symbols_do_not_collide_with_those_of_a_program() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        let library = "int sqlite3_open(void) { return 1; }
                       int dflat_answer(void) { return sqlite3_open() + 41; }";
        let program = "int dflat_answer(void);
                       int sqlite3_open(void) { return 7; }
                       int main(void) { return dflat_answer() == 42 ? sqlite3_open() : 1; }";
        fs::write(file("library.c"), library).unwrap();
        fs::write(file("program.c"), program).unwrap();
        let cc = |arguments: [&str; 4]| {
            let mut cc = Command::new("cc");
            run(cc.args(arguments).current_dir(folder.path()))
        };
        cc(["-c", "library.c", "-o", "library.o"]).unwrap();
        let archive = file("all.a");
        run(Command::new("ar")
            .arg("rcs")
            .arg(&archive)
            .arg(file("library.o")))
        .unwrap();
        assert!(cc(["program.c", "all.a", "-o", "program"]).is_err());
        let error = check(&archive, false).unwrap_err().to_string();
        assert!(error.contains("sqlite3_open"), "{error}");

        for _ in 0..2 {
            hide(&archive, &file("hidden.a")).unwrap();
        }
        check(&file("hidden.a"), false).unwrap();
        cc(["program.c", "hidden.a", "-o", "program"]).unwrap();
        let status = Command::new(file("program")).status().unwrap();
        assert_eq!(status.code(), Some(7));
    }
}
