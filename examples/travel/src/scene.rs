//! Two processes of this program.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::Outcome;

/// Runs both programs, and prints what the one at home prints after the other's end.
pub(crate) fn play() -> Outcome<()> {
    let folder = tempfile::tempdir()?;
    let program = std::env::current_exe()?;
    let mut home = Command::new(&program)
        .arg("home")
        .arg(folder.path().join("home.db"))
        .stdout(Stdio::piped())
        .spawn()?;
    let output = home
        .stdout
        .take()
        .ok_or("the program at home has no output")?;
    let mut output = BufReader::new(output);
    let mut address = String::new();
    output.read_line(&mut address)?;
    let away = Command::new(&program)
        .arg("away")
        .arg(folder.path().join("away.db"))
        .arg(address.trim())
        .status()?;
    if !away.success() {
        home.kill()?;
    }
    for line in output.lines() {
        println!("{}", line?);
    }
    match away.success() && home.wait()?.success() {
        true => Ok(()),
        false => Err("a program has failed".into()),
    }
}
