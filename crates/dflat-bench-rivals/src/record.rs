//! The objects, the change that updates make, and the oracle that every result is compared with.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// The number of tags.
const TAGS: usize = 100;
/// The bytes of an object besides its text, about.
const OTHER_BYTES: usize = 40;
/// A priority is below this number, and a sixth of all objects has each.
pub const PRIORITIES: usize = 6;

/// An object, owned by the program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The primary key.
    pub title: String,
    /// Has no index.
    pub priority: i32,
    /// No two objects have the same rank, and ranks are in no order. Indexed in two shapes.
    pub rank: i32,
    /// A hundredth of all objects shares a tag. Indexed in one shape.
    pub tag: String,
    /// No two objects have the same code. Unique in one shape.
    pub code: i64,
    /// Fills the object to its size.
    pub text: String,
    /// Only in nested objects.
    pub content: Option<Content>,
    /// Only in nested objects.
    pub notes: Vec<Note>,
}

/// A union.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Content {
    /// A text.
    Text(String),
    /// Names of images.
    Images(Vec<String>),
}

/// A table in a vector.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// Its author.
    pub author: String,
    /// A number.
    pub stars: i32,
    /// Its text.
    pub text: String,
}

/// An object whose strings lie in the memory of a store: for reads that keep nothing.
#[derive(Debug, Deserialize)]
pub struct View<'a> {
    title: &'a str,
    priority: i32,
    rank: i32,
    tag: &'a str,
    code: i64,
    text: &'a str,
    #[serde(borrow)]
    content: Option<ContentView<'a>>,
    #[serde(borrow)]
    notes: Vec<NoteView<'a>>,
}

#[derive(Debug, Deserialize)]
enum ContentView<'a> {
    Text(&'a str),
    #[serde(borrow)]
    Images(Vec<&'a str>),
}

#[derive(Debug, Deserialize)]
struct NoteView<'a> {
    author: &'a str,
    stars: i32,
    text: &'a str,
}

/// The indexes of the objects, and whether more is inside them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// No index; in four tables.
    Plain,
    /// An index of `rank`.
    Ranked,
    /// Also an index of `tag`, and a unique one of `code`.
    Listed,
    /// No index; a union and a vector of tables.
    Nested,
}

impl Shape {
    /// The number of indexes.
    pub fn indexes(self) -> usize {
        match self {
            Self::Plain | Self::Nested => 0,
            Self::Ranked => 1,
            Self::Listed => 3,
        }
    }

    /// The number of tables.
    pub fn tables(self) -> usize {
        if self == Self::Plain { 4 } else { 1 }
    }

    /// So many objects of about so many bytes.
    pub fn records(self, count: usize, bytes: usize) -> Vec<Record> {
        let record = |i: usize| Record {
            title: title(i),
            priority: number(i % PRIORITIES),
            // 7919 is a prime, so each number below `count` is given once.
            rank: number(i * 7919 % count),
            tag: format!("tag{}", i % TAGS),
            code: number(i).into(),
            text: text(i, bytes.saturating_sub(OTHER_BYTES)),
            content: None,
            notes: Vec::new(),
        };
        let mut records: Vec<_> = (0..count).map(record).collect();
        if self == Self::Nested {
            records.iter_mut().enumerate().for_each(nest);
        }
        records
    }
}

/// Puts most of the text into a union and four notes.
fn nest((i, record): (usize, &mut Record)) {
    let part = record.text.len() / 6;
    record.content = Some(if i % 2 == 0 {
        Content::Text(text(i, part))
    } else {
        Content::Images((0..3).map(|image| text(i + image, part / 3)).collect())
    });
    let note = |n: usize| Note {
        author: format!("author{}", (i + n) % TAGS),
        stars: number(n),
        text: text(i + n, part),
    };
    record.notes = (0..4).map(note).collect();
    record.text.truncate(part);
}

/// The key of object `i`.
pub fn title(i: usize) -> String {
    format!("title{i:07}")
}

/// A text whose beginning and length belong to object `i`.
fn text(i: usize, bytes: usize) -> String {
    let mut text = format!("{i} ");
    while text.len() < bytes {
        text.push_str("Objects lie in one file and are read as they lie there. ");
    }
    text.truncate(bytes.max(1));
    text
}

/// A number of this size is small in all scenarios.
pub fn number(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

/// The change that an update makes, computed by the program from the object's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The priority rises by one.
    Priority,
    /// Every indexed value becomes another: the rank and, with three indexes, the tag and the code.
    Indexed {
        /// The number of objects. All ranks remain below it.
        count: usize,
        /// Whether the tag and the code change, too.
        all: bool,
    },
}

impl Change {
    /// The new priority.
    pub fn priority(self, old: i32) -> i32 {
        if self == Self::Priority { old + 1 } else { old }
    }

    /// The new rank.
    pub fn rank(self, old: i32) -> i32 {
        match self {
            Self::Priority => old,
            Self::Indexed { count, .. } => (old + number(count / 10)) % number(count),
        }
    }

    /// Whether the tag and the code change.
    pub fn is_of_all(self) -> bool {
        matches!(self, Self::Indexed { all: true, .. })
    }

