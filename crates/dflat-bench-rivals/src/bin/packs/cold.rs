//! The figures of packs alone: cold reads, unsorted builds, verification and threads.

use std::fs;
use std::path::Path;

use dflat::pack::{BuildOptions, PackBuilder};
use dflat_bench_rivals::usage;

use crate::data::Data;
use crate::schema::Packed;
use crate::system::{Files, opened, over};
use crate::timing::{each, timed};
use crate::{Options, Result};

/// The figures of packs alone.
pub(crate) struct Cold {
    /// The bytes that a cold look-up reads from the device, for each byte of its object: at an
    /// offset, and mapped.
    pub(crate) amplification: [f64; 2],
    /// The microseconds of a cold look-up.
    pub(crate) micros: [f64; 2],
    /// The bytes that a build from unsorted objects writes, for each byte of the file.
    pub(crate) unsorted: f64,
    /// The same of sorted objects.
    pub(crate) sorted: f64,
    /// The bytes that `verify` reads in a nanosecond.
    pub(crate) verify: f64,
    /// The speed of two threads, for that of one.
    pub(crate) threads: f64,
}

/// The cold look-ups.
const GETS: usize = 2_000;

pub(crate) fn measured(folder: &Path, data: &Data, options: &Options) -> Result<Cold> {
    let plain = folder.join(Files::PLAIN);
    let threads = two_threads(folder, data, options)?;
    let pack = opened(&plain, false, true)?;
    let mut verify = 0.0_f64;
    for _ in 0..3 {
        let ((), time) = timed(|| Ok(pack.verify()?))?;
        verify = verify.max(pack.size_bytes() as f64 / time.as_nanos() as f64);
    }
    let size = pack.size_bytes() as f64;
    drop(pack);
    let mut amplification = [0.0; 2];
    let mut micros = [f64::MAX; 2];
    for (number, is_mapped) in [(0, false), (1, true)] {
        for round in 0..3 {
            let pack = opened(&plain, is_mapped, false)?;
            let mut system = over(&pack)?;
            usage::evict(&plain)?;
            let keys = data.sample(GETS, 900 + round);
            let before = read_bytes()?;
            let (_, time) = timed(|| system.get(&keys))?;
            let read = (read_bytes()? - before) as f64;
            amplification[number] = read / (GETS * data.size) as f64;
            micros[number] = micros[number].min(each(time, GETS) / 1000.0);
        }
    }
    let build = |keys: &[u64], name: &str| -> Result<f64> {
        let folder = folder.join(name);
        fs::create_dir_all(&folder)?;
        let before = usage::written_bytes()?;
        let mut builder = PackBuilder::new(&folder, [Packed::TABLE], BuildOptions::default())?;
        for key in keys {
            builder.add::<Packed>(&data.object(*key))?;
        }
        builder.finish()?;
        let written = usage::written_bytes()? - before;
        fs::remove_dir_all(&folder)?;
        Ok(written as f64 / size)
    };
    Ok(Cold {
        amplification,
        micros,
        sorted: build(&data.keys, "sorted")?,
        unsorted: build(&data.shuffled(), "unsorted")?,
        verify,
        threads,
    })
}

/// The bytes that this process has read from devices.
fn read_bytes() -> Result<u64> {
    let text = fs::read_to_string("/proc/self/io")?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("read_bytes: "));
    Ok(line.ok_or("/proc/self/io has no read_bytes")?.parse()?)
}

/// The look-ups of two threads on one pack in the time of one look-up of one thread.
fn two_threads(folder: &Path, data: &Data, options: &Options) -> Result<f64> {
    let pack = opened(&folder.join("pack"), true, false)?;
    let work = |keys: &[u64]| over(&pack)?.get(keys);
    let (mut one, mut two) = (f64::MAX, f64::MAX);
    // The first round brings the pages of the file into this map.
    for round in 0..options.rounds as u64 + 3 {
        // No two of them have the same keys.
        let [alone, first, second] =
            [0, 1, 2].map(|number| data.sample(options.gets, 3000 + 3 * round + number));
        let (_, time) = timed(|| work(&alone))?;
        one = one.min(time.as_secs_f64());
        let (_, time) = timed(|| {
            std::thread::scope(|scope| {
                let other = scope.spawn(|| work(&first));
                work(&second)?;
                other.join().map_err(|_| "a thread panicked")?
            })
        })?;
        two = two.min(time.as_secs_f64());
    }
    Ok(2.0 * one / two)
}
