//! native_db.
//!
//! As its documentation says: types with its derive macros, models in a static, `insert` for new
//! objects, and `update` with the old and the new state. Its transactions are those of redb, and
//! it has no setting for durability.

use std::ops::Range;
use std::path::Path;
use std::sync::LazyLock;

use native_db::transaction::{RTransaction, RwTransaction};
use native_db::watch::Event;
use native_db::{Builder, Database, Models, ToInput, ToKey, native_db};
use native_model::{Model, native_model};
use serde::{Deserialize, Serialize};

use super::{Held, Session, Store, missing};
use crate::Result;
use crate::record::{Change, Content, Digest, Note, Record, Shape};

/// A type that holds a record.
trait Stored: ToInput + Clone + 'static {
    fn of(record: &Record) -> Self;

    fn record(&self) -> Record;

    fn ranked(tx: &RTransaction<'_>, ranks: Range<i32>) -> Result<Vec<Self>>;
}

macro_rules! stored {
    (
        $module:ident, $number:literal, [$($rank:meta)?], [$($tag:meta)?], [$($code:meta)?],
        $tx:ident, $ranks:ident => $ranked:expr
    ) => {
        mod $module {
            use super::*;

            #[derive(Clone, Debug, Serialize, Deserialize)]
            #[native_model(id = $number, version = 1)]
            #[native_db]
            pub(super) struct Object {
                #[primary_key]
                title: String,
                priority: i32,
                $(#[$rank])?
                rank: i32,
                $(#[$tag])?
                tag: String,
                $(#[$code])?
                code: i64,
                text: String,
                content: Option<Content>,
                notes: Vec<Note>,
            }

            impl Stored for Object {
                fn of(record: &Record) -> Self {
                    let Record { title, priority, rank, tag, code, text, content, notes } =
                        record.clone();
                    Self { title, priority, rank, tag, code, text, content, notes }
                }

                fn record(&self) -> Record {
                    let Self { title, priority, rank, tag, code, text, content, notes } =
                        self.clone();
                    Record { title, priority, rank, tag, code, text, content, notes }
                }

                fn ranked($tx: &RTransaction<'_>, $ranks: Range<i32>) -> Result<Vec<Self>> {
                    $ranked
                }
            }
        }
    };
}

fn no_index<T>() -> Result<Vec<T>> {
    Err("this shape has no index".into())
}

stored!(plain0, 1, [], [], [], _tx, _ranks => no_index());
stored!(plain1, 2, [], [], [], _tx, _ranks => no_index());
stored!(plain2, 3, [], [], [], _tx, _ranks => no_index());
stored!(plain3, 4, [], [], [], _tx, _ranks => no_index());
stored!(ranked, 5, [secondary_key], [], [], tx, ranks => {
    let scan = tx.scan().secondary::<Object>(ObjectKey::rank)?;
    Ok(scan.range(ranks)?.collect::<Result<_, _>>()?)
});
stored!(listed, 6, [secondary_key], [secondary_key], [secondary_key(unique)], tx, ranks => {
    let scan = tx.scan().secondary::<Object>(ObjectKey::rank)?;
    Ok(scan.range(ranks)?.collect::<Result<_, _>>()?)
});

static MODELS: LazyLock<Result<Models>> = LazyLock::new(|| {
    let mut models = Models::new();
    models.define::<plain0::Object>()?;
    models.define::<plain1::Object>()?;
    models.define::<plain2::Object>()?;
    models.define::<plain3::Object>()?;
    models.define::<ranked::Object>()?;
    models.define::<listed::Object>()?;
    Ok(models)
});

fn database(folder: &Path) -> Result<Database<'static>> {
    let models = MODELS.as_ref().map_err(ToString::to_string)?;
    let path = folder.join("objects.native_db");
    let builder = Builder::new();
    Ok(if path.exists() {
        builder.open(models, path)?
    } else {
        builder.create(models, path)?
    })
}

pub(super) fn open(folder: &Path, shape: Shape) -> Result<Box<dyn Store>> {
    Ok(Box::new(Native {
        database: database(folder)?,
        shape,
    }))
}

struct Native {
    database: Database<'static>,
    shape: Shape,
}

impl Store for Native {
    fn session(&self, table: usize) -> Result<Box<dyn Session + '_>> {
        let database = &self.database;
        Ok(match (self.shape, table) {
            (Shape::Ranked, _) => typed::<ranked::Object>(database),
            (Shape::Listed, _) => typed::<listed::Object>(database),
            (Shape::Plain | Shape::Nested, 0) => typed::<plain0::Object>(database),
            (Shape::Plain | Shape::Nested, 1) => typed::<plain1::Object>(database),
            (Shape::Plain | Shape::Nested, 2) => typed::<plain2::Object>(database),
            (Shape::Plain | Shape::Nested, _) => typed::<plain3::Object>(database),
        })
    }
}

fn typed<'s, T: Stored>(database: &'s Database<'static>) -> Box<dyn Session + 's> {
    Box::new(Opened::<T> {
        database,
        kind: std::marker::PhantomData,
    })
}

struct Opened<'s, T> {
    database: &'s Database<'static>,
    kind: std::marker::PhantomData<T>,
}

