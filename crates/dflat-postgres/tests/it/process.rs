//! A server in a temporary directory, which ends with the process whatever happens.
//!
//! The tests of the command line use this file, too.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use std::{env, fs, thread};

/// The folder of each version's programs on Debian and its descendants.
const VERSIONS: &str = "/usr/lib/postgresql";

/// Starts a program, and ends it when the standard input ends: when the process of the tests has
/// ended. Then removes its directory, unless it has read a line that asks to keep it.
const SUPERVISE: &str = "directory=$1; shift; \"$@\" & server=$!; read -r signal; \
     kill -${signal:-INT} $server; wait $server; test \"$signal\" || rm -rf \"$directory\"";

/// The user of the server if the tests run as root: a server refuses to run as root.
pub(crate) const UNPRIVILEGED: u32 = 65_534;

/// A server, or another program, that runs.
pub(crate) struct Process {
    pub(crate) directory: PathBuf,
    /// Its port on this machine.
    pub(crate) port: u16,
    program: PathBuf,
    arguments: Vec<OsString>,
    is_root: bool,
    /// Its standard input keeps the server running.
    supervisor: Mutex<Child>,
}

impl Process {
    /// Starts a program in a directory of its own. `arguments` makes files there, and returns the
    /// arguments; it is told whether the program runs as another user.
    pub(crate) fn supervised(
        program: &Path,
        port: u16,
        arguments: impl FnOnce(&Path, bool) -> Vec<OsString>,
    ) -> Self {
        let directory = tempfile::Builder::new()
            .prefix("dflat-pg")
            .tempdir()
            .unwrap()
            .keep();
        // Only root may give a directory away.
        let is_root = chown(&directory, Some(UNPRIVILEGED), Some(UNPRIVILEGED)).is_ok();
        let arguments = arguments(&directory, is_root);
        let supervisor = Mutex::new(supervise(program, &arguments, (&directory, is_root)));
        Self {
            directory,
            port,
            program: program.to_owned(),
            arguments,
            is_root,
            supervisor,
        }
    }

    /// Waits until `is_ready`.
    pub(crate) fn wait_until(&self, is_ready: impl Fn(&str) -> bool) {
        let began = Instant::now();
        loop {
            let errors = fs::read_to_string(self.directory.join("errors")).unwrap_or_default();
            if is_ready(&errors) {
                return;
            }
            assert!(
                began.elapsed() < Duration::from_secs(60),
                "the program does not start: {errors}"
            );
            thread::sleep(Duration::from_millis(10));
        }
    }
}

#[allow(
    dead_code,
    reason = "the tests of the command line use a part of this file"
)]
impl Process {
    /// Ends the server with a signal, and starts it again: `INT` ends its connections, and `QUIT`
    /// is as a crash.
    pub(crate) fn restart(&self, signal: &str) {
        let mut supervisor = self.supervisor.lock().unwrap();
        let input = supervisor.stdin.as_mut().unwrap();
        writeln!(input, "{signal}").unwrap();
        supervisor.wait().unwrap();
        let directory = (self.directory.as_path(), self.is_root);
        *supervisor = supervise(&self.program, &self.arguments, directory);
        self.wait_until(|errors| errors.contains("ready to accept"));
    }

    /// Kills a process of the server, with this number. Returns whether it was there.
    pub(crate) fn kill(&self, process: &str) -> bool {
        let mut kill = command("kill", self.is_root);
        let killed = kill.args(["-9", process]).stderr(Stdio::null()).status();
        killed.unwrap().success()
    }
}

/// Starts a program in a directory, and the shell that ends it.
fn supervise(program: &Path, arguments: &[OsString], (directory, is_root): (&Path, bool)) -> Child {
    let errors = fs::File::create(directory.join("errors")).unwrap();
    command("sh", is_root)
        .args(["-c", SUPERVISE, "sh"])
        .arg(directory)
        .arg(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(errors)
        .current_dir(directory)
        .spawn()
        .unwrap()
}

/// A port of this machine. Another program may take it before it is used; then a server does not
/// start.
pub(crate) fn free_port() -> u16 {
    let free = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
    free.unwrap().port()
}

/// The folder with `initdb` and `postgres`, of the latest version; `None` if they are missing.
///
/// # Panics
/// If they are missing and `DFLAT_REQUIRE_POSTGRES=1` is in the environment.
pub(crate) fn programs() -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let versions = fs::read_dir(VERSIONS).into_iter().flatten().flatten();
    let mut versions: Vec<_> = versions.map(|version| version.path().join("bin")).collect();
    versions.sort();
    let mut folders = versions.into_iter().rev().chain(env::split_paths(&path));
    let found =
        folders.find(|folder| folder.join("initdb").exists() && folder.join("postgres").exists());
    let required = env::var_os("DFLAT_REQUIRE_POSTGRES").is_some_and(|value| value == "1");
    assert!(
        found.is_some() || !required,
        "the programs of PostgreSQL are missing"
    );
    found
}

/// A command that runs as an unprivileged user.
fn command(program: impl AsRef<OsStr>, is_root: bool) -> Command {
    let mut command = Command::new(program);
    if is_root {
        command.uid(UNPRIVILEGED).gid(UNPRIVILEGED);
    }
    command
}

/// Starts a server. `options` makes files in its directory, and returns further settings; it is
/// told whether the server runs as another user.
pub(crate) fn start(programs: &Path, options: impl FnOnce(&Path, bool) -> Vec<String>) -> Process {
    let initialize = |data: &Path, is_root| {
        let arguments = [
            "-U",
            "dflat",
            "-A",
            "trust",
            "-N",
            "-E",
            "UTF8",
            "--locale=C",
        ];
        make_data(&programs.join("initdb"), &arguments, (data, is_root));
    };
    start_on(programs, initialize, options)
}

/// Starts a server on files that `initialize` makes in a folder.
pub(crate) fn start_on(
    programs: &Path,
    initialize: impl FnOnce(&Path, bool),
    options: impl FnOnce(&Path, bool) -> Vec<String>,
) -> Process {
    let port = free_port();
    let server = Process::supervised(&programs.join("postgres"), port, |directory, is_root| {
        let data = directory.join("data");
        initialize(&data, is_root);
        let fixed = [
            "listen_addresses=127.0.0.1",
            "fsync=off",
            "full_page_writes=off",
            "max_connections=300",
            "shared_buffers=64MB",
        ];
        let fixed = fixed.map(str::to_owned).into_iter();
        let options = fixed.chain(options(directory, is_root));
        let mut arguments: Vec<OsString> = vec!["-D".into(), data.into()];
        arguments.extend(["-k".into(), directory.into(), "-p".into()]);
        arguments.push(port.to_string().into());
        for option in options {
            arguments.extend(["-c".into(), option.into()]);
        }
        arguments
    });
    let socket = server.directory.join(format!(".s.PGSQL.{port}"));
    server.wait_until(|log| socket.exists() && log.contains("ready to accept"));
    server
}

/// Runs a program that makes the files of a server in a folder.
pub(crate) fn make_data(program: &Path, arguments: &[&str], (data, is_root): (&Path, bool)) {
    let made = command(program, is_root)
        .arg("-D")
        .arg(data)
        .args(arguments)
        .current_dir(data.parent().unwrap())
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
}
