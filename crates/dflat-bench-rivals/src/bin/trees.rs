//! The trees of `dflat-history` by themselves, beside those of `prolly-map`, in memory.
//!
//! Each line has a store, an operation, its number of edits, and nanoseconds. Those of `build` and
//! `get` are for one entry; those of `apply`, `diff` and `merge` are for all edits, in the best of
//! several rounds. The keys have 8 bytes and the values 32. Entries and edits are made before the
//! time starts. The edits are scattered at random: half of them are updates, and half are
//! insertions. The lines of `page` are for a leaf of 100 entries with keys of 16 bytes: all entries
//! read, one entry read by place, and a look-up of a key that the leaf lacks. Arguments choose
//! parts: `page`, `dflat`, `prolly-map`.
//! `--dolt PATH` runs a program after `dflat`: the one that `dolt/build.sh` builds, which does the
//! same with Dolt's trees.

use std::hint::black_box;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dflat_history::chunk::{Address, Chunk, MemoryStore};
use dflat_history::node::{Node, NodeWriter};
use dflat_history::tree::{Edit, Merged, Trees};
use prolly::{Config, MemStore, Mutation, Prolly};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const ENTRIES: u64 = 1_000_000;
const GETS: u64 = 200_000;
const EDITS: [u64; 4] = [1, 100, 1_000, 10_000];

/// `SplitMix64`.
struct Random(u64);

impl Random {
    fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}

fn value(number: u64) -> Address {
    let mut bytes = [0; Address::BYTES];
    let mut number = number;
    for part in bytes.as_chunks_mut::<8>().0 {
        number = (number ^ 0x0123_4567).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        *part = number.to_le_bytes();
    }
    Address::from_bytes(bytes)
}

