//! A JSON file: a map in memory, and a file that is written anew for each change.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Held, Session, Store, missing};
use crate::Result;
use crate::record::{Change, Digest, Record, Shape};

type Objects = BTreeMap<String, Record>;

pub(super) fn open(folder: &Path, shape: Shape) -> Result<Box<dyn Store>> {
    let path = |table| folder.join(format!("objects{table}.json"));
    let load = |path: PathBuf| -> Result<Table> {
        let objects = match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes)?,
            Err(_) => Objects::new(),
        };
        Ok(Table {
            objects: Mutex::new(objects),
            path,
        })
    };
    let tables = (0..shape.tables()).map(|table| load(path(table)));
    Ok(Box::new(Json(tables.collect::<Result<_>>()?)))
}

struct Json(Vec<Table>);

struct Table {
    objects: Mutex<Objects>,
    path: PathBuf,
}

impl Store for Json {
    fn session(&self, table: usize) -> Result<Box<dyn Session + '_>> {
        let table = self.0.get(table).ok_or("there is no such table")?;
        Ok(Box::new(Opened(table)))
    }
}

struct Opened<'s>(&'s Table);

impl Opened<'_> {
    fn objects(&self) -> MutexGuard<'_, Objects> {
        self.0
            .objects
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the map, and writes the file.
    fn write(&self, change: impl FnOnce(&mut Objects) -> Result<()>) -> Result<()> {
        let mut objects = self.objects();
        change(&mut objects)?;
        // Beside and then in its place, so that a crash leaves the old one.
        let beside = self.0.path.with_extension("new");
        fs::write(&beside, serde_json::to_vec(&*objects)?)?;
        Ok(fs::rename(&beside, &self.0.path)?)
    }

    fn held(&self, is_wanted: impl Fn(&Record) -> bool) -> Result<Box<dyn Held>> {
        let objects = self.objects();
        let found: Vec<Record> = objects.values().filter(|r| is_wanted(r)).cloned().collect();
        Ok(Box::new(found))
    }
}

impl Session for Opened<'_> {
    fn insert(&mut self, records: &[Record]) -> Result<()> {
        let records = records
            .iter()
            .map(|record| (record.title.clone(), record.clone()));
        self.write(|objects| {
            objects.extend(records);
            Ok(())
        })
    }

    fn scan(&mut self, below: i32) -> Result<Box<dyn Held>> {
        self.held(|record| record.priority < below)
    }

    fn by_rank(&mut self, ranks: Range<i32>) -> Result<Box<dyn Held>> {
        self.held(|record| ranks.contains(&record.rank))
    }

    fn fetch_all(&mut self) -> Result<Box<dyn Held>> {
        self.held(|_| true)
    }

    fn get(&mut self, key: &str) -> Result<Digest> {
        Ok(Digest::of(self.objects().get(key)))
    }

    fn update_all(&mut self, change: Change) -> Result<()> {
        self.write(|objects| {
            objects.values_mut().for_each(|record| change.apply(record));
            Ok(())
        })
    }

    fn update_one(&mut self, key: &str, change: Change) -> Result<()> {
        self.write(|objects| {
            change.apply(objects.get_mut(key).ok_or_else(|| missing(key))?);
            Ok(())
        })
    }

    fn delete(&mut self, keys: &[String]) -> Result<()> {
        self.write(|objects| {
            for key in keys {
                objects.remove(key).ok_or_else(|| missing(key))?;
            }
            Ok(())
        })
    }
}
