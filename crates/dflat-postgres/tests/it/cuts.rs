//! Connections that are cut at each message, and ended by the server.

use std::path::Path;
use std::time::Duration;

use dflat::{ErrorKind, Workspace};
use dflat_testkit::fixture::bounded;
use dflat_testkit::schema::{Item, ItemChangeRequest, ItemData};

use crate::engines::{engine, is_skipped};
use crate::proxy::{Cut, Proxy};
use crate::server::{new_schema, server, sql};

/// The number of transactions of a run.
const TRANSACTIONS: i32 = 6;

/// The transaction that creates more objects, so many that they are copied.
const LARGE: i32 = 3;
const MORE: std::ops::Range<i32> = 1_000..1_600;

/// Every message of this many is cut; all with `DFLAT_FAULTS_ALL` in the environment.
const EACH: u64 = 23;

fn data(rank: i32) -> ItemData {
    ItemData {
        id: format!("item {rank}"),
        rank,
        code: Some(format!("code {rank}")),
        ..ItemData::default()
    }
}

/// Performs transactions, and reads after each. Returns which were acknowledged, and which are in
/// doubt.
fn run(workspace: &Workspace) -> (Vec<i32>, Vec<i32>) {
    let (mut acknowledged, mut in_doubt) = (Vec::new(), Vec::new());
    for rank in 0..TRANSACTIONS {
        let written = workspace.perform_changes([Item::TABLE], move |tx| {
            tx.submit(ItemChangeRequest::creation(data(rank)))?;
            tx.submit(ItemChangeRequest::creation(data(rank + 100)))?;
            let more = if rank == LARGE { MORE } else { 0..0 };
            let made = tx.submit_many(more.map(data).map(ItemChangeRequest::creation));
            made.into_iter().try_for_each(|made| made.map(drop))
        });
        match written.wait() {
            Ok(_) => acknowledged.push(rank),
            Err(error) if error.kind() == ErrorKind::InDoubt => in_doubt.push(rank),
            Err(error) => {
                let kinds = [ErrorKind::Io, ErrorKind::Busy];
                assert!(kinds.contains(&error.kind()), "{error:?}");
            }
        }
        match workspace.fetch::<Item>().filter(Item::RANK.lt(100)).all() {
            Ok(items) => assert!(items.len() >= acknowledged.len(), "a commit is missing"),
            Err(error) => assert_eq!(error.kind(), ErrorKind::Io, "{error:?}"),
        }
    }
    (acknowledged, in_doubt)
}

/// Runs with a cut at a message. Returns the number of messages.
fn cut_at(socket: &Path, at: u64, cut: Cut) -> u64 {
    let schema = new_schema();
    let proxy = Proxy::start(socket, at, cut);
    let workspace = Workspace::server(&proxy.address())
        .schema(&schema)
        .open()
        .unwrap();
    let (acknowledged, in_doubt) = run(&workspace);
    let context = format!("{cut:?} message {at}");
    // The connection was cut once, and the server answers afterwards.
    assert!(in_doubt.is_empty(), "{context}: {in_doubt:?}");
    let lost = TRANSACTIONS as usize - acknowledged.len();
    assert!(lost <= 1, "{context}: {acknowledged:?}");
    let fresh = engine(&schema);
    let stored = fresh
        .fetch::<Item>()
        .order_by(Item::RANK.ascending())
        .all()
        .unwrap();
    let mut ranks = acknowledged.clone();
    ranks.extend(acknowledged.iter().map(|rank| rank + 100));
    if acknowledged.contains(&LARGE) {
        ranks.extend(MORE);
    }
    ranks.sort_unstable();
    let found: Vec<i32> = stored.iter().map(|item| item.rank()).collect();
    assert_eq!(found, ranks, "{context}");
    let some = ranks
        .iter()
        .filter(|rank| **rank < 1_000 || **rank % 100 == 0);
    for rank in some {
        let by_code = fresh
            .fetch::<Item>()
            .filter(Item::CODE.eq(format!("code {rank}")));
        assert_eq!(by_code.all().unwrap().len(), 1, "{context}: the index");
    }
    workspace.shutdown().unwrap();
    proxy.sent()
}

#[test]
fn cut_connection_loses_no_acknowledged_commit_and_makes_no_other() {
    if is_skipped() {
        return;
    }
    let socket = server().unwrap().socket();
    let messages = cut_at(&socket, 0, Cut::Before);
    assert!(messages > 40, "{messages}");
    let each = if std::env::var_os("DFLAT_FAULTS_ALL").is_some() {
        1
    } else {
        EACH
    };
    for cut in [Cut::Before, Cut::After] {
        for at in (1..=messages).filter(|at| at % each == u64::from(cut == Cut::After)) {
            bounded({
                let socket = socket.clone();
                move || {
                    let _ = cut_at(&socket, at, cut);
                }
            });
        }
    }
}

