//! The dictionary.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::thread;

use dflat::{Dictionary, Workspace};
use dflat_engine::object::{TableView, Writer};
use tempfile::TempDir;

use crate::floor::KeyedFloor;
use crate::measure::{Report, Settings};
use crate::{Result, check};

/// The number of times that each key in memory is read.
const READS: usize = 100;

/// The number of times that settings are saved.
const SAVES: usize = 50;

fn keys(count: usize) -> Vec<String> {
    (0..count).map(|i| format!("key{i}")).collect()
}

/// The keys with their values, which are their positions.
fn items(keys: &[String]) -> impl Iterator<Item = (&str, i64)> {
    (0..).zip(keys).map(|(value, key)| (key.as_str(), value))
}

/// Writes the payload that the dictionary stores for a number.
fn encode(payload: &mut Vec<u8>, key: &str, value: i64) {
    let mut writer = Writer::new();
    let root = writer.begin();
    if writer.begin_table(root) {
        writer.scalar(14, value);
        let places = [writer.slot(4), writer.slot(6)];
        writer.scalar(10, 1_i8);
        writer.end_table();
        writer.text(places[0], key);
        writer.text(places[1], "");
        writer.leave();
    }
    payload.clear();
    payload.extend_from_slice(writer.finish().unwrap_or_default());
}

fn decode(payload: &[u8]) -> i64 {
    let root = TableView::root(payload).unwrap_or_default();
    root.scalar(14).ok().flatten().unwrap_or(0)
}

fn ours(scratch: &TempDir) -> Result<(Workspace, Dictionary)> {
    let workspace = Workspace::open(scratch.path().join("ours.db"))?;
    let dictionary = workspace.dictionary();
    // The file and its table are made before the measurement.
    dictionary.set("warm", 1)?;
    dictionary.synchronize()?;
    Ok((workspace, dictionary))
}

fn floor(scratch: &TempDir) -> Result<KeyedFloor> {
    KeyedFloor::open(&scratch.path().join("floor.db"))
}

fn set_all(dictionary: &Dictionary, keys: &[String]) -> Result<()> {
    for (key, value) in items(keys) {
        dictionary.set(key, value)?;
    }
    Ok(())
}

/// Sets numbers by new keys, in memory. The floor is a map.
pub(super) fn insert_memory(name: &'static str, settings: &Settings) -> Result<Report> {
    let keys = keys(settings.objects);
    settings.compare(
        name,
        |probe| {
            let scratch = settings.scratch()?;
            let (_workspace, dictionary) = ours(&scratch)?;
            Ok(probe.time(|| set_all(&dictionary, &keys))?.1)
        },
        |probe| {
            let mut map = HashMap::<String, i64>::new();
            let fill = || {
                map.extend(items(&keys).map(|(key, value)| (key.to_owned(), value)));
                Ok(())
            };
            Ok(probe.time(fill)?.1)
        },
    )
}

/// Sets numbers by new keys and writes them to the file. The floor makes upserts in one
/// transaction.
pub(super) fn insert_disk(name: &'static str, settings: &Settings) -> Result<Report> {
    let keys = keys(settings.objects);
    settings.compare(
        name,
        |probe| {
            let scratch = settings.scratch()?;
            let (_workspace, dictionary) = ours(&scratch)?;
            let work = || {
                set_all(&dictionary, &keys)?;
                Ok(dictionary.synchronize()?)
            };
            let time = probe.time(work)?.1;
            check("keys", &dictionary.len()?, &(keys.len() + 1))?;
            Ok(time)
        },
        |probe| {
            let scratch = settings.scratch()?;
            let mut floor = floor(&scratch)?;
            Ok(probe.time(|| floor.put(items(&keys), encode))?.1)
        },
    )
}

/// Does the work of [`insert_disk`] with four threads.
pub(super) fn insert_threads(name: &'static str, settings: &Settings) -> Result<Report> {
    let keys = keys(settings.objects);
    settings.compare(
        name,
        |probe| {
            let scratch = settings.scratch()?;
            let (_workspace, dictionary) = ours(&scratch)?;
            let work = || {
                thread::scope(|scope| {
                    let parts = keys.chunks(keys.len().div_ceil(4));
                    let threads: Vec<_> = parts
                        .map(|part| scope.spawn(|| set_all(&dictionary, part).is_ok()))
                        .collect();
                    let joined = threads.into_iter().map(|t| t.join().unwrap_or(false));
                    check("threads went well", &joined.filter(|ok| !ok).count(), &0)
                })?;
                Ok(dictionary.synchronize()?)
            };
            Ok(probe.time(work)?.1)
        },
        |probe| {
            let scratch = settings.scratch()?;
            let mut floor = floor(&scratch)?;
            Ok(probe.time(|| floor.put(items(&keys), encode))?.1)
        },
    )
}

