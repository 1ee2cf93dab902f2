//! Workspaces behind PgBouncer, a pool of connections between programs and the server.

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use std::{env, fs, thread};

use dflat::{ErrorKind, Workspace};
use dflat_testkit::fixture::bounded;
use dflat_testkit::schema::{Item, ItemChangeRequest, ItemData};

use crate::engines::{engine, is_skipped};
use crate::process::{Process, free_port};
use crate::server::{new_schema, server};

/// The program; `None` if it is missing.
fn program() -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).chain(["/usr/sbin".into()]);
    let found = folders
        .map(|folder| folder.join("pgbouncer"))
        .find(|program| program.exists());
    let required = env::var_os("DFLAT_REQUIRE_PGBOUNCER").is_some_and(|value| value == "1");
    assert!(found.is_some() || !required, "PgBouncer is missing");
    if found.is_none() {
        eprintln!("skipped: PgBouncer is missing");
    }
    found
}

/// Starts a pool before the server, in a mode of pooling.
fn start(program: &Path, mode: &str) -> Process {
    let server = server().unwrap();
    let port = free_port();
    let pool = Process::supervised(program, port, |directory, _| {
        let socket = server.socket();
        let configuration = format!(
            "[databases]\npostgres = host={} port={} user=dflat\n[pgbouncer]\n\
             listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\n\
             pool_mode = {mode}\ndefault_pool_size = 40\n",
            socket.parent().unwrap().display(),
            server.port,
        );
        let file = directory.join("pgbouncer.ini");
        fs::write(&file, configuration).unwrap();
        vec![file.into()]
    });
    pool.wait_until(|_| TcpStream::connect(("127.0.0.1", port)).is_ok());
    pool
}

fn connect(pool: &Process, schema: &str) -> Workspace {
    let port = pool.port;
    let address = format!("host=127.0.0.1 port={port} user=dflat dbname=postgres sslmode=disable");
    let workspace = Workspace::server(&address).schema(schema);
    workspace.readers_max(6).open().unwrap()
}

fn add(workspace: &Workspace, rank: i32) -> dflat::Result<()> {
    workspace.perform_changes_blocking([Item::TABLE], |tx| {
        let data = ItemData {
            id: format!("item {rank}"),
            rank,
            code: Some(format!("code {rank}")),
            ..ItemData::default()
        };
        tx.submit(ItemChangeRequest::creation(data)).map(drop)
    })
}

#[test]
fn a_pool_of_sessions_changes_nothing() {
    if is_skipped() {
        return;
    }
    let Some(program) = program() else { return };
    bounded(move || {
        let pool = start(&program, "session");
        let schema = new_schema();
        let workspaces = [0, 1, 2].map(|_| connect(&pool, &schema));
        let counts = Arc::new(Mutex::new(Vec::new()));
        let shown = Arc::clone(&counts);
        let list = workspaces[0].fetch::<Item>().filter(Item::RANK.lt(500));
        let subscription = workspaces[0].subscribe(list, move |update| {
            let update = update.unwrap();
            shown.lock().unwrap().push(update.result().len());
        });
        let subscription = subscription.unwrap();
        thread::scope(|scope| {
            for (number, workspace) in (0..).zip(&workspaces) {
                scope.spawn(move || {
                    for rank in 0..40 {
                        add(workspace, number * 1000 + rank).unwrap();
                        let snapshot = workspace.snapshot().unwrap();
                        let first = snapshot.fetch::<Item>().count().unwrap();
                        assert!(first > usize::try_from(rank).unwrap());
                        assert_eq!(snapshot.fetch::<Item>().count().unwrap(), first);
                    }
                });
            }
        });
        let all = workspaces[1].fetch::<Item>().all().unwrap();
        assert_eq!(all.len(), 120);
        // The subscriber sees the commits of all three.
        let is_complete = || counts.lock().unwrap().last() == Some(&40);
        while !is_complete() {
            thread::sleep(Duration::from_millis(5));
        }
        assert!(counts.lock().unwrap().is_sorted());
        drop(subscription);
        // Without the pool, the objects are the same.
        assert_eq!(engine(&schema).fetch::<Item>().count().unwrap(), 120);
        for workspace in workspaces {
            workspace.shutdown().unwrap();
        }
    });
}

#[test]
fn a_pool_of_transactions_is_an_error_and_loses_nothing() {
    if is_skipped() {
        return;
    }
    let Some(program) = program() else { return };
    bounded(move || {
        let pool = start(&program, "transaction");
        // The programs may happen to take turns, so that none meets the session of another.
        let mut refused = Vec::new();
        while refused.is_empty() {
            let schema = new_schema();
            // The pool of one session is shared by all.
            let workspaces = [0, 1, 2, 3].map(|_| connect(&pool, &schema));
            let mut acknowledged = 0;
            for rank in 0..40 {
                match add(&workspaces[usize::try_from(rank % 4).unwrap()], rank) {
                    Ok(()) => acknowledged += 1,
                    Err(error) => refused.push(error),
                }
            }
            let stored = engine(&schema).fetch::<Item>().count().unwrap();
            assert_eq!(stored, acknowledged, "{refused:?}");
        }
        // The first error says what is wrong. A transaction of another program may be open on the
        // session afterwards.
        let first = refused.first().unwrap();
        assert_eq!(first.kind(), ErrorKind::Unsupported, "{first:?}");
        assert!(first.to_string().contains("pool_mode = session"), "{first}");
        let in_doubt = |error: &dflat::Error| error.kind() == ErrorKind::InDoubt;
        assert!(!refused.iter().any(in_doubt), "{refused:?}");
    });
}
