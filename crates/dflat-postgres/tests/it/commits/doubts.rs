//! Commits whose answers are lost while the server takes long, or after another server has taken
//! its place.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use dflat::{ErrorKind, Result, Workspace};
use dflat_engine::storage::{Backend, Durability, View};
use dflat_testkit::fixture::{bounded, until};
use dflat_testkit::schema::{Item, ItemChangeRequest, ItemData};

use crate::engines::{engine, is_skipped};
use crate::proxy::Proxy;
use crate::server::{Server, backend, new_schema, new_server, server, sql};

/// The time that a delayed commit takes in the server.
const DELAY: Duration = Duration::from_secs(2);

/// Has the commits of a schema take a time in the server.
fn delay_commits(server: &Server, schema: &str, delay: Duration) {
    let seconds = delay.as_secs();
    let delay = format!(
        "SET search_path = \"{schema}\"; \
         CREATE FUNCTION pause() RETURNS trigger LANGUAGE plpgsql AS \
         $$ BEGIN PERFORM pg_sleep({seconds}); RETURN NULL; END $$; \
         CREATE CONSTRAINT TRIGGER pause AFTER UPDATE ON dflat__control \
         DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION pause()"
    );
    sql(server, &delay).unwrap();
}

fn create(workspace: &Workspace, id: &str) -> Result<()> {
    let id = id.to_owned();
    let created = workspace.perform_changes([Item::TABLE], |tx| {
        let data = ItemData {
            id,
            ..ItemData::default()
        };
        tx.submit(ItemChangeRequest::creation(data)).map(drop)
    });
    created.wait()
}

fn near(server: &Server, schema: &str) -> Workspace {
    let workspace = Workspace::server(&server.address()).schema(schema);
    workspace.open().unwrap()
}

/// A schema with the type, whose next commits take long, and a program behind a proxy that cuts the
/// connection at the commit.
fn cut_at_commit(server: &Server, next: &Server, delay: Duration) -> (Workspace, String) {
    let schema = new_schema();
    create(&near(server, &schema), "first").unwrap();
    if next.port != server.port {
        create(&near(next, &schema), "first").unwrap();
    }
    delay_commits(server, &schema, delay);
    let proxy = Proxy::at_commit(&server.socket(), &next.socket());
    // Its connections are known by the schema's name.
    let address = format!("{} application_name='{schema}'", proxy.address());
    let workspace = Workspace::server(&address).schema(&schema).open();
    (workspace.unwrap(), schema)
}

#[test]
fn commit_that_takes_long_is_waited_for_after_its_connection_was_cut() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let server = server().unwrap();
        let (workspace, schema) = cut_at_commit(server, server, DELAY);
        let began = Instant::now();
        create(&workspace, "second").unwrap();
        assert!(began.elapsed() > DELAY, "it was not delayed");
        let near = engine(&schema);
        assert_eq!(near.fetch::<Item>().count().unwrap(), 2);
        // The program goes on, and knows its own commit.
        assert!(workspace.get::<Item>("second").unwrap().is_some());
    });
}

#[test]
fn commit_that_is_undone_after_its_connection_was_cut_is_reported_as_failed() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let server = server().unwrap();
        let (workspace, schema) = cut_at_commit(server, server, Duration::from_secs(60));
        let query = format!(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
             WHERE wait_event = 'PgSleep' AND application_name = '{schema}'"
        );
        let end = thread::spawn(move || {
            while sql(server, &query).unwrap().is_empty() {
                thread::sleep(Duration::from_millis(50));
            }
        });
        let error = create(&workspace, "second").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io, "{error:?}");
        end.join().unwrap();
        assert_eq!(engine(&schema).fetch::<Item>().count().unwrap(), 1);
    });
}

#[test]
fn commit_is_in_doubt_if_another_server_has_taken_the_place() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let (server, next) = (server().unwrap(), new_server(&[]).unwrap());
        let (workspace, schema) = cut_at_commit(server, &next, DELAY);
        let began = Instant::now();
        let error = create(&workspace, "second").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InDoubt, "{error:?}");
        // The default busy timeout is longer: the answer of the other server is enough.
        assert!(began.elapsed() < Duration::from_secs(20));
        // Nothing ran again by itself.
        let near = near(&next, &schema);
        assert!(near.get::<Item>("second").unwrap().is_none());
        create(&workspace, "third").unwrap();
        assert_eq!(near.fetch::<Item>().count().unwrap(), 2);
    });
}

