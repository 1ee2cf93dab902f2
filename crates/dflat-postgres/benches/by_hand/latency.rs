//! The time from a commit of one program to its delivery in another one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use dflat::Workspace;
use dflat_testkit::post::{Post, PostChangeRequest};

use crate::dflat_side::data;
use crate::server::{Server, new_schema};

/// The commits of a second, and the seconds.
const RATE: u32 = 1_000;
const SECONDS: u32 = 10;

type Moments = Arc<Mutex<HashMap<String, Instant>>>;

pub(crate) fn run(server: &Server) {
    let schema = new_schema();
    let open = || {
        let builder = Workspace::server(&server.address()).schema(&schema);
        builder.open().unwrap()
    };
    let (writer, reader) = (open(), open());
    writer
        .perform_changes_blocking([Post::TABLE], |tx| {
            tx.submit(PostChangeRequest::creation(data(0)))
        })
        .unwrap();
    let (committed, delivered) = (Moments::default(), Moments::default());
    let newest = reader
        .fetch::<Post>()
        .order_by(Post::PRIORITY.descending())
        .limit(200);
    let noted = Arc::clone(&delivered);
    let subscription = reader
        .subscribe(newest, move |update| {
            let now = Instant::now();
            let update = update.unwrap();
            let mut noted = noted.lock().unwrap();
            for post in update.result().iter() {
                noted.entry(post.title().to_owned()).or_insert(now);
            }
        })
        .unwrap();
    thread::sleep(Duration::from_millis(200));
    let took = commit_all(&writer, &committed);
    let count = (RATE * SECONDS) as usize;
    while committed.lock().unwrap().len() < count || delivered.lock().unwrap().len() < count {
        thread::sleep(Duration::from_millis(10));
    }
    drop(subscription);
    let (committed, delivered) = (committed.lock().unwrap(), delivered.lock().unwrap());
    show(&committed, &delivered, took);
    thread::sleep(Duration::from_secs(1));
    idle(server, &open());
}

/// Makes the commits at their moments, and notes when each is acknowledged.
fn commit_all(writer: &Workspace, committed: &Moments) -> Duration {
    let began = Instant::now();
    for number in 1..=RATE * SECONDS {
        let due = began + Duration::from_secs(1) * number / RATE;
        thread::sleep(due.saturating_duration_since(Instant::now()));
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
    began.elapsed()
}

fn show(
    committed: &HashMap<String, Instant>,
    delivered: &HashMap<String, Instant>,
    took: Duration,
) {
    let times = committed.iter().filter_map(|(title, committed)| {
        let delivered = delivered.get(title)?;
        Some(
            delivered
                .saturating_duration_since(*committed)
                .as_secs_f64()
                * 1e3,
        )
    });
    let mut times: Vec<f64> = times.collect();
    times.sort_by(f64::total_cmp);
    let of = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    println!(
        "\nfrom a commit to its delivery in another program, {:.0} commits a second: \
         median {:.1} ms, 99 of 100 within {:.1} ms, all within {:.1} ms",
        committed.len() as f64 / took.as_secs_f64(),
        of(0.5),
        of(0.99),
        of(1.0)
    );
}

/// The work of the server for a program that waits for commits.
fn idle(server: &Server, program: &Workspace) {
    let questions = || {
        let query = "SELECT sum(xact_commit) FROM pg_stat_database";
        let rows = crate::server::sql(server, query).unwrap();
        rows[0][0].parse::<f64>().unwrap()
    };
    let subscription = program
        .subscribe(program.fetch::<Post>().limit(1), |_| {})
        .unwrap();
    thread::sleep(Duration::from_secs(2));
    let before = questions();
    thread::sleep(Duration::from_secs(5));
    println!(
        "an idle program asks {:.0} times a second",
        (questions() - before) / 5.0
    );
    drop(subscription);
}
