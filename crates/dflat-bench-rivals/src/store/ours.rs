//! Dflat.
//!
//! An import is one transaction; a program that waits for each commit uses the blocking methods,
//! and one that does not queues its transactions: see `docs/performance.md`. A handler that reads
//! before it writes takes write access first: see `docs/concurrency.md`.

use std::marker::PhantomData;
use std::ops::Range;
use std::path::Path;

use dflat::{ChangeRequest, FetchedResult, Field, Object, Payload, TransactionContext, Workspace};

use super::{Held, Session, Store};
use crate::Result;
use crate::record::{Change, Content as Union, Digest, Note, Record, Shape};

use crate::schema::{
    ImagePart, Listed, ListedData, Nested, NestedData, Note as StoredNote, Part, PartRef, Plain0,
    Plain0Data, Plain1, Plain1Data, Plain2, Plain2Data, Plain3, Plain3Data, RankedData, TextPart,
};

pub use crate::schema::Ranked;

/// A type of the comparison.
pub trait Kept: for<'k> Object<Key<'k> = &'k str> {
    /// The values of a record.
    fn data(record: &Record) -> Self::Data;

    /// Adds this object to the sum.
    fn add_to(&self, digest: &mut Digest);

    /// Changes values.
    fn change_data(data: &mut Self::Data, change: Change);

    /// The indexed values: the rank, the tag and the code.
    fn indexed(data: &Self::Data) -> (i32, &str, i64);

    /// The value of the field without an index.
    fn priority_value(&self) -> i32;

    /// The field without an index.
    fn priority_field() -> Field<Self, i32>;

    /// The field of the rank.
    fn rank_field() -> Field<Self, i32>;
}

macro_rules! kept {
    ($type:ident, $data:ident $(, $more:ident: $make:expr)*; $also:expr) => {
        impl Kept for $type {
            fn data(record: &Record) -> $data {
                $data {
                    title: record.title.clone(),
                    priority: record.priority,
                    rank: record.rank,
                    tag: Some(record.tag.clone()),
                    code: record.code,
                    text: Some(record.text.clone()),
                    $($more: $make(record),)*
                }
            }

            fn add_to(&self, digest: &mut Digest) {
                let numbers = [self.priority().into(), self.rank().into(), self.code()];
                let texts = [self.tag().unwrap_or_default(), self.text().unwrap_or_default()];
                digest.add(self.title(), numbers, texts);
                $also(self, digest);
            }

            fn change_data(data: &mut $data, change: Change) {
                data.priority = change.priority(data.priority);
                data.rank = change.rank(data.rank);
                data.code = change.code(data.code);
                if change.is_of_all() {
                    data.tag = Some(change.tag(data.tag.as_deref().unwrap_or_default()));
                }
            }

            fn indexed(data: &$data) -> (i32, &str, i64) {
                (data.rank, data.tag.as_deref().unwrap_or_default(), data.code)
            }

            fn priority_value(&self) -> i32 {
                self.priority()
            }

            fn priority_field() -> Field<Self, i32> {
                Self::PRIORITY.into()
            }

            fn rank_field() -> Field<Self, i32> {
                Self::RANK.into()
            }
        }
    };
}

kept!(Plain0, Plain0Data; |_: &Self, _| ());
kept!(Plain1, Plain1Data; |_: &Self, _| ());
kept!(Plain2, Plain2Data; |_: &Self, _| ());
kept!(Plain3, Plain3Data; |_: &Self, _| ());
kept!(Ranked, RankedData; |_: &Self, _| ());
kept!(Listed, ListedData; |_: &Self, _| ());
kept!(
    Nested, NestedData,
    content: content, notes: notes; add_inside
);

fn content(record: &Record) -> Option<Part> {
    record.content.as_ref().map(|content| match content {
        Union::Text(text) => Part::TextPart(TextPart {
            text: Some(text.clone()),
        }),
        Union::Images(images) => Part::ImagePart(ImagePart {
            images: images.clone(),
        }),
    })
}

fn notes(record: &Record) -> Vec<StoredNote> {
    let note = |note: &Note| StoredNote {
        author: Some(note.author.clone()),
        stars: note.stars,
        text: Some(note.text.clone()),
    };
    record.notes.iter().map(note).collect()
}

/// Adds the union and the notes, which are read where they lie.
fn add_inside(nested: &Nested, digest: &mut Digest) {
    match nested.content() {
        Some(PartRef::TextPart(content)) => {
            digest.add_text(content.text().unwrap_or_default());
        }
        Some(PartRef::ImagePart(content)) => {
            content
                .images()
                .iter()
                .for_each(|image| digest.add_text(image));
        }
        _ => {}
    }
    for note in nested.notes() {
        let (author, text) = (note.author(), note.text());
        digest.add_note(
            author.unwrap_or_default(),
            note.stars(),
            text.unwrap_or_default(),
        );
    }
}

pub(super) fn open(folder: &Path, shape: Shape) -> Result<Box<dyn Store>> {
    let workspace = Workspace::open(folder.join("dflat.db"))?;
    Ok(Box::new(Ours { workspace, shape }))
}

struct Ours {
    workspace: Workspace,
    shape: Shape,
}

