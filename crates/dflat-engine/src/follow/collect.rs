//! Collects the records of other engines that change observed tables.

use std::ops::{ControlFlow, Range};

use dflat_model::record::{ChangeRecord, Part, RecordError, TableRecord};
use dflat_model::{RowId, Value};

use super::Follow;

/// If more rows have changed than this, their keys are not collected.
const KEYS_MAX: usize = 4096;

/// The transactions of other engines, the latest first.
pub(super) struct Collected {
    /// The primary keys of the changed rows of the table whose keys are wanted; `None` if they are
    /// not known or too many.
    pub(super) keys: Option<Vec<Vec<Value>>>,
    /// The tables of which any row may be foreign, by name.
    pub(super) foreign_tables: Vec<String>,
    /// The rows that were foreign, by the name of their table.
    pub(super) foreign_rows: Vec<(String, RowId)>,
    /// The records to decode, one behind the other.
    bytes: Vec<u8>,
    pub(super) transactions: Vec<Collection>,
}

/// The records of one transaction.
pub(super) struct Collection {
    /// The names of all tables that the transaction changed.
    pub(super) names: Vec<String>,
    /// Its records with rows of observed tables, the last part first.
    pub(super) parts: Vec<Range<usize>>,
}

impl Collected {
    pub(super) fn record(&self, part: &Range<usize>) -> Result<ChangeRecord<'_>, RecordError> {
        let bytes = self.bytes.get(part.clone()).unwrap_or_default();
        ChangeRecord::decode(bytes)
    }
}

/// Takes records, the latest first.
pub(super) struct Collector<'f> {
    follow: &'f Follow<'f>,
    collected: Collected,
    /// The engine of the latest final part, and the number of its parts that are to come.
    awaited: (u64, u32),
    /// Whether the latest transaction changes observed tables.
    is_observed: bool,
    /// Whether the latest transaction changes the table whose keys are wanted.
    is_listened: bool,
    /// Whether a record of this engine was visited.
    is_own: bool,
    is_broken: bool,
}

impl<'f> Collector<'f> {
    pub(super) fn new(follow: &'f Follow<'f>) -> Self {
        Self {
            follow,
            collected: Collected {
                keys: Some(Vec::new()),
                foreign_tables: Vec::new(),
                foreign_rows: Vec::new(),
                bytes: Vec::new(),
                transactions: Vec::new(),
            },
            awaited: (0, 0),
            is_observed: false,
            is_listened: false,
            is_own: false,
            is_broken: false,
        }
    }

    /// Takes the next older record.
    pub(super) fn visit(&mut self, bytes: &[u8]) -> ControlFlow<()> {
        if self.take(bytes).is_some() {
            return ControlFlow::Continue(());
        }
        self.is_broken = true;
        ControlFlow::Break(())
    }

    /// The transactions, unless a record was refused or a part is missing.
    pub(super) fn finish(self) -> Option<Collected> {
        (!self.is_broken && self.awaited.1 == 0).then_some(self.collected)
    }

    fn take(&mut self, bytes: &[u8]) -> Option<()> {
        let (engine, awaited) = self.awaited;
        let record = ChangeRecord::decode(bytes).ok()?;
        match record.head.part {
            Part::Early { number } if awaited > 0 => {
                if record.head.engine != engine || number.checked_add(1) != Some(awaited) {
                    return None;
                }
                self.awaited.1 = number;
            }
            // The transaction of an early part without its final part did not commit.
            Part::Early { .. } => return Some(()),
            Part::Whole | Part::Final { .. } if awaited > 0 => return None,
            Part::Whole => self.begin(&record, 0)?,
            Part::Final { early, .. } => self.begin(&record, early)?,
        }
        if self.is_listened {
            self.note_keys(&record);
        }
        let observed = self.follow.observed;
        let mut tables = record.tables.iter();
        let has_rows = self.is_observed
            && tables.any(|table| !table.is_empty() && observed(table.table.name).is_some());
        match has_rows {
            true => self.keep(bytes),
            false => Some(()),
        }
    }

    /// Begins a transaction with its last part.
    fn begin(&mut self, record: &ChangeRecord<'_>, early: u32) -> Option<()> {
        self.awaited = (record.head.engine, early);
        self.is_observed = false;
        self.is_listened = false;
        // Upkeep changes no object.
        if record.tables.is_empty() {
            return (early == 0).then_some(());
        }
        if record.changes_nothing() {
            self.note_mended(record);
            return (early == 0).then_some(());
        }
        if record.head.engine == self.follow.record_engine {
            self.is_own = true;
            return Some(());
        }
        if self.is_own {
            // A transaction of this engine is based on commits that were followed before.
            return None;
        }
        let observed = self.follow.observed;
        for table in &record.tables {
            self.is_listened |= (self.follow.listened)(table.table.name);
            if observed(table.table.name).is_some() {
                if table.table.is_foreign {
                    let name = table.table.name.to_owned();
                    self.collected.foreign_tables.push(name);
                }
                self.is_observed = true;
            }
        }
        let names = record
            .tables
            .iter()
            .map(|table| table.table.name.to_owned());
        self.collected.transactions.push(Collection {
            names: names.collect(),
            parts: Vec::new(),
        });
        Some(())
    }

    /// Notes the keys of the changed rows.
    fn note_keys(&mut self, record: &ChangeRecord<'_>) {
        let tables = record.tables.iter();
        for table in tables.filter(|table| (self.follow.listened)(table.table.name)) {
            let Some(known) = &mut self.collected.keys else {
                return;
            };
            match keys_of(table) {
                Some(keys) if keys.len() <= KEYS_MAX - known.len() => known.extend(keys),
                _ => self.collected.keys = None,
            }
        }
    }

    /// Notes the rows that were foreign.
    fn note_mended(&mut self, record: &ChangeRecord<'_>) {
        for table in &record.tables {
            let name = table.table.name;
            if (self.follow.observed)(name).is_some() {
                let rows = table.rows().flatten();
                let rows = rows.map(|row| (name.to_owned(), row.row_id));
                self.collected.foreign_rows.extend(rows);
            }
        }
    }

    /// Keeps a record of the latest transaction.
    fn keep(&mut self, record: &[u8]) -> Option<()> {
        let bytes = &mut self.collected.bytes;
        let start = bytes.len();
        if record.len() > self.follow.bytes_max.saturating_sub(start) {
            return None;
        }
        bytes.extend_from_slice(record);
        let transaction = self.collected.transactions.last_mut()?;
        transaction.parts.push(start..bytes.len());
        Some(())
    }
}

/// The primary keys of the rows in a record; `None` if other rows may have changed, too.
fn keys_of(table: &TableRecord<'_>) -> Option<Vec<Vec<Value>>> {
    if table.table.is_foreign {
        return None;
    }
    let keys = table.rows().map(|row| {
        // A row that another program has written may have had another key before.
        let row = row.ok().filter(|row| !row.is_foreign)?;
        Some(row.key.iter().map(|part| part.to_value()).collect())
    });
    keys.collect()
}
