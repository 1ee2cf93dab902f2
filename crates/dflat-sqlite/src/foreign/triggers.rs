//! Triggers that note what other programs write, past the indexes.
//!
//! Our own connections have triggers off, so that these cost us nothing. A table that has all of
//! its triggers, with the definitions that are ours, was made by us, and nobody has dropped,
//! renamed or made it since: what stands in it is ours, save for the rows noted.

use dflat_model::TableDescriptor;

use crate::layout::ddl::{Names, OURS, PlainIndexNames, literal, quoted_if_needed};

/// The most rows of a table that are noted and can be read apart. Of a table with more the indexes
/// are built anew, so that which rows were written then matters no more: nothing is noted.
pub(crate) const NOTES_MAX: usize = 1000;

/// Stands in each trigger, and changes when code from before would leave an index as it was: that
/// code has its own triggers in the place of these before it writes, so that no index is believed.
/// In the second there are indexes over several fields and of some objects.
const REVISION: &str = "dflat 2";

/// A trigger, and its definition.
#[derive(PartialEq, Eq)]
pub(crate) struct Trigger {
    pub(crate) name: String,
    /// The table that it is on, whose new name it takes when the table is renamed.
    pub(crate) table: String,
    pub(crate) sql: String,
}

/// What the names of the triggers of a table and its index tables begin with.
pub(crate) fn prefix(table: &TableDescriptor) -> String {
    format!("{OURS}{}__", table.name)
}

/// The triggers of a main table.
pub(crate) fn of_main(table: &TableDescriptor) -> Vec<Trigger> {
    let names = Names::new(table);
    let columns = &names.key_columns;
    let same: Vec<String> = columns.iter().map(|c| format!("{c} = NEW.{c}")).collect();
    on(table, &table.name, REVISION, Some(&same.join(" AND ")))
}

/// The triggers of an index table. In them stands what it holds: a field's default is part of that,
/// and not of the table's name where this is the original's.
pub(crate) fn of_index(table: &TableDescriptor, position: usize) -> Vec<Trigger> {
    let Some(index) = table.indexes.get(position) else {
        return Vec::new();
    };
    let plain = PlainIndexNames::new(table, index);
    let columns = plain.columns.iter().map(|column| quoted_if_needed(column));
    let same: Vec<String> = columns.map(|c| format!("{c} = NEW.{c}")).collect();
    let same = index.unique.then(|| same.join(" AND "));
    let mark = format!("{REVISION} {:016x}", index.definition());
    on(table, &plain.table, &mark, same.as_deref())
}

/// The name of a trigger that the table of an index has if the index is unique. It tells an index
/// that was the other kind before, which is made anew.
pub(crate) fn of_unique(table: &TableDescriptor, position: usize) -> Option<String> {
    let index = table.indexes.get(position)?;
    let plain = PlainIndexNames::new(table, index);
    Some(name_of(&plain.table, REPLACES))
}

const REPLACES: &str = "replaces";

fn name_of(table: &str, kind: &str) -> String {
    let table = table.strip_prefix(OURS).unwrap_or(table);
    format!("{OURS}{table}__{kind}")
}

/// The triggers of one table, which note rows under the name of the main table. `mark` is a comment
/// in them, `same` the condition of rows that a REPLACE deletes, which is told to nobody else.
fn on(table: &TableDescriptor, name: &str, mark: &str, same: Option<&str>) -> Vec<Trigger> {
    let main = literal(&table.name);
    // Not `INSERT OR IGNORE`: the conflict clause of the other's statement would take its place.
    let note = |what: &str| format!("INSERT INTO dflat__foreign {what} ON CONFLICT DO NOTHING;");
    let (old, new) = (
        format!("({main}, OLD.rowid)"),
        format!("({main}, NEW.rowid)"),
    );
    let mut kinds = vec![
        ("inserted", "AFTER INSERT", note(&format!("VALUES {new}"))),
        (
            "updated",
            "AFTER UPDATE",
            note(&format!("VALUES {old}, {new}")),
        ),
        ("deleted", "AFTER DELETE", note(&format!("VALUES {old}"))),
    ];
    let on = quoted_if_needed(name);
    let replaced = same.map(|same| note(&format!("SELECT {main}, rowid FROM {on} WHERE {same}")));
    if let Some(replaced) = replaced {
        kinds.push((REPLACES, "BEFORE INSERT", replaced.clone()));
        kinds.push(("moves", "BEFORE UPDATE", replaced));
    }
    let room = format!(
        "NOT EXISTS (SELECT 1 FROM dflat__foreign WHERE name = {main} LIMIT 1 OFFSET {NOTES_MAX})"
    );
    let trigger = |(kind, when, body): (&str, &str, String)| {
        let trigger = name_of(name, kind);
        let sql = format!(
            "CREATE TRIGGER {} {when} ON {on} WHEN {room} BEGIN /* {mark} */ {body} END",
            quoted_if_needed(&trigger)
        );
        Trigger {
            name: trigger,
            table: name.to_owned(),
            sql,
        }
    };
    kinds.into_iter().map(trigger).collect()
}
