//! Keys as columns: bytes whose order is the order of the keys, cut where the server's indexes end.
//!
//! A B-tree of the server takes about 2,700 bytes. A longer key is stored in two columns, `key` and
//! `rest`, of which the first one is in the index. A third column, `tie`, makes the pair of `key`
//! and `tie` unique: it is empty for a short key, a hash of the whole for a long one, and the row
//! id for a key of which a part is NULL, which may occur more than once.

use std::ops::Bound;

use dflat_engine::storage::KeyScan;
use dflat_model::{RowId, ValueRef, key};

/// The bytes of a key that the index has.
pub(crate) const KEY_MAX: usize = 2000;

/// A key as the columns have it.
pub(crate) struct StoredKey {
    /// The whole key.
    bytes: Vec<u8>,
    has_null: bool,
}

impl StoredKey {
    pub(crate) fn new(values: &[ValueRef<'_>]) -> Self {
        Self {
            bytes: key::encode(values.iter().copied()),
            has_null: values.iter().any(|value| value.is_null()),
        }
    }

    /// The whole key.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The column `key`.
    pub(crate) fn key(&self) -> &[u8] {
        cut(&self.bytes)
    }

    /// The column `rest`.
    pub(crate) fn rest(&self) -> Option<&[u8]> {
        self.bytes.get(KEY_MAX..).filter(|rest| !rest.is_empty())
    }

    /// The column `tie` of a row.
    pub(crate) fn tie(&self, row_id: RowId) -> Vec<u8> {
        if self.has_null {
            row_id.0.to_be_bytes().to_vec()
        } else if self.rest().is_some() {
            blake3::hash(&self.bytes).as_bytes().to_vec()
        } else {
            Vec::new()
        }
    }

    /// Whether a part is NULL, so that other rows may have the same key.
    pub(crate) const fn has_null(&self) -> bool {
        self.has_null
    }
}

fn cut(bytes: &[u8]) -> &[u8] {
    bytes.get(..KEY_MAX).unwrap_or(bytes)
}

/// A range of keys, by their bytes: from `from` up to and without `to`.
#[derive(Debug)]
pub(crate) struct Range {
    from: Vec<u8>,
    to: Vec<u8>,
}

impl Range {
    /// The keys of a scan.
    pub(crate) fn of(scan: &KeyScan<'_>) -> Self {
        let prefix = key::encode(scan.prefix.iter().map(|value| value.as_ref()));
        let with = |value: &dflat_model::Value, is_behind: bool| {
            let mut bytes = prefix.clone();
            key::append(value.as_ref(), &mut bytes);
            if is_behind {
                bytes.push(key::BEHIND);
            }
            bytes
        };
        let from = match scan.lower {
            Bound::Unbounded => prefix.clone(),
            Bound::Included(value) => with(value, false),
            Bound::Excluded(value) => with(value, true),
        };
        let to = match scan.upper {
            Bound::Unbounded => {
                let mut bytes = prefix.clone();
                bytes.push(key::BEHIND);
                bytes
            }
            Bound::Included(value) => with(value, true),
            Bound::Excluded(value) => with(value, false),
        };
        Self { from, to }
    }

    /// The lower bound of the column `key`, which is included.
    pub(crate) fn from(&self) -> &[u8] {
        cut(&self.from)
    }

    /// The upper bound of the column `key`.
    pub(crate) fn to(&self) -> &[u8] {
        cut(&self.to)
    }

    /// The operator of the upper bound. A key that is cut may be in the range although its column
    /// equals the bound, which is cut as well.
    pub(crate) fn upper_operator(&self) -> &'static str {
        if self.to.len() > KEY_MAX { "<=" } else { "<" }
    }

    /// Whether a whole key is in the range.
    pub(crate) fn has(&self, key: &[u8]) -> bool {
        key >= self.from.as_slice() && key < self.to.as_slice()
    }

    /// Whether only the whole key shows that it is in the range.
    pub(crate) const fn is_cut(&self) -> bool {
        self.from.len() > KEY_MAX || self.to.len() > KEY_MAX
    }
}

#[cfg(test)]
mod tests {
    use dflat_engine::storage::Key;
    use dflat_model::{Direction, Value};

    use super::*;

    fn range(prefix: &[Value], lower: Bound<&Value>, upper: Bound<&Value>) -> Range {
        Range::of(&KeyScan {
            key: Key::Primary,
            prefix,
            lower,
            upper,
            direction: Direction::Ascending,
            after: None,
        })
    }

    #[test]
    fn bounds_are_those_of_the_values() {
        let (two, three) = (Value::Int(2), Value::Int(3));
        let key = |value: f64| key::encode([ValueRef::Text("a"), ValueRef::Float(value)]);
        let prefix = [Value::text("a")];
        let open = range(&prefix, Bound::Excluded(&two), Bound::Excluded(&three));
        assert!(!open.has(&key(2.0)) && open.has(&key(2.5)) && !open.has(&key(3.0)));
        let closed = range(&prefix, Bound::Included(&two), Bound::Included(&three));
        assert!(closed.has(&key(2.0)) && closed.has(&key(3.0)) && !closed.has(&key(3.5)));
        let all = range(&prefix, Bound::Unbounded, Bound::Unbounded);
        assert!(all.has(&key(-1e300)) && all.has(&key(1e300)));
        assert!(!all.has(&key::encode([ValueRef::Text("ab"), ValueRef::Int(1)])));
    }

    #[test]
    fn bounds_of_cut_keys_admit_every_key_of_the_range() {
        let texts: Vec<Value> = [KEY_MAX - 3, KEY_MAX - 2, KEY_MAX, KEY_MAX + 1, KEY_MAX + 9]
            .map(|length| Value::text(&"x".repeat(length)))
            .to_vec();
        for (lower, upper, text) in texts.iter().flat_map(|lower| {
            let texts = &texts;
            let pairs = texts
                .iter()
                .flat_map(move |u| texts.iter().map(move |t| (u, t)));
            pairs.map(move |(upper, text)| (lower, upper, text))
        }) {
            let range = range(&[], Bound::Included(lower), Bound::Included(upper));
            let stored = StoredKey::new(&[text.as_ref()]);
            let is_below = match range.upper_operator() {
                "<" => stored.key() < range.to(),
                _ => stored.key() <= range.to(),
            };
            let is_read = stored.key() >= range.from() && is_below;
            assert!(
                is_read || !range.has(stored.bytes()),
                "a key of the range is not read"
            );
            let is_exact = is_read == range.has(stored.bytes());
            assert!(
                is_exact || range.is_cut(),
                "a key is read that is not in the range"
            );
        }
    }
}