/// Reads each key once, from the file of a workspace that was just opened.
pub(super) fn get_cold(name: &'static str, settings: &Settings) -> Result<Report> {
    let keys = keys(settings.objects);
    let scratch = settings.scratch()?;
    let (workspace, dictionary) = ours(&scratch)?;
    set_all(&dictionary, &keys)?;
    workspace.shutdown()?;
    floor(&scratch)?.put(items(&keys), encode)?;
    let sum = items(&keys).map(|(_, value)| value).sum::<i64>();
    settings.compare(
        name,
        |probe| {
            let workspace = Workspace::open(scratch.path().join("ours.db"))?;
            let dictionary = workspace.dictionary();
            dictionary.get::<i64>("warm")?;
            let read = || {
                let mut sum = 0;
                for key in &keys {
                    sum += dictionary.get::<i64>(key)?.unwrap_or(0);
                }
                Ok(sum)
            };
            let (is, time) = probe.time(read)?;
            check("sum of ours", &is, &sum)?;
            Ok(time)
        },
        |probe| {
            let mut floor = floor(&scratch)?;
            floor.get("warm", decode)?;
            let read = || {
                let mut sum = 0;
                for key in &keys {
                    sum += floor.get(key, decode)?.unwrap_or(0);
                }
                Ok(sum)
            };
            let (is, time) = probe.time(read)?;
            check("sum of the floor", &is, &sum)?;
            Ok(time)
        },
    )
}

/// Reads a hundredth of the keys 100 times each, in memory. The floor is a map.
pub(super) fn get_hot(name: &'static str, settings: &Settings) -> Result<Report> {
    let keys = keys(settings.objects.div_ceil(READS));
    let scratch = settings.scratch()?;
    let (_workspace, dictionary) = ours(&scratch)?;
    set_all(&dictionary, &keys)?;
    dictionary.synchronize()?;
    let map: HashMap<&str, i64> = items(&keys).collect();
    let sum = READS as i64 * items(&keys).map(|(_, value)| value).sum::<i64>();
    settings.compare(
        name,
        |probe| {
            let read = || {
                let mut sum = 0;
                for key in (0..READS).flat_map(|_| &keys) {
                    sum += dictionary.get::<i64>(key)?.unwrap_or(0);
                }
                Ok(sum)
            };
            let (is, time) = probe.time(read)?;
            check("sum of ours", &is, &sum)?;
            Ok(time)
        },
        |probe| {
            let read = || {
                let keys = (0..READS).flat_map(|_| &keys);
                Ok(keys.filter_map(|key| map.get(key.as_str())).sum::<i64>())
            };
            let (is, time) = probe.time(read)?;
            check("sum of the floor", &is, &sum)?;
            Ok(time)
        },
    )
}

/// Sets one key once for each object. The floor does so in one transaction.
pub(super) fn update_one(name: &'static str, settings: &Settings) -> Result<Report> {
    let values = 0..i64::try_from(settings.objects)?;
    settings.compare(
        name,
        |probe| {
            let scratch = settings.scratch()?;
            let (_workspace, dictionary) = ours(&scratch)?;
            let work = || {
                for value in values.clone() {
                    dictionary.set("one", value)?;
                }
                Ok(dictionary.synchronize()?)
            };
            Ok(probe.time(work)?.1)
        },
        |probe| {
            let scratch = settings.scratch()?;
            let mut floor = floor(&scratch)?;
            let items = values.clone().map(|value| ("one", value));
            Ok(probe.time(|| floor.put(items, encode))?.1)
        },
    )
}

/// Sets and writes one of many keys, [`SAVES`] times. The floor writes all keys as JSON each time.
pub(super) fn save_json(name: &'static str, settings: &Settings) -> Result<Report> {
    let keys = keys(settings.objects);
    let scratch = settings.scratch()?;
    let (_workspace, dictionary) = ours(&scratch)?;
    set_all(&dictionary, &keys)?;
    dictionary.synchronize()?;
    let mut map: BTreeMap<&str, i64> = items(&keys).collect();
    let path = scratch.path().join("settings.json");
    let mut next = 0;
    settings.compare(
        name,
        |probe| {
            let save = || {
                for key in keys.iter().cycle().take(SAVES) {
                    next -= 1;
                    dictionary.set(key, next)?;
                    dictionary.synchronize()?;
                }
                Ok(())
            };
            Ok(probe.time(save)?.1)
        },
        |probe| {
            let save = || {
                for key in keys.iter().cycle().take(SAVES) {
                    map.entry(key).and_modify(|value| *value -= 1);
                    fs::write(&path, serde_json::to_vec(&map)?)?;
                }
                Ok(())
            };
            Ok(probe.time(save)?.1)
        },
    )
}
