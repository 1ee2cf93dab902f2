//! The time from a commit of one program to its delivery in another one.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use dflat::{Subscription, Workspace};
use dflat_engine::engine::EngineOptions;
use dflat_postgres::{PostgresBackend, PostgresOptions};
use dflat_testkit::post::{Post, PostChangeRequest};

use crate::dflat_side::data;
use crate::server::{Server, new_schema};

/// The commits of a second, and the seconds.
const RATE: u32 = 1_000;
const SECONDS: u32 = 10;

/// The programs that wait.
const IDLE: usize = 50;

type Moments = Arc<Mutex<Noted>>;

/// How a program learns of the commits of others.
#[derive(Clone, Copy)]
enum Way {
    /// Another program asks the server, and notifies this one.
    Told,
    /// It asks the server itself.
    Asks,
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Told => "told by the relay",
            Self::Asks => "each asks",
        })
    }
}

fn open(server: &Server, schema: &str, way: Way) -> Workspace {
    let options = PostgresOptions {
        schema: schema.to_owned(),
        is_notified: matches!(way, Way::Told),
        ..PostgresOptions::default()
    };
    let backend = PostgresBackend::new(&server.address(), options).unwrap();
    Workspace::on_backend(backend, EngineOptions::default())
}

pub(crate) fn run(server: &Server) {
    for _ in 0..2 {
        for way in [Way::Told, Way::Asks] {
            deliveries(server, way);
        }
    }
    for way in [Way::Told, Way::Asks] {
        idle(server, way);
    }
    relay_ends(server);
}

/// A program that stays subscribed.
fn follower(server: &Server, schema: &str, way: Way) -> (Workspace, Subscription) {
    let program = open(server, schema, way);
    let subscription = program.subscribe(program.fetch::<Post>().limit(1), |_| {});
    (program, subscription.unwrap())
}

fn first_object(writer: &Workspace) {
    writer
        .perform_changes_blocking([Post::TABLE], |tx| {
            tx.submit(PostChangeRequest::creation(data(0)))
        })
        .unwrap();
}

/// Notes when each object is delivered.
fn note(reader: &Workspace, delivered: &Moments) -> Subscription {
    let newest = reader
        .fetch::<Post>()
        .order_by(Post::PRIORITY.descending())
        .limit(200);
    let noted = Arc::clone(delivered);
    let subscription = reader.subscribe(newest, move |update| {
        let now = Instant::now();
        let update = update.unwrap();
        let mut noted = noted.lock().unwrap();
        for post in update.result().iter() {
            noted.entry(post.title().to_owned()).or_insert(now);
        }
    });
    subscription.unwrap()
}

fn deliveries(server: &Server, way: Way) {
    let schema = new_schema();
    let writer = open(server, &schema, way);
    first_object(&writer);
    // The first one to follow is the relay.
    let relay = follower(server, &schema, way);
    thread::sleep(Duration::from_millis(500));
    let reader = open(server, &schema, way);
    let (committed, delivered) = (Moments::default(), Moments::default());
    let subscription = note(&reader, &delivered);
    thread::sleep(Duration::from_millis(500));
    let took = commit_all(&writer, &committed);
    let count = (RATE * SECONDS) as usize;
    while committed.lock().unwrap().len() < count || delivered.lock().unwrap().len() < count {
        thread::sleep(Duration::from_millis(10));
    }
    drop((subscription, relay));
    let (committed, delivered) = (committed.lock().unwrap(), delivered.lock().unwrap());
    show(way, &committed, &delivered, took);
}

/// Makes the commits at their moments, and notes when each is acknowledged.
fn commit_all(writer: &Workspace, committed: &Moments) -> Duration {
    let began = Instant::now();
    for number in 1..=RATE * SECONDS {
        let due = began + Duration::from_secs(1) * number / RATE;
        thread::sleep(due.saturating_duration_since(Instant::now()));
        commit(writer, number, committed);
    }
    began.elapsed()
}

/// Makes a commit, and notes when it is acknowledged.
fn commit(writer: &Workspace, number: u32, committed: &Moments) {
    let data = data(number as usize);
    let (title, committed) = (data.title.clone(), Arc::clone(committed));
    let performed = writer.perform_changes([Post::TABLE], move |tx| {
        tx.submit(PostChangeRequest::creation(data))
    });
    performed.on_completion(move |outcome| {
        outcome.unwrap();
        committed.lock().unwrap().insert(title, Instant::now());
    });
}

type Noted = HashMap<String, Instant>;

/// The times from commits to deliveries, in milliseconds, in ascending order.
fn times(committed: &Noted, delivered: &Noted) -> Vec<f64> {
    let times = committed.iter().filter_map(|(title, committed)| {
        let time = delivered.get(title)?.saturating_duration_since(*committed);
        Some(time.as_secs_f64() * 1e3)
    });
    let mut times: Vec<f64> = times.collect();
    times.sort_by(f64::total_cmp);
    times
}

fn show(way: Way, committed: &Noted, delivered: &Noted, took: Duration) {
    let times = times(committed, delivered);
    let of = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    println!(
        "\nfrom a commit to its delivery in another program, {way}, {:.0} commits a second: \
         median {:.1} ms, 99 of 100 within {:.1} ms, all within {:.1} ms",
        committed.len() as f64 / took.as_secs_f64(),
        of(0.5),
        of(0.99),
        of(1.0)
    );
}

/// The work of the server for programs that wait for commits.
fn idle(server: &Server, way: Way) {
    let questions = || {
        let query = "SELECT sum(xact_commit) FROM pg_stat_database";
        let rows = crate::server::sql(server, query).unwrap();
        rows[0][0].parse::<f64>().unwrap()
    };
    let schema = new_schema();
    first_object(&open(server, &schema, way));
    let programs: Vec<_> = (0..IDLE).map(|_| follower(server, &schema, way)).collect();
    thread::sleep(Duration::from_secs(5));
    let before = questions();
    thread::sleep(Duration::from_secs(10));
    let rate = (questions() - before) / 10.0;
    println!("{IDLE} idle programs, {way}: {rate:.0} questions a second");
    drop(programs);
}

/// The longest time from a commit to its delivery while the relay ends.
fn relay_ends(server: &Server) {
    let schema = new_schema();
    let writer = open(server, &schema, Way::Told);
    first_object(&writer);
    let followers = [0, 1, 2].map(|_| follower(server, &schema, Way::Told));
    let reader = open(server, &schema, Way::Told);
    let (committed, delivered) = (Moments::default(), Moments::default());
    let subscription = note(&reader, &delivered);
    for number in 1..=1_500 {
        if number % 500 == 0 {
            let end = "SELECT pg_terminate_backend(pid) FROM pg_locks \
                       WHERE locktype = 'advisory' AND granted AND pid <> pg_backend_pid()";
            crate::server::sql(server, end).unwrap();
        }
        commit(&writer, number, &committed);
        thread::sleep(Duration::from_millis(3));
    }
    while delivered.lock().unwrap().len() < 1_500 {
        thread::sleep(Duration::from_millis(10));
    }
    drop((subscription, followers));
    let (committed, delivered) = (committed.lock().unwrap(), delivered.lock().unwrap());
    println!(
        "the connection of the relay ends three times: all deliveries within {:.1} ms",
        times(&committed, &delivered).last().unwrap()
    );
}
