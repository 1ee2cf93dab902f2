//! Bifurcan: a durable map in a Java process, which is asked through pipes.
//!
//! Its jar is fetched by Maven, and `bifurcan/Bench.java` compiled. Without Java, Maven or the
//! registry, the row is left out.

use std::fs;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::{Entry, Sum, System};
use crate::Result;
use crate::data::Data;

pub(super) fn entries() -> Option<Entry> {
    if let Err(error) = class_path() {
        eprintln!("Bifurcan is left out: {error}");
        return None;
    }
    Some(Entry {
        name: "Bifurcan",
        folder: "bifurcan",
        build,
        open,
        note: "0.2.0-alpha7, in a Java process that is asked through a pipe: the keys, and a sum \
               back; in the order of hashes",
    })
}

/// The sources of the Java program.
fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("bifurcan")
}

/// The folder of its compiled files.
fn compiled() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("target/bifurcan")
}

/// Fetches and compiles what is missing. Returns the class path.
fn class_path() -> Result<String> {
    let folder = compiled();
    let (libraries, classes) = (folder.join("lib"), folder.join("classes"));
    let all = format!("{}:{}/*", classes.display(), libraries.display());
    fs::create_dir_all(&classes)?;
    if !libraries.exists() {
        let fetched = Command::new("mvn")
            .args(["-q", "-B", "dependency:copy-dependencies"])
            .arg(format!("-DoutputDirectory={}", libraries.display()))
            .arg("-f")
            .arg(sources().join("pom.xml"))
            .stdout(Stdio::null())
            .status();
        if !fetched.is_ok_and(|status| status.success()) {
            return Err("Maven does not fetch it".into());
        }
    }
    let compiled = Command::new("javac")
        .args(["-cp", &all, "-d"])
        .arg(&classes)
        .arg(sources().join("Bench.java"))
        .status();
    match compiled {
        Ok(status) if status.success() => Ok(all),
        _ => Err("the Java compiler does not compile its program".into()),
    }
}

fn java(work: &str, folder: &Path) -> Result<Command> {
    let mut command = Command::new("java");
    command
        .args(["-cp", &class_path()?, "Bench", work])
        .arg(folder)
        .stdin(Stdio::piped());
    Ok(command)
}

fn build(folder: &Path, data: &Data) -> Result<()> {
    let mut child = java("build", folder)?.spawn()?;
    let pipe = child.stdin.take().ok_or("the process has no input")?;
    let mut pipe = BufWriter::with_capacity(1 << 20, pipe);
    pipe.write_all(&(data.keys.len() as u64).to_be_bytes())?;
    for key in &data.keys {
        let value = data.value(*key);
        pipe.write_all(&key.to_be_bytes())?;
        pipe.write_all(&u32::try_from(value.len())?.to_be_bytes())?;
        pipe.write_all(&value)?;
    }
    pipe.into_inner().map_err(|error| error.into_error())?;
    match child.wait()?.success() {
        true => Ok(()),
        false => Err("the Java process failed".into()),
    }
}

/// A process with an open map.
struct Bifurcan {
    /// `None` only while it ends.
    questions: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    child: Child,
}

fn open(folder: &Path) -> Result<Box<dyn System>> {
    let mut child = java("read", folder)?.stdout(Stdio::piped()).spawn()?;
    let answers = child.stdout.take().ok_or("the process has no output")?;
    Ok(Box::new(Bifurcan {
        questions: child.stdin.take(),
        answers: BufReader::new(answers),
        child,
    }))
}

impl Bifurcan {
    fn ask(&mut self, question: &[u8]) -> Result<Sum> {
        let questions = self.questions.as_mut().ok_or("the process has ended")?;
        questions.write_all(question)?;
        questions.flush()?;
        let mut answer = [[0; 8]; 2];
        for number in &mut answer {
            self.answers.read_exact(number)?;
        }
        let [found, bytes] = answer.map(u64::from_be_bytes);
        Ok(Sum { found, bytes })
    }
}

impl System for Bifurcan {
    fn get(&mut self, keys: &[u64]) -> Result<Sum> {
        let mut question = vec![b'g'];
        question.extend(u32::try_from(keys.len())?.to_be_bytes());
        question.extend(keys.iter().flat_map(|key| key.to_be_bytes()));
        self.ask(&question)
    }

    fn scan(&mut self) -> Result<Sum> {
        self.ask(b"s")
    }
}

impl Drop for Bifurcan {
    fn drop(&mut self) {
        // The process ends with its input.
        self.questions = None;
        let _ = self.child.wait();
    }
}