/// Objects as native_db returns them.
struct Objects<T>(Vec<T>);

impl<T: Stored> Held for Objects<T> {
    fn digest(&self) -> Digest {
        let mut digest = Digest::default();
        self.0
            .iter()
            .for_each(|object| digest.add_record(&object.record()));
        digest
    }
}

impl<T: Stored> Opened<'_, T> {
    fn write(&self, work: impl FnOnce(&RwTransaction<'_>) -> Result<()>) -> Result<()> {
        let tx = self.database.rw_transaction()?;
        work(&tx)?;
        Ok(tx.commit()?)
    }
}

fn change_object<T: Stored>(tx: &RwTransaction<'_>, old: T, change: Change) -> Result<()> {
    let mut record = old.record();
    change.apply(&mut record);
    Ok(tx.update(old, T::of(&record))?)
}

impl<T: Stored> Session for Opened<'_, T> {
    fn insert(&mut self, records: &[Record]) -> Result<()> {
        self.write(|tx| {
            let insert = |record| tx.insert(T::of(record));
            Ok(records.iter().try_for_each(insert)?)
        })
    }

    fn scan(&mut self, below: i32) -> Result<Box<dyn Held>> {
        let tx = self.database.r_transaction()?;
        let scan = tx.scan().primary::<T>()?;
        let mut found = Vec::new();
        for object in scan.all()? {
            let record = object?.record();
            if record.priority < below {
                found.push(record);
            }
        }
        Ok(Box::new(found))
    }

    fn by_rank(&mut self, ranks: Range<i32>) -> Result<Box<dyn Held>> {
        let tx = self.database.r_transaction()?;
        Ok(Box::new(Objects(T::ranked(&tx, ranks)?)))
    }

    fn fetch_all(&mut self) -> Result<Box<dyn Held>> {
        let tx = self.database.r_transaction()?;
        let scan = tx.scan().primary::<T>()?;
        let all = scan.all()?.collect::<Result<Vec<T>, _>>()?;
        Ok(Box::new(Objects(all)))
    }

    fn get(&mut self, title: &str) -> Result<Digest> {
        let tx = self.database.r_transaction()?;
        let object: Option<T> = tx.get().primary(title.to_owned())?;
        Ok(Digest::of(&object.map(|object| object.record())))
    }

    fn update_all(&mut self, change: Change) -> Result<()> {
        self.write(|tx| {
            // The scan has the table, which an update opens.
            let all = {
                let scan = tx.scan().primary::<T>()?;
                scan.all()?.collect::<Result<Vec<T>, _>>()?
            };
            all.into_iter()
                .try_for_each(|old| change_object(tx, old, change))
        })
    }

    fn update_one(&mut self, title: &str, change: Change) -> Result<()> {
        self.write(|tx| {
            let old: Option<T> = tx.get().primary(title.to_owned())?;
            change_object(tx, old.ok_or_else(|| missing(title))?, change)
        })
    }

    fn delete(&mut self, keys: &[String]) -> Result<()> {
        self.write(|tx| {
            for title in keys {
                let old: Option<T> = tx.get().primary(title.to_owned())?;
                tx.remove(old.ok_or_else(|| missing(title))?)?;
            }
            Ok(())
        })
    }
}

/// A database whose objects are watched.
pub struct Watched {
    database: Database<'static>,
    receivers: Vec<std::sync::mpsc::Receiver<Event>>,
}

/// Opens a database in a folder with these objects, and watches those with the given keys.
///
/// # Errors
/// The errors of the database.
pub fn watched(folder: &Path, records: &[Record], keys: &[String]) -> Result<Watched> {
    let database = database(folder)?;
    typed::<ranked::Object>(&database).insert(records)?;
    let watch = |title: &String| {
        let watched = database
            .watch()
            .get()
            .primary::<ranked::Object>(title.clone());
        Ok(watched?.0)
    };
    let receivers = keys.iter().map(watch).collect::<Result<_>>()?;
    Ok(Watched {
        database,
        receivers,
    })
}

impl Watched {
    /// Changes all objects, and returns the time from the commit to the last of the events, each of
    /// which is decoded and counted.
    ///
    /// # Errors
    /// If an event lacks or is wrong.
    pub fn deliver(&self, change: Change) -> Result<std::time::Duration> {
        let tx = self.database.rw_transaction()?;
        let all = {
            let scan = tx.scan().primary::<ranked::Object>()?;
            scan.all()?.collect::<Result<Vec<ranked::Object>, _>>()?
        };
        all.into_iter()
            .try_for_each(|old| change_object(&tx, old, change))?;
        let start = std::time::Instant::now();
        tx.commit()?;
        for receiver in &self.receivers {
            let Event::Update(update) = receiver.recv()? else {
                return Err("an event is no update".into());
            };
            let (old, new) = (
                update.inner_old::<ranked::Object>()?.record(),
                update.inner_new::<ranked::Object>()?.record(),
            );
            if change.priority(old.priority) != new.priority || change.rank(old.rank) != new.rank {
                return Err(format!("{} is not changed as wanted", new.title).into());
            }
        }
        Ok(start.elapsed())
    }
}
