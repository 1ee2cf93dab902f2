//! Inputs of a fuzzer, all in one text file, so that a change of them can be read in a diff.
//!
//! A line is an input: its name, a space and its bytes. `#` at the start of a line begins a
//! comment. Printable ASCII stands for itself, except the backslash; every other byte is escaped:
//!
//! | Escape | Bytes |
//! |---|---|
//! | `\\`, `\n`, `\r`, `\t` | a backslash, a line feed, a carriage return, a tab |
//! | `\0{12}` | twelve bytes of zero |
//! | `\xe4` | the byte 0xe4 |
//!
//! Lines are in order of name. The program `corpus` of this crate adds and unpacks inputs.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// An input of a fuzzer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Input {
    /// The name of the file that it is unpacked to.
    pub name: String,
    /// The bytes that the fuzzer gets.
    pub bytes: Vec<u8>,
}

impl Input {
    /// An input.
    ///
    /// # Errors
    /// An error if the name has other characters than ASCII letters, digits, `-` and `_`.
    pub fn new(name: &str, bytes: Vec<u8>) -> io::Result<Self> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.is_empty() || !name.chars().all(is_plain) {
            let message = format!("`{name}` is no name of an input: use letters, digits, - and _");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let name = name.to_owned();
        Ok(Self { name, bytes })
    }
}

/// The folder that has an archive for each target of `cargo fuzz`, and the unpacked inputs.
#[must_use]
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus")
}

/// The inputs of a target, by its name.
///
/// # Errors
/// An error if the target's archive can't be read, or if a line is not an input.
pub fn read(target: &str) -> io::Result<Vec<Input>> {
    let path = path_of(target);
    parse(&fs::read_to_string(&path)?).map_err(|line| {
        let message = format!("{}:{line}: not an input of a fuzzer", path.display());
        io::Error::new(io::ErrorKind::InvalidData, message)
    })
}

/// Replaces the inputs of a target. Comments at the top of its archive are kept.
///
/// # Errors
/// An error if the archive can't be read or written.
pub fn write(target: &str, inputs: Vec<Input>) -> io::Result<()> {
    let path = path_of(target);
    let old = fs::read_to_string(&path)?;
    fs::write(path, header(&old) + &text(inputs))
}

fn path_of(target: &str) -> PathBuf {
    folder().join(format!("{target}.txt"))
}

fn header(text: &str) -> String {
    let lines = text.split_inclusive('\n');
    lines.take_while(|line| line.starts_with('#')).collect()
}

/// The lines of some inputs. Of several with the same name only the last is kept.
fn text(mut inputs: Vec<Input>) -> String {
    inputs.reverse();
    inputs.sort_by(|a, b| a.name.cmp(&b.name));
    inputs.dedup_by(|b, a| a.name == b.name);
    let lines = inputs.iter();
    let lines = lines.map(|input| format!("{} {}\n", input.name, escaped(&input.bytes)));
    lines.collect()
}

/// The inputs of an archive. The error is the number of the first line that is not an input.
fn parse(text: &str) -> Result<Vec<Input>, usize> {
    let lines = text.lines().zip(1..);
    let lines = lines.filter(|(line, _)| !line.starts_with('#'));
    lines
        .map(|(line, number)| input(line).ok_or(number))
        .collect()
}

fn input(line: &str) -> Option<Input> {
    let (name, bytes) = line.split_once(' ')?;
    Input::new(name, unescaped(bytes)?).ok()
}

fn escaped(bytes: &[u8]) -> String {
    let mut text = String::new();
    let mut rest = bytes;
    while let [first, tail @ ..] = rest {
        rest = tail;
        match first {
            0 => {
                let more = tail.iter().take_while(|byte| **byte == 0).count();
                rest = &tail[more..];
                write!(text, "\\0{{{}}}", more + 1).unwrap();
            }
            b'\\' => text.push_str("\\\\"),
            b'\n' => text.push_str("\\n"),
            b'\r' => text.push_str("\\r"),
            b'\t' => text.push_str("\\t"),
            b' '..=b'~' => text.push(char::from(*first)),
            _ => write!(text, "\\x{first:02x}").unwrap(),
        }
    }
    text
}

fn unescaped(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if !matches!(first, ' '..='~') {
            return None;
        }
        let Some(escape) = rest.strip_prefix('\\') else {
            bytes.push(u8::try_from(first).ok()?);
            rest = &rest[1..];
            continue;
        };
        rest = escape.get(1..)?;
        match escape.as_bytes().first()? {
            b'\\' => bytes.push(b'\\'),
            b'n' => bytes.push(b'\n'),
            b'r' => bytes.push(b'\r'),
            b't' => bytes.push(b'\t'),
            b'0' => {
                let (count, tail) = rest.strip_prefix('{')?.split_once('}')?;
                bytes.resize(bytes.len() + count.parse::<usize>().ok()?, 0);
                rest = tail;
            }
            b'x' => {
                bytes.push(u8::from_str_radix(rest.get(..2)?, 16).ok()?);
                rest = &rest[2..];
            }
            _ => return None,
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str, bytes: &[u8]) -> Input {
        Input {
            name: name.to_owned(),
            bytes: bytes.to_owned(),
        }
    }

    #[test]
    fn archive_round_trips_its_bytes() {
        let every: Vec<u8> = (0..=255).collect();
        for (bytes, text) in [
            (&b""[..], ""),
            (b"table A {\n\ta:int; \\\r}", r"table A {\n\ta:int; \\\r}"),
            (b"\0\0\0a\0\xe4\x7f", r"\0{3}a\0{1}\xe4\x7f"),
        ] {
            assert_eq!(escaped(bytes), text);
            assert_eq!(unescaped(text).as_deref(), Some(bytes));
        }
        assert_eq!(unescaped(&escaped(&every)), Some(every));
    }

    #[test]
    fn archive_text_without_an_input_is_refused() {
        for text in [
            "\\", "\\a", "\\x4", "\\xg0", "\\0", "\\0{a}", "\\0{1", "\u{e9}", "a\tb",
        ] {
            assert_eq!(unescaped(text), None, "{text}");
        }
        assert_eq!(parse("# comment\na b\nc"), Err(3));
        assert_eq!(parse("a/b c"), Err(1));
    }

    #[test]
    fn archive_inputs_are_sorted_and_have_unique_names() {
        let inputs = vec![named("b", b"1"), named("a", b"2"), named("b", b"3")];
        let text = text(inputs);
        assert_eq!(text, "a 2\nb 3\n");
        assert_eq!(parse(&text), Ok(vec![named("a", b"2"), named("b", b"3")]));
        assert_eq!(header("# x\n# y\na #\n"), "# x\n# y\n");
    }
}
