//! A server in a temporary directory, which ends with the process whatever happens.
//!
//! The tests of the command line use this file, too.

use std::net::TcpListener;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

/// The folder of each version's programs on Debian and its descendants.
const VERSIONS: &str = "/usr/lib/postgresql";

/// Starts the server, and ends it when the standard input ends: when the process of the tests has
/// ended. Then removes its directory.
const SUPERVISE: &str = "directory=$1; shift; \"$@\" & server=$!; read -r line; \
     kill -INT $server; wait $server; rm -rf \"$directory\"";

/// The user of the server if the tests run as root, as whom a server refuses to run.
pub(crate) const UNPRIVILEGED: u32 = 65_534;

/// A server that runs.
pub(crate) struct Process {
    pub(crate) directory: PathBuf,
    /// Its port on this machine.
    pub(crate) port: u16,
    /// Its standard input keeps the server running.
    _supervisor: Child,
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
fn command(program: impl AsRef<std::ffi::OsStr>, is_root: bool) -> Command {
    let mut command = Command::new(program);
    if is_root {
        command.uid(UNPRIVILEGED).gid(UNPRIVILEGED);
    }
    command
}

/// Starts a server. `options` makes files in its directory, and returns further settings; it is
/// told whether the server runs as another user.
pub(crate) fn start(programs: &Path, options: impl FnOnce(&Path, bool) -> Vec<String>) -> Process {
    let directory = tempfile::Builder::new()
        .prefix("dflat-pg")
        .tempdir()
        .unwrap()
        .keep();
    // Only root may give a directory away.
    let is_root = chown(&directory, Some(UNPRIVILEGED), Some(UNPRIVILEGED)).is_ok();
    let data = directory.join("data");
    let made = command(programs.join("initdb"), is_root)
        .arg("-D")
        .arg(&data)
        .args([
            "-U",
            "dflat",
            "-A",
            "trust",
            "-N",
            "-E",
            "UTF8",
            "--locale=C",
        ])
        .current_dir(&directory)
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    let options = options(&directory, is_root);
    // Another program may take the port in between; then the server does not start.
    let port = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
    let port = port.unwrap().port();
    let log = fs::File::create(directory.join("log")).unwrap();
    let supervisor = command("sh", is_root)
        .args(["-c", SUPERVISE, "sh"])
        .arg(&directory)
        .arg(programs.join("postgres"))
        .arg("-D")
        .arg(&data)
        .arg("-k")
        .arg(&directory)
        .arg("-p")
        .arg(port.to_string())
        .args(["-c", "listen_addresses=127.0.0.1"])
        .args(["-c", "fsync=off", "-c", "full_page_writes=off"])
        .args(["-c", "max_connections=300", "-c", "shared_buffers=64MB"])
        .args(options.iter().flat_map(|option| ["-c", option]))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(log)
        .current_dir(&directory)
        .spawn()
        .unwrap();
    let server = Process {
        directory,
        port,
        _supervisor: supervisor,
    };
    let began = Instant::now();
    let socket = server.directory.join(format!(".s.PGSQL.{port}"));
    loop {
        let log = fs::read_to_string(server.directory.join("log")).unwrap_or_default();
        if socket.exists() && log.contains("ready to accept connections") {
            return server;
        }
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "the server does not start: {log}"
        );
        thread::sleep(Duration::from_millis(10));
    }
}
