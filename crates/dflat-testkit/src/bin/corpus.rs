//! Unpacks the inputs of a fuzzer to files for `cargo fuzz`, and adds files to its archive.
#![allow(clippy::print_stdout, reason = "a program for people at a terminal")]

use std::fs;
use std::io::{Error, Result};
use std::path::Path;
use std::process::ExitCode;

use dflat_testkit::archive::{self, Input};

const HELP: &str = "\
The inputs that coverage-guided fuzzers found: an archive for each target, fuzz/corpus/TARGET.txt.

Usage: corpus unpack TARGET
       corpus add TARGET FILE..

unpack writes each input to a file of its name in fuzz/corpus/TARGET, which git ignores.
add    puts files into the archive. The name of an input is that of its file, or the first twelve
       digits of it if `cargo fuzz` named the file. An input of the same name is replaced.
";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = match words[..] {
        ["unpack", target] => unpack(target),
        ["add", target, ref files @ ..] if !files.is_empty() => add(target, files),
        _ => {
            print!("{HELP}");
            return ExitCode::from(u8::from(words != ["--help"]));
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn unpack(target: &str) -> Result<()> {
    let inputs = archive::read(target)?;
    let folder = archive::folder().join(target);
    fs::create_dir_all(&folder)?;
    for input in &inputs {
        fs::write(folder.join(&input.name), &input.bytes)?;
    }
    println!("{} inputs of {target} unpacked", inputs.len());
    Ok(())
}

fn add(target: &str, files: &[&str]) -> Result<()> {
    let mut inputs = archive::read(target)?;
    for file in files {
        let bytes = fs::read(file)?;
        let name = Path::new(file).file_name().and_then(|name| name.to_str());
        let name = name.ok_or_else(|| Error::other(format!("{file}: the name is not UTF-8")))?;
        // `cargo fuzz` names a file by the SHA-1 of its bytes.
        let is_hash = name.len() == 40 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        let name = if is_hash { &name[..12] } else { name };
        inputs.push(Input::new(name, bytes)?);
    }
    archive::write(target, inputs)
}
