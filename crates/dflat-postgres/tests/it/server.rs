//! The server of the tests of this process.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use dflat::Workspace;
use dflat_engine::engine::EngineOptions;
use dflat_postgres::{PostgresBackend, PostgresOptions};
use dflat_testkit::fixture::{Fixture, skip};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

use crate::process::{Process, UNPRIVILEGED, programs, start};

/// A server that runs, and offers encryption.
pub(crate) struct Server {
    pub(crate) process: Process,
    /// Its port on this machine.
    pub(crate) port: u16,
    /// The certificate of the authority that has signed the server's, as PEM.
    pub(crate) authority: String,
}

impl Server {
    /// The address of the server.
    pub(crate) fn address(&self) -> String {
        format!(
            "host={} port={} user=dflat dbname=postgres",
            self.process.directory.display(),
            self.port
        )
    }

    /// Its socket.
    pub(crate) fn socket(&self) -> PathBuf {
        let socket = format!(".s.PGSQL.{}", self.port);
        self.process.directory.join(socket)
    }
}

/// The server of this process; `None` if its programs are missing.
pub(crate) fn server() -> Option<&'static Server> {
    static SERVER: OnceLock<Option<Server>> = OnceLock::new();
    let server = SERVER.get_or_init(|| new_server(&[]));
    server.as_ref()
}

/// A new server with some settings; `None` if its programs are missing.
pub(crate) fn new_server(settings: &[&str]) -> Option<Server> {
    programs().map(|programs| certified(&programs, settings))
}

/// The roles that the server admits: `keyed` with a password, all others without one.
const ADMITTED: &str = "local all all trust\nlocal replication all trust\nhost all keyed 127.0.0.1/32 scram-sha-256\n\
     host all all 127.0.0.1/32 trust\n";

/// Starts a server with a certificate.
fn certified(programs: &Path, settings: &[&str]) -> Server {
    let mut authority = String::new();
    let process = start(programs, |directory, is_root| {
        authority = certify(directory, is_root);
        let file = |name: &str| directory.join(name).display().to_string();
        fs::write(directory.join("hba.conf"), ADMITTED).unwrap();
        let own = vec![
            format!("hba_file={}", file("hba.conf")),
            "ssl=on".to_owned(),
            format!("ssl_cert_file={}", file("server.crt")),
            format!("ssl_key_file={}", file("server.key")),
        ];
        let settings = settings.iter().map(|setting| (*setting).to_owned());
        own.into_iter().chain(settings).collect()
    });
    Server {
        port: process.port,
        process,
        authority,
    }
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
    sql_at(&server.address(), text)
}

/// Executes SQL on the server at an address.
pub(crate) fn sql_at(address: &str, text: &str) -> Result<Vec<Vec<String>>, tokio_postgres::Error> {
    use tokio_postgres::{NoTls, SimpleQueryMessage, connect};
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let (client, connection) = connect(address, NoTls).await?;
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
