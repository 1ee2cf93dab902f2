//! The rounds of a run: all systems take turns, and the best time of each counts.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use dflat_bench_rivals::usage;

use crate::cold::{self, Cold};
use crate::data::{Data, sum};
use crate::system::{Entry, Sum, System, all};
use crate::timing::{each, timed};
use crate::{Options, Result};

/// The figures of one size.
pub(crate) struct Measured {
    pub(crate) size: usize,
    pub(crate) objects: usize,
    pub(crate) rows: Vec<Row>,
    /// Of the pack alone; `None` if it was not measured.
    pub(crate) cold: Option<Cold>,
    /// The load of the machine at the end.
    pub(crate) load: f64,
}

/// The figures of a system, in nanoseconds for one object.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) note: &'static str,
    pub(crate) get: f64,
    pub(crate) get_many: Option<f64>,
    pub(crate) absent: f64,
    pub(crate) scan: f64,
    pub(crate) built: Built,
}

/// The cost of building the files of a system.
#[derive(Clone, Copy)]
pub(crate) struct Built {
    pub(crate) time: f64,
    /// The bytes that were written, for each byte of the values.
    pub(crate) written: f64,
    /// The bytes of the files, for each byte of the values.
    pub(crate) size: f64,
}

impl Row {
    fn keep_best(&mut self, other: Self) {
        self.get = self.get.min(other.get);
        self.get_many = self.get_many.zip(other.get_many).map(|(a, b)| a.min(b));
        self.absent = self.absent.min(other.absent);
        self.scan = self.scan.min(other.scan);
    }
}

pub(crate) fn measured(size: usize, options: &Options) -> Result<Measured> {
    let folder = tempfile::tempdir_in(&options.folder)?;
    let data = Data::new(options.objects, size);
    let is_wanted = |entry: &Entry| {
        let only = options.only.as_ref();
        only.is_none_or(|only| entry.name.contains(only.as_str()))
    };
    let entries: Vec<Entry> = all().into_iter().filter(is_wanted).collect();
    let mut built: HashMap<&str, Built> = HashMap::new();
    for entry in &entries {
        if !built.contains_key(entry.folder) {
            built.insert(entry.folder, build(entry, folder.path(), &data)?);
        }
    }
    let mut systems = Vec::new();
    for entry in &entries {
        let system = (entry.open)(&folder.path().join(entry.folder))?;
        systems.push((entry, system));
    }
    let mut rows: Vec<Row> = Vec::new();
    for round in 0..options.rounds.max(1) {
        for (number, (entry, system)) in systems.iter_mut().enumerate() {
            let built = built[entry.folder];
            let row = row(entry, built, system.as_mut(), &data, options, round as u64)?;
            match rows.get_mut(number) {
                Some(best) => best.keep_best(row),
                None => rows.push(row),
            }
        }
    }
    drop(systems);
    let has_pack = entries.iter().any(|entry| entry.folder == "pack");
    let cold = has_pack.then(|| cold::measured(folder.path(), &data, options));
    Ok(Measured {
        size,
        objects: data.keys.len(),
        rows,
        cold: cold.transpose()?,
        load: usage::load(),
    })
}

fn build(entry: &Entry, folder: &Path, data: &Data) -> Result<Built> {
    let folder = folder.join(entry.folder);
    fs::create_dir_all(&folder)?;
    let content = (data.keys.len() * data.size) as f64;
    let written = usage::written_bytes()?;
    let ((), time) = timed(|| (entry.build)(&folder, data))?;
    let written = usage::written_bytes()? - written;
    Ok(Built {
        time: each(time, data.keys.len()),
        written: written as f64 / content,
        size: usage::folder_bytes(&folder)? as f64 / content,
    })
}

fn row(
    entry: &Entry,
    built: Built,
    system: &mut dyn System,
    data: &Data,
    options: &Options,
    round: u64,
) -> Result<Row> {
    let keys = data.sample(options.gets, 100 + round);
    let (found, get) = timed(|| system.get(&keys))?;
    if found.found != keys.len() as u64 {
        return Err(format!("{} lacks keys", entry.name).into());
    }
    if round == 0 {
        compare(entry, system, data)?;
    }
    let (many, get_many) = timed(|| system.get_many(&keys))?;
    if many.is_some_and(|many| many != found) {
        return Err(format!("{} gives other values for several keys", entry.name).into());
    }
    // The keys of the objects are odd.
    let absent: Vec<u64> = keys.iter().map(|key| key & !1).collect();
    let (none, absent) = timed(|| system.get(&absent))?;
    if none != Sum::default() {
        return Err(format!("{} has keys that it was not given", entry.name).into());
    }
    let (scanned, scan) = timed(|| system.scan())?;
    if scanned.found < data.keys.len() as u64 {
        return Err(format!("{} lacks objects", entry.name).into());
    }
    Ok(Row {
        name: entry.name,
        note: entry.note,
        get: each(get, keys.len()),
        get_many: many.map(|_| each(get_many, keys.len())),
        absent: each(absent, keys.len()),
        scan: each(scan, data.keys.len()),
        built,
    })
}

/// Compares values of a system with those that it was given. A typed one has no payloads, and its
/// sums are those of the values in them.
fn compare(entry: &Entry, system: &mut dyn System, data: &Data) -> Result<()> {
    if entry.name.contains("typed") {
        return Ok(());
    }
    for key in data.sample(1000, 5) {
        let mut expected = Sum::default();
        expected.add(sum(&data.value(key)));
        if system.get(&[key])? != expected {
            return Err(format!("{} has another value for {key}", entry.name).into());
        }
    }
    Ok(())
}