    /// The new tag.
    pub fn tag(self, old: &str) -> String {
        match old.strip_prefix("other ") {
            _ if !self.is_of_all() => old.to_owned(),
            Some(old) => old.to_owned(),
            None => format!("other {old}"),
        }
    }

    /// The new code, which no other object has while one object after the other is changed.
    pub fn code(self, old: i64) -> i64 {
        match self {
            Self::Indexed { count, all: true } => old + i64::from(number(count)),
            Self::Indexed { .. } | Self::Priority => old,
        }
    }

    /// Changes an object.
    pub fn apply(self, record: &mut Record) {
        record.priority = self.priority(record.priority);
        record.rank = self.rank(record.rank);
        record.code = self.code(record.code);
        if self.is_of_all() {
            record.tag = self.tag(&record.tag);
        }
    }
}

/// A sum over objects, in any order, that touches every value of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Digest {
    /// The number of objects.
    pub count: u64,
    sum: u64,
}

impl Digest {
    /// Adds the values that every object has.
    pub fn add(&mut self, title: &str, numbers: [i64; 3], texts: [&str; 2]) {
        self.count += 1;
        let [priority, rank, code] = numbers;
        let own = priority * 3 + rank * 5 + code * 7;
        // The sum of products finds values that two objects have exchanged.
        let key = title
            .bytes()
            .fold(0_u64, |sum, byte| (sum * 31 + u64::from(byte)) % 9_973);
        self.sum = self
            .sum
            .wrapping_add(own.cast_unsigned().wrapping_mul(key + 1));
        self.add_text(title);
        self.add_text(texts[0]);
        self.add_text(texts[1]);
    }

    /// Adds the objects of another sum.
    pub fn join(&mut self, other: Self) {
        self.count += other.count;
        self.sum = self.sum.wrapping_add(other.sum);
    }

    /// Adds a text.
    pub fn add_text(&mut self, text: &str) {
        let ends = text.bytes().next().into_iter().chain(text.bytes().last());
        let ends = ends.fold(text.len() as u64, |sum, byte| sum * 257 + u64::from(byte));
        self.sum = self.sum.wrapping_add(ends);
    }

    /// Adds a note.
    pub fn add_note(&mut self, author: &str, stars: i32, text: &str) {
        self.add_text(author);
        self.add_text(text);
        self.sum = self.sum.wrapping_add(i64::from(stars).cast_unsigned());
    }

    /// Adds an object.
    pub fn add_record(&mut self, record: &Record) {
        let numbers = [record.priority.into(), record.rank.into(), record.code];
        self.add(&record.title, numbers, [&record.tag, &record.text]);
        match &record.content {
            Some(Content::Text(text)) => self.add_text(text),
            Some(Content::Images(images)) => images.iter().for_each(|i| self.add_text(i)),
            None => {}
        }
        for note in &record.notes {
            self.add_note(&note.author, note.stars, &note.text);
        }
    }

    /// Adds an object of a store.
    pub fn add_view(&mut self, view: &View<'_>) {
        let numbers = [view.priority.into(), view.rank.into(), view.code];
        self.add(view.title, numbers, [view.tag, view.text]);
        match &view.content {
            Some(ContentView::Text(text)) => self.add_text(text),
            Some(ContentView::Images(images)) => images.iter().for_each(|i| self.add_text(i)),
            None => {}
        }
        for note in &view.notes {
            self.add_note(note.author, note.stars, note.text);
        }
    }

    /// The sum over these objects.
    pub fn of<'a>(records: impl IntoIterator<Item = &'a Record>) -> Self {
        let mut digest = Self::default();
        records
            .into_iter()
            .for_each(|record| digest.add_record(record));
        digest
    }

    /// The sum over those whose rank is in the range.
    pub fn of_ranks(records: &[Record], ranks: &Range<i32>) -> Self {
        Self::of(records.iter().filter(|record| ranks.contains(&record.rank)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digest_tells_exchanged_values() {
        let mut records = Shape::Nested.records(10, 1024);
        let before = Digest::of(&records);
        let (first, second) = (records[0].rank, records[1].rank);
        (records[0].rank, records[1].rank) = (second, first);
        assert_ne!(before, Digest::of(&records));
    }

    #[test]
    fn objects_have_their_size() {
        for (shape, bytes) in [
            (Shape::Plain, 100),
            (Shape::Plain, 16_384),
            (Shape::Nested, 1024),
        ] {
            for record in shape.records(20, bytes) {
                let size = postcard::to_stdvec(&record).unwrap().len();
                assert!(size.abs_diff(bytes) * 5 < bytes, "{bytes}: {size}");
            }
        }
    }

    #[test]
    fn ranks_and_codes_stay_unique() {
        let mut records = Shape::Listed.records(1_000, 100);
        let change = Change::Indexed {
            count: 1_000,
            all: true,
        };
        records.iter_mut().for_each(|record| change.apply(record));
        let ranks: std::collections::BTreeSet<_> = records.iter().map(|r| r.rank).collect();
        assert_eq!(ranks.len(), 1_000);
        assert_eq!(ranks.last(), Some(&999));
    }
}