/// The edited numbers, sorted. Even and odd seeds have no number in common.
fn numbers(count: u64, seed: u64) -> Vec<u64> {
    let mut random = Random(seed);
    let mut number = || {
        let drawn = random.number();
        4 * (drawn % (ENTRIES / 2 - 1)) + seed % 2 * 2 + (drawn >> 63)
    };
    let mut numbers: Vec<_> = (0..count).map(|_| number()).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// A round that takes longer is the only one.
const LONG: Duration = Duration::from_millis(500);

/// Apply, diff and merge.
type Times = [Duration; 3];

fn rounds(store: &str, mut round: impl FnMut(u64, u64) -> Result<Times>) -> Result<()> {
    for count in EDITS {
        let mut best = [Duration::MAX; 3];
        for number in 0..if count < 1_000 { 20 } else { 5 } {
            let (times, all) = timed(|| round(count, 2 * number + 1_000 * count));
            for (best, time) in best.iter_mut().zip(times?) {
                *best = time.min(*best);
            }
            if all > LONG {
                break;
            }
        }
        for (name, best) in ["apply", "diff", "merge"].into_iter().zip(best) {
            println!("{store} {name} {count} {}", best.as_nanos());
        }
    }
    Ok(())
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    (work(), start.elapsed())
}

fn ours() -> Result<()> {
    let trees = Trees::with_cache(Arc::new(MemoryStore::new()), 256 << 20);
    let entries = (0..ENTRIES).map(|number| ((2 * number).to_be_bytes(), value(number)));
    let entries: Vec<_> = entries.collect();
    let (root, time) = timed(|| trees.build(entries));
    let root = root?;
    println!("dflat build 1 {}", time.as_nanos() / u128::from(ENTRIES));
    let mut random = Random(3);
    let wanted: Vec<u64> = (0..GETS).map(|_| random.number() % ENTRIES).collect();
    let (found, time) = timed(|| {
        let get = |number: &&u64| trees.get(&root, &(2 * **number).to_be_bytes());
        wanted
            .iter()
            .filter(|number| get(number).is_ok_and(|found| found.is_some()))
            .count()
    });
    assert_eq!(found as u64, GETS);
    println!("dflat get 1 {}", time.as_nanos() / u128::from(GETS));
    rounds("dflat", |count, seed| {
        let edit = |seed: u64| {
            let numbers = numbers(count, seed).into_iter();
            let edit = |number: u64| Edit::put(number.to_be_bytes(), value(number + seed));
            let edits: Vec<_> = numbers.map(edit).collect();
            timed(|| trees.apply(&root, edits))
        };
        let (ours, applied) = edit(seed);
        let (ours, theirs) = (ours?, edit(seed + 1).0?);
        let (changes, diffed) = timed(|| trees.diff(&root, &ours).map(Iterator::count));
        assert!(changes? as u64 <= count);
        let (merged, time) = timed(|| trees.merged(&root, &ours, &theirs));
        assert!(matches!(merged?, Merged::Tree(_)));
        Ok([applied, diffed, time])
    })
}

fn prolly_map() -> Result<()> {
    let trees = Prolly::new(MemStore::new(), Config::default());
    let entries = (0..ENTRIES).map(|number| {
        (
            (2 * number).to_be_bytes().to_vec(),
            value(number).as_bytes().to_vec(),
        )
    });
    let entries: Vec<_> = entries.collect();
    let (root, time) = timed(|| trees.build_from_sorted_entries(entries));
    let root = root?;
    println!(
        "prolly-map build 1 {}",
        time.as_nanos() / u128::from(ENTRIES)
    );
    let mut random = Random(3);
    let wanted: Vec<u64> = (0..GETS).map(|_| random.number() % ENTRIES).collect();
    let (found, time) = timed(|| {
        let get = |number: &&u64| trees.get(&root, &(2 * **number).to_be_bytes());
        wanted
            .iter()
            .filter(|number| get(number).is_ok_and(|found| found.is_some()))
            .count()
    });
    assert_eq!(found as u64, GETS);
    println!("prolly-map get 1 {}", time.as_nanos() / u128::from(GETS));
    rounds("prolly-map", |count, seed| {
        let edit = |seed: u64| {
            let edits: Vec<_> = numbers(count, seed)
                .into_iter()
                .map(|number| Mutation::Upsert {
                    key: number.to_be_bytes().to_vec(),
                    val: value(number + seed).as_bytes().to_vec(),
                })
                .collect();
            timed(|| trees.batch(&root, edits))
        };
        let (ours, applied) = edit(seed);
        let (ours, theirs) = (ours?, edit(seed + 1).0?);
        let (changes, diffed) = timed(|| trees.diff(&root, &ours));
        assert!(changes?.len() as u64 <= count);
        let (merged, time) = timed(|| trees.merge(&root, &ours, &theirs, None));
        merged?;
        Ok([applied, diffed, time])
    })
}

fn first_number(bytes: &[u8]) -> u64 {
    bytes
        .first_chunk()
        .map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

/// A thousand leaves, in turn.
fn page() -> Result<()> {
    const PAGES: u64 = 1_000;
    const ROUNDS: u64 = 10;
    let key = |number: u64| [(2 * number).to_be_bytes(), number.to_be_bytes()].concat();
    let mut nodes = Vec::new();
    for page in 0..PAGES {
        let mut writer = NodeWriter::new(0);
        for entry in 0..100 {
            let number = 100 * page + entry;
            writer.push(&key(number), &value(number), 1);
        }
        nodes.push(Node::read(Chunk::new(writer.finish().chunk().bytes()))?);
    }
    let mut random = Random(9);
    let order: Vec<(usize, u64)> = (0..ROUNDS * PAGES)
        .map(|_| ((random.number() % PAGES) as usize, random.number() % 100))
        .collect();
    let measure = |name: &str, work: &dyn Fn(&Node, usize, u64) -> u64| {
        let mut best = u128::MAX;
        for _ in 0..200 {
            let (_, time) = timed(|| {
                let all = order
                    .iter()
                    .map(|(page, entry)| work(&nodes[*page], *page, *entry));
                black_box(all.fold(0, u64::wrapping_add))
            });
            best = best.min(time.as_nanos() * 10 / u128::from(ROUNDS * PAGES));
        }
        println!("dflat {name} 1 {}.{}", best / 10, best % 10);
    };
    measure("page-scan", &|node, _, _| {
        let fields = |(key, address): (&[u8], Address)| {
            first_number(key).wrapping_add(first_number(address.as_bytes()))
        };
        node.view().pairs().map(fields).fold(0, u64::wrapping_add)
    });
    measure("page-ordinal", &|node, _, entry| {
        let view = node.view();
        let address = view.address(entry as usize);
        first_number(view.key(entry as usize)).wrapping_add(first_number(address.as_bytes()))
    });
    measure("page-lookup", &|node, page, entry| {
        let number = 100 * page as u64 + entry;
        let mut absent = [0; 16];
        absent[..8].copy_from_slice(&(2 * number + 1).to_be_bytes());
        u64::from(node.view().find(&absent).is_some())
    });
    Ok(())
}

fn dolt(program: &str) -> Result<()> {
    let status = Command::new(program).status()?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{program}: {status}").into())
    }
}

fn main() -> Result<()> {
    let parts: [(&str, fn() -> Result<()>); 3] =
        [("page", page), ("dflat", ours), ("prolly-map", prolly_map)];
    let mut wanted: Vec<String> = std::env::args().skip(1).collect();
    let mut program = None;
    if let Some(place) = wanted.iter().position(|argument| argument == "--dolt") {
        wanted.remove(place);
        if place == wanted.len() {
            return Err("--dolt needs the path of a program".into());
        }
        program = Some(wanted.remove(place));
    }
    for (name, part) in parts {
        if wanted.is_empty() || wanted.iter().any(|wanted| wanted == name) {
            part()?;
        }
        if name == "dflat"
            && let Some(program) = &program
        {
            dolt(program)?;
        }
    }
    Ok(())
}
