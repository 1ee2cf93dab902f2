//! Packs beside other stores: one run, the best of interleaved rounds.
//!
//! The program writes `docs/pack-figures.md` if it is run with `--write PATH`. All stores have the
//! same keys of 8 bytes and the same values, which are the payloads of the pack's objects, and each
//! read sums all bytes of its value. `--objects`, `--rounds` and `--gets` make a run shorter, and
//! `--only NAME` measures the systems whose name has this text.

mod cold;
mod data;
mod page;
mod round;
mod system;
mod timing;

use std::path::PathBuf;

use clap::Parser;

type Result<T, E = Box<dyn std::error::Error + Send + Sync>> = std::result::Result<T, E>;

/// The type of the pack's objects.
mod schema {
    include!(concat!(env!("OUT_DIR"), "/packed.rs"));
}

/// Measures packs beside other stores.
#[derive(Debug, Parser)]
struct Options {
    /// The number of objects.
    #[arg(long, default_value_t = 1_000_000)]
    objects: usize,
    /// The number of rounds; each system takes part in each of them.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// The number of look-ups of a system in a round.
    #[arg(long, default_value_t = 320_000)]
    gets: usize,
    /// Only the systems whose names have this text.
    #[arg(long)]
    only: Option<String>,
    /// The size of the objects in bytes; both if there is none.
    #[arg(long)]
    size: Option<usize>,
    /// The folder for the files, which are deleted at the end.
    #[arg(long, default_value = ".")]
    folder: PathBuf,
    /// The page to write.
    #[arg(long)]
    write: Option<PathBuf>,
}

/// The sizes of the objects: 1 KiB and 120 bytes.
const SIZES: [usize; 2] = [1024, 120];

fn main() -> Result<()> {
    let options = Options::parse();
    let mut all = Vec::new();
    for size in SIZES {
        if options.size.is_none_or(|wanted| wanted == size) {
            all.push(round::measured(size, &options)?);
        }
    }
    let text = page::text(&all, &options);
    match &options.write {
        Some(path) => std::fs::write(path, text)?,
        None => print!("{text}"),
    }
    Ok(())
}
