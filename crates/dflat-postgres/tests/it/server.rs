//! A server for the tests of this process, in a temporary directory, which ends with the process
//! whatever happens.

use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use dflat::Workspace;
use dflat_engine::engine::EngineOptions;
use dflat_postgres::{PostgresBackend, PostgresOptions};
use dflat_testkit::fixture::{Fixture, skip};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

/// The folder of each version's programs on Debian and its descendants.
const VERSIONS: &str = "/usr/lib/postgresql";

/// Starts the server, and ends it when the standard input ends: when the process of the tests has
/// ended. Then removes its directory.
const SUPERVISE: &str = "directory=$1; shift; \"$@\" & server=$!; read -r line; \
     kill -INT $server; wait $server; rm -rf \"$directory\"";

/// The user of the server if the tests run as root, as whom a server refuses to run.
const UNPRIVILEGED: u32 = 65_534;

/// A server that runs.
pub(crate) struct Server {
    directory: PathBuf,
    /// Its port on this machine, on which it offers encryption.
    pub(crate) port: u16,
    /// The certificate of the authority that has signed the server's, as PEM.
    pub(crate) authority: String,
    /// Its standard input keeps the server running.
    _supervisor: Child,
}

impl Server {
    /// The address of the server.
    pub(crate) fn address(&self) -> String {
        format!(
            "host={} port={} user=dflat dbname=postgres",
            self.directory.display(),
            self.port
        )
    }

    /// Its socket.
    pub(crate) fn socket(&self) -> PathBuf {
        self.directory.join(format!(".s.PGSQL.{}", self.port))
    }
}

/// The server of this process; `None` if its programs are missing.
pub(crate) fn server() -> Option<&'static Server> {
    static SERVER: OnceLock<Option<Server>> = OnceLock::new();
    let server = SERVER.get_or_init(|| {
        let found = programs();
        let required = env::var_os("DFLAT_REQUIRE_POSTGRES").is_some_and(|value| value == "1");
        assert!(
            found.is_some() || !required,
            "the programs of PostgreSQL are missing"
        );
        found.map(|programs| start(&programs))
    });
    server.as_ref()
}

/// The folder with `initdb` and `postgres`, of the latest version.
fn programs() -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let versions = fs::read_dir(VERSIONS).into_iter().flatten().flatten();
    let mut versions: Vec<_> = versions.map(|version| version.path().join("bin")).collect();
    versions.sort();
    let mut folders = versions.into_iter().rev().chain(env::split_paths(&path));
    folders.find(|folder| folder.join("initdb").exists() && folder.join("postgres").exists())
}

/// A command that runs as an unprivileged user.
fn command(program: impl AsRef<std::ffi::OsStr>, is_root: bool) -> Command {
    let mut command = Command::new(program);
    if is_root {
        command.uid(UNPRIVILEGED).gid(UNPRIVILEGED);
    }
    command
}

/// Makes a certificate of the server, and returns that of its authority.
fn certify(directory: &Path, is_root: bool) -> String {
    let mut authority = CertificateParams::new([]).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let issued = authority.self_signed(&key).unwrap();
    let issuer = Issuer::new(authority, key);
    let key = KeyPair::generate().unwrap();
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let certificate = CertificateParams::new(names).unwrap();
    let certificate = certificate.signed_by(&key, &issuer).unwrap();
    let files = [
        ("server.crt", certificate.pem()),
        ("server.key", key.serialize_pem()),
    ];
    for (name, text) in files {
        let path = directory.join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        if is_root {
            chown(&path, Some(UNPRIVILEGED), Some(UNPRIVILEGED)).unwrap();
        }
    }
    issued.pem()
}

fn start(programs: &Path) -> Server {
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
    let authority = certify(&directory, is_root);
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
        .args(["-c", "listen_addresses=127.0.0.1", "-c", "ssl=on"])
        .arg("-c")
        .arg(format!("ssl_cert_file={}/server.crt", directory.display()))
        .arg("-c")
        .arg(format!("ssl_key_file={}/server.key", directory.display()))
        .args(["-c", "fsync=off", "-c", "full_page_writes=off"])
        .args(["-c", "max_connections=300", "-c", "shared_buffers=64MB"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(log)
        .current_dir(&directory)
        .spawn()
        .unwrap();
    let server = Server {
        directory,
        port,
        authority,
        _supervisor: supervisor,
    };
    let began = Instant::now();
    let socket = server.socket();
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

/// A new schema's name.
pub(crate) fn new_schema() -> String {
    static SCHEMAS: AtomicU32 = AtomicU32::new(0);
    format!("test {}", SCHEMAS.fetch_add(1, Ordering::Relaxed))
}

/// A backend on a schema.
pub(crate) fn backend(server: &Server, schema: &str) -> std::sync::Arc<PostgresBackend> {
    let options = PostgresOptions {
        schema: schema.to_owned(),
        readers_max: 64,
        ..PostgresOptions::default()
    };
    PostgresBackend::new(&server.address(), options).unwrap()
}

/// A workspace on a new schema, for the laws.
pub(crate) fn open() -> Fixture {
    let Some(server) = server() else {
        skip("the programs of PostgreSQL are missing");
    };
    let backend = backend(server, &new_schema());
    Fixture::of(Workspace::on_backend(backend, EngineOptions::default()))
}

/// Executes SQL on the server, as another program does. Returns the columns of each row as text.
pub(crate) fn sql(server: &Server, text: &str) -> Result<Vec<Vec<String>>, tokio_postgres::Error> {
    use tokio_postgres::{NoTls, SimpleQueryMessage, connect};
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let (client, connection) = connect(&server.address(), NoTls).await?;
        let connection = tokio::spawn(connection);
        let answers = client.simple_query(text).await;
        drop(client);
        let _ = connection.await;
        let mut rows = Vec::new();
        for answer in answers? {
            if let SimpleQueryMessage::Row(row) = answer {
                let columns = (0..row.len()).map(|at| row.get(at).unwrap_or_default().to_owned());
                rows.push(columns.collect());
            }
        }
        Ok(rows)
    })
}