/// A schema with an object, and a proxy that cuts the first connection at its commit.
fn before_commit(server: &Server) -> (String, Proxy) {
    let schema = new_schema();
    create(&near(server, &schema), "first").unwrap();
    let proxy = Proxy::at_commit(&server.socket(), &server.socket());
    (schema, proxy)
}

/// The error `InDoubt` comes before the commit.
#[test]
fn commit_in_doubt_that_is_made_later_reaches_live_queries_of_its_program() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let server = server().unwrap();
        let (schema, proxy) = before_commit(server);
        let workspace = Workspace::server(&proxy.address()).schema(&schema);
        let workspace = workspace.busy_timeout(Duration::from_millis(500));
        let workspace = workspace.open().unwrap();
        let shown = Arc::<Mutex<usize>>::default();
        let noted = Arc::clone(&shown);
        let subscription = workspace.subscribe(workspace.fetch::<Item>(), move |update| {
            *noted.lock().unwrap() = update.unwrap().result().len();
        });
        let subscription = subscription.unwrap();
        until(|| *shown.lock().unwrap() == 1);
        delay_commits(server, &schema, DELAY * 3);
        let error = create(&workspace, "second").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InDoubt, "{error:?}");
        assert_eq!(engine(&schema).fetch::<Item>().count().unwrap(), 1);
        // Everything is read again because of the error, before the commit is made.
        workspace.refresh().unwrap();
        until(|| workspace.stats().renewals > 0);
        assert_eq!(workspace.fetch::<Item>().count().unwrap(), 1);
        until(|| *shown.lock().unwrap() == 2);
        assert!(workspace.get::<Item>("second").unwrap().is_some());
        let no_delay = format!("DROP FUNCTION \"{schema}\".pause() CASCADE");
        sql(server, &no_delay).unwrap();
        create(&workspace, "third").unwrap();
        until(|| *shown.lock().unwrap() == 3);
        drop(subscription);
    });
}

/// The role has no connection left until the transaction has ended.
#[test]
fn outcome_is_asked_for_again_while_the_server_has_no_connection_to_give() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let server = server().unwrap();
        let (schema, proxy) = before_commit(server);
        delay_commits(server, &schema, DELAY);
        let grant = format!(
            "CREATE ROLE limited LOGIN CONNECTION LIMIT 2; \
             GRANT ALL ON SCHEMA \"{schema}\" TO limited; \
             GRANT ALL ON ALL TABLES IN SCHEMA \"{schema}\" TO limited"
        );
        sql(server, &grant).unwrap();
        let address = proxy.address().replace("user=dflat", "user=limited");
        let workspace = Workspace::server(&address).schema(&schema).open().unwrap();
        // One connection reads, and the other one writes.
        assert_eq!(workspace.fetch::<Item>().count().unwrap(), 1);
        create(&workspace, "second").unwrap();
        assert_eq!(engine(&schema).fetch::<Item>().count().unwrap(), 2);
    });
}

/// A program goes on with the commits that follow, and reads nothing again.
#[test]
fn transaction_that_has_ended_with_its_connection_shows_no_earlier_state() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let (server, schema) = (server().unwrap(), new_schema());
        let other = engine(&schema);
        create(&other, "first").unwrap();
        let backend = backend(server, &schema);
        let mut ended = backend.clone().begin(Durability::Full).unwrap();
        let end = format!(
            "SELECT pg_terminate_backend(pid) FROM pg_locks l JOIN pg_class c ON c.oid = l.relation \
             WHERE l.mode = 'ExclusiveLock' AND c.relname = 'dflat__writer' \
             AND c.relnamespace = '\"{schema}\"'::regnamespace"
        );
        assert_eq!(sql(server, &end).unwrap(), [["t"]]);
        create(&other, "second").unwrap();
        let mut later = backend.snapshot(View::Pinned).unwrap();
        let state = later.pin().unwrap();
        assert!(later.is_overtaken(ended.base().id));
        assert!(ended.is_overtaken(state));
        let error = ended.records(state, &mut |_| ControlFlow::Continue(()));
        assert_eq!(error.unwrap_err().kind(), ErrorKind::Io);
        assert!(!ended.is_whole());
        assert!(ended.commit().is_err());
        assert_eq!(other.fetch::<Item>().count().unwrap(), 2);
    });
}