impl Store for Ours {
    fn session(&self, table: usize) -> Result<Box<dyn Session + '_>> {
        Ok(of_shape(self.shape, table, &self.workspace))
    }

    fn prepare(&self) -> Result<()> {
        let records = self.shape.records(1, 1);
        for table in 0..self.shape.tables() {
            let mut session = self.session(table)?;
            session.insert(&records)?;
            session.delete(&[records[0].title.clone()])?;
        }
        Ok(self.workspace.settle()?)
    }
}

/// Makes the session of a type.
pub(super) trait OfType<'s> {
    /// A session that works with objects of this type.
    fn session<T: Kept<Data: Payload>>(self) -> Box<dyn Session + 's>;
}

/// The session of the type that a table of a shape has.
pub(super) fn of_shape<'s>(
    shape: Shape,
    table: usize,
    make: impl OfType<'s>,
) -> Box<dyn Session + 's> {
    match (shape, table) {
        (Shape::Ranked, _) => make.session::<Ranked>(),
        (Shape::Listed, _) => make.session::<Listed>(),
        (Shape::Nested, _) => make.session::<Nested>(),
        (Shape::Plain, 0) => make.session::<Plain0>(),
        (Shape::Plain, 1) => make.session::<Plain1>(),
        (Shape::Plain, 2) => make.session::<Plain2>(),
        (Shape::Plain, _) => make.session::<Plain3>(),
    }
}

impl<'w> OfType<'w> for &'w Workspace {
    fn session<T: Kept<Data: Payload>>(self) -> Box<dyn Session + 'w> {
        Box::new(Typed::<T> {
            workspace: self,
            kind: PhantomData,
        })
    }
}

struct Typed<'w, T> {
    workspace: &'w Workspace,
    kind: PhantomData<T>,
}

/// A fetched result with its objects.
struct Fetched<T>(FetchedResult<T>);

impl<T: Kept> Held for Fetched<T> {
    fn digest(&self) -> Digest {
        let mut digest = Digest::default();
        self.0.iter().for_each(|object| object.add_to(&mut digest));
        digest
    }
}

/// Changes one object, and submits it.
fn submit<T: Kept>(tx: &TransactionContext, object: &T, change: Change) -> dflat::Result<()> {
    if let Some(mut request) = ChangeRequest::change(tx, object)? {
        T::change_data(&mut request, change);
        tx.submit(request)?;
    }
    Ok(())
}

impl<T: Kept> Session for Typed<'_, T> {
    fn insert(&mut self, records: &[Record]) -> Result<()> {
        Ok(self.workspace.perform_changes_blocking([T::TABLE], |tx| {
            let create = |record| tx.submit(ChangeRequest::<T>::creation(T::data(record)));
            records
                .iter()
                .try_for_each(|record| create(record).map(drop))
        })?)
    }

    fn scan(&mut self, below: i32) -> Result<Box<dyn Held>> {
        let found = self
            .workspace
            .fetch::<T>()
            .filter(T::priority_field().lt(below));
        Ok(Box::new(Fetched(found.all()?)))
    }

    fn by_rank(&mut self, ranks: Range<i32>) -> Result<Box<dyn Held>> {
        let condition = T::rank_field().ge(ranks.start) & T::rank_field().lt(ranks.end);
        let found = self.workspace.fetch::<T>().filter(condition);
        Ok(Box::new(Fetched(found.all()?)))
    }

    fn fetch_all(&mut self) -> Result<Box<dyn Held>> {
        Ok(Box::new(Fetched(self.workspace.fetch::<T>().all()?)))
    }

    fn get(&mut self, key: &str) -> Result<Digest> {
        let mut digest = Digest::default();
        if let Some(object) = self.workspace.get::<T>(key)? {
            object.add_to(&mut digest);
        }
        Ok(digest)
    }

    fn update_all(&mut self, change: Change) -> Result<()> {
        Ok(self
            .workspace
            .write_first()
            .perform_changes_blocking([T::TABLE], |tx| {
                let all = tx.fetch::<T>().all()?;
                all.iter().try_for_each(|object| submit(tx, object, change))
            })?)
    }

    fn update_one(&mut self, key: &str, change: Change) -> Result<()> {
        Ok(self
            .workspace
            .write_first()
            .perform_changes_blocking([T::TABLE], |tx| {
                let object = tx.get::<T>(key)?;
                object
                    .iter()
                    .try_for_each(|object| submit(tx, object, change))
            })?)
    }

    /// Queued: the transactions share commits, and each is atomic on its own.
    fn update_each(&mut self, keys: &[String], change: Change) -> Result<()> {
        let queue = |key: &String| {
            let key = key.clone();
            self.workspace.perform_changes([T::TABLE], move |tx| {
                let object = tx.get::<T>(&key)?;
                object
                    .iter()
                    .try_for_each(|object| submit(tx, object, change))
            })
        };
        let queued: Vec<_> = keys.iter().map(queue).collect();
        Ok(queued.into_iter().try_for_each(|handle| handle.wait())?)
    }

    fn delete(&mut self, keys: &[String]) -> Result<()> {
        Ok(self
            .workspace
            .write_first()
            .perform_changes_blocking([T::TABLE], |tx| {
                keys.iter()
                    .try_for_each(|key| tx.delete::<T>(key).map(|_| ()))
            })?)
    }
}
