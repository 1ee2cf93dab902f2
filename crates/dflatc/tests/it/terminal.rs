//! Colours are written to a terminal only.

use std::process::{Command, Stdio};

use super::{WRONG, dflatc, folder, text};

#[test]
fn a_pipe_gets_plain_text() {
    let folder = folder(&[("post.fbs", WRONG)]);
    let output = dflatc(folder.path(), &["check", "post.fbs"]);
    assert!(!text(&output.stderr).contains('\u{1b}'));
}

/// `script` of util-linux runs the compiler in a terminal. The test is skipped without it.
#[test]
fn terminal_gets_colours_unless_no_color_is_set() {
    let is_there = Command::new("script")
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if !cfg!(target_os = "linux") || is_there.is_err() {
        return;
    }
    let folder = folder(&[("post.fbs", WRONG)]);
    let run = |no_colour: bool| {
        let mut script = Command::new("script");
        let compiler = format!("{} check post.fbs", env!("CARGO_BIN_EXE_dflatc"));
        script.args(["-q", "-e", "-c", &compiler, "/dev/null"]);
        script.stdin(Stdio::null()).current_dir(folder.path());
        script.env_remove("NO_COLOR");
        if no_colour {
            script.env("NO_COLOR", "1");
        }
        let output = script.output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        text(&output.stdout)
    };
    let (coloured, plain) = (run(false), run(true));
    assert!(
        coloured.contains("\u{1b}[") && coloured.contains("E0035"),
        "{coloured}"
    );
    assert!(
        !plain.contains("\u{1b}[") && plain.contains("E0035"),
        "{plain}"
    );
}
