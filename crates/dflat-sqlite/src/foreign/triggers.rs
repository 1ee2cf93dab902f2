//! Triggers that note the rows that other programs write without updating the indexes.
//!
//! The connections of this library have triggers off, so the triggers cost them nothing. If a table
//! has all of its triggers, with the definitions of this library, then this library made the table,
//! and no other program has dropped, renamed or created it since. In that case this library wrote
//! everything in the table except the rows noted.

use dflat_model::TableDescriptor;

use crate::layout::ddl::{LIBRARY_PREFIX, Names, PlainIndexNames, literal, quoted_if_needed};

/// The maximal number of rows of a table that are noted and read without the indexes. If there are
/// more, the indexes are built anew. It then no longer matters which rows were written, so no more
/// are noted.
pub(crate) const NOTES_MAX: usize = 1000;

/// A text in each trigger. It changes when code of an earlier version would leave an index out of
/// date. That code replaces these triggers with its own before it writes, so that this version then
/// trusts no index. Revision 2 has indexes over several fields and of some objects only.
const REVISION: &str = "dflat 2";

/// A trigger and its definition.
#[derive(PartialEq, Eq)]
pub(crate) struct Trigger {
    pub(crate) name: String,
    /// The table that the trigger is on. If the table is renamed, the trigger has the table's new
    /// name here.
    pub(crate) table: String,
    pub(crate) sql: String,
}

/// The prefix of the names of the triggers of a table and its index tables.
pub(crate) fn prefix(table: &TableDescriptor) -> String {
    format!("{LIBRARY_PREFIX}{}__", table.name)
}

/// The triggers of a main table.
pub(crate) fn of_main(table: &TableDescriptor) -> Vec<Trigger> {
    let names = Names::new(table);
    let columns = &names.key_columns;
    let same: Vec<String> = columns.iter().map(|c| format!("{c} = NEW.{c}")).collect();
    on(table, &table.name, REVISION, Some(&same.join(" AND ")))
}

/// The triggers of an index table. They contain a mark of the index's definition, because the
/// content of the index follows from it: a field's default is part of the definition, but not of
/// the table's name if the index has the name that Dflat for Swift gives it.
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

/// The name of a trigger that the index table has only if the index is unique. It shows whether the
/// index was of the other kind before; such an index is built anew.
pub(crate) fn of_unique(table: &TableDescriptor, position: usize) -> Option<String> {
    let index = table.indexes.get(position)?;
    let plain = PlainIndexNames::new(table, index);
    Some(name_of(&plain.table, REPLACES))
}

const REPLACES: &str = "replaces";

fn name_of(table: &str, kind: &str) -> String {
    let table = table.strip_prefix(LIBRARY_PREFIX).unwrap_or(table);
    format!("{LIBRARY_PREFIX}{table}__{kind}")
}

/// The triggers of one table. They note rows under the name of the main table. `mark` is a comment
/// in each of them. `same` is the condition for rows that a REPLACE deletes, because no other
/// trigger fires for these.
fn on(table: &TableDescriptor, name: &str, mark: &str, same: Option<&str>) -> Vec<Trigger> {
    let main = literal(&table.name);
    // Not `INSERT OR IGNORE`: the conflict clause of the other program's statement would replace
    // it.
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
