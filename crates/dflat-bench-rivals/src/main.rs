//! The dictionary of Dflat beside what people keep settings in otherwise: SQLite, redb, and a JSON
//! file that is written anew for each change.
//!
//! ```text
//! cargo run --release [-- --keys 40000 --runs 5]
//! ```
//!
//! Each row is a piece of work, done by each store in turn and checked; the figures are medians.
//! SQLite and Dflat do not sync each commit (`synchronous=NORMAL`); redb does, and is measured
//! without as well.

mod store;
mod value;
mod work;

mod schema {
    include!(concat!(env!("OUT_DIR"), "/post.rs"));
}

use std::time::Duration;

use store::STORES;
use work::{WORK, Work};

/// The outcome of what a benchmark does.
pub(crate) type Result<T, E = Box<dyn std::error::Error + Send + Sync>> = std::result::Result<T, E>;

struct Arguments {
    keys: usize,
    runs: usize,
}

fn arguments() -> Result<Arguments> {
    let mut found = Arguments {
        keys: 40_000,
        runs: 5,
    };
    let mut given = std::env::args().skip(1);
    while let Some(name) = given.next() {
        let number = given.next().ok_or("a number is missing")?.parse()?;
        match name.as_str() {
            "--keys" => found.keys = number,
            "--runs" => found.runs = number,
            _ => return Err(format!("{name} is unknown: --keys N and --runs N are").into()),
        }
    }
    if found.keys == 0 || found.runs == 0 {
        return Err("one key and one run are the least".into());
    }
    Ok(found)
}

fn main() -> Result<()> {
    let Arguments { keys, runs } = arguments()?;
    let keys: Vec<String> = (0..keys).map(|i| format!("key{i}")).collect();
    print!("{:<34}", format!("{} keys, ms", keys.len()));
    for (name, _) in STORES {
        print!("{name:>15}");
    }
    println!();
    for work in WORK {
        print!("{:<34}", work.name);
        for time in medians(work, &keys, runs)? {
            print!("{:>15.3}", time.as_secs_f64() * 1e3);
        }
        println!();
    }
    Ok(())
}

/// The median of each store; they take turns, so that a slow minute is shared.
fn medians(work: &Work, keys: &[String], runs: usize) -> Result<Vec<Duration>> {
    let mut times = vec![Vec::new(); STORES.len()];
    for _ in 0..runs {
        for ((_, open), times) in STORES.iter().zip(&mut times) {
            times.push(work.run(*open, keys)?);
        }
    }
    Ok(times
        .into_iter()
        .map(|mut times| {
            times.sort_unstable();
            times[times.len() / 2]
        })
        .collect())
}