/// A transaction whose connection is cut after a message, with a server that is away from then on.
/// Returns the error, and whether the transaction is committed.
fn away_at(socket: &Path, at: u64) -> (Option<ErrorKind>, bool) {
    let schema = new_schema();
    engine(&schema)
        .perform_changes([Item::TABLE], |_| Ok(()))
        .wait()
        .unwrap();
    let proxy = Proxy::start(socket, at, Cut::AfterAndAway);
    let workspace = Workspace::server(&proxy.address())
        .schema(&schema)
        .busy_timeout(Duration::from_millis(300));
    let workspace = workspace.open().unwrap();
    let written = workspace.perform_changes([Item::TABLE], |tx| {
        tx.submit(ItemChangeRequest::creation(data(1))).map(drop)
    });
    let error = written.wait().err().map(|error| error.kind());
    let is_committed = engine(&schema).get::<Item>(&data(1).id).unwrap().is_some();
    (error, is_committed)
}

#[test]
fn commit_whose_outcome_no_server_tells_is_in_doubt_and_no_other_is() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let socket = server().unwrap().socket();
        let mut in_doubt = Vec::new();
        for at in 1.. {
            match away_at(&socket, at) {
                (None, is_committed) => {
                    assert!(
                        is_committed,
                        "message {at}: an acknowledged commit is missing"
                    );
                    break;
                }
                (Some(ErrorKind::InDoubt), is_committed) => in_doubt.push(is_committed),
                (Some(ErrorKind::Io | ErrorKind::Busy), is_committed) => {
                    assert!(!is_committed, "message {at}: a commit was reported as lost");
                }
                (Some(kind), _) => panic!("message {at}: {kind:?}"),
            }
        }
        // The message that commits reached the server, and its answer did not come back.
        assert!(in_doubt.contains(&true), "{in_doubt:?}");
    });
}

/// A workspace on a new schema, whose connections have the name of the schema.
fn named() -> (Workspace, String) {
    let schema = new_schema();
    let address = server().unwrap().address();
    let address = format!("{address} application_name='{schema}'");
    let workspace = Workspace::server(&address).schema(&schema).open();
    (workspace.unwrap(), schema)
}

/// Ends the connections with a name, as the server does when it is shut down.
fn end_connections(name: &str) {
    let end = format!(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity \
         WHERE application_name = '{name}'"
    );
    sql(server().unwrap(), &end).unwrap();
}

#[test]
fn idle_connections_that_the_server_ends_are_opened_again() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let (workspace, name) = named();
        for rank in 0..5 {
            let written = workspace.perform_changes([Item::TABLE], move |tx| {
                tx.submit(ItemChangeRequest::creation(data(rank)))
            });
            written.wait().unwrap();
            end_connections(&name);
            let count = workspace.fetch::<Item>().count().unwrap();
            assert_eq!(count, rank as usize + 1);
            let found = workspace.get::<Item>(&data(rank).id).unwrap().unwrap();
            assert_eq!(found.rank(), rank);
            end_connections(&name);
        }
    });
}

#[test]
fn transaction_whose_connection_ends_is_written_again_or_fails_whole() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let (workspace, name) = named();
        let written = workspace.perform_changes([Item::TABLE], move |tx| {
            tx.submit(ItemChangeRequest::creation(data(1)))?;
            end_connections(&name);
            tx.submit(ItemChangeRequest::creation(data(2)))
        });
        let outcome = written.wait();
        let count = workspace.fetch::<Item>().count().unwrap();
        match outcome {
            Ok(_) => assert_eq!(count, 2),
            Err(error) => assert_eq!((error.kind(), count), (ErrorKind::Io, 0), "{error:?}"),
        }
    });
}

#[test]
fn snapshot_whose_connection_ends_gives_the_first_error_again() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let (workspace, name) = named();
        let written = workspace.perform_changes([Item::TABLE], |tx| {
            tx.submit(ItemChangeRequest::creation(data(1)))
        });
        written.wait().unwrap();
        let snapshot = workspace.snapshot().unwrap();
        assert_eq!(snapshot.fetch::<Item>().count().unwrap(), 1);
        end_connections(&name);
        let first = snapshot.fetch::<Item>().count().unwrap_err();
        assert_eq!(first.kind(), ErrorKind::Io, "{first:?}");
        let second = snapshot.fetch::<Item>().count().unwrap_err();
        assert_eq!(second.to_string(), first.to_string());
        assert_eq!(workspace.fetch::<Item>().count().unwrap(), 1);
    });
}

#[test]
fn commit_that_was_made_is_found_if_a_pool_loses_the_server() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let socket = server().unwrap().socket();
        let schema = new_schema();
        engine(&schema)
            .perform_changes([Item::TABLE], |_| Ok(()))
            .wait()
            .unwrap();
        let proxy = Proxy::pool_at_commit(&socket);
        let workspace = Workspace::server(&proxy.address()).schema(&schema);
        let workspace = workspace.open().unwrap();
        let written = workspace.perform_changes([Item::TABLE], |tx| {
            tx.submit(ItemChangeRequest::creation(data(1))).map(drop)
        });
        written.wait().unwrap();
        let stored = engine(&schema).get::<Item>(&data(1).id).unwrap();
        assert!(stored.is_some());
        // The program goes on with another connection.
        let written = workspace.perform_changes([Item::TABLE], |tx| {
            tx.submit(ItemChangeRequest::creation(data(2))).map(drop)
        });
        written.wait().unwrap();
        assert_eq!(engine(&schema).fetch::<Item>().count().unwrap(), 2);
    });
}
