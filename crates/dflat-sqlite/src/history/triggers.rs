//! Triggers that note the rows of versioned types that other programs change, with their payloads
//! before.
//!
//! The connections of this library have triggers off. The table of the notes has at most one note
//! of each row: that of the first change.

use dflat_model::TableDescriptor;

use crate::layout::ddl::{Names, notes_name, quoted_if_needed};

/// The definition of the table of the notes.
pub(super) fn create_notes(table: &TableDescriptor) -> String {
    let notes = quoted_if_needed(&notes_name(table));
    format!("CREATE TABLE IF NOT EXISTS {notes} (row_id INTEGER PRIMARY KEY, p BLOB)")
}

/// The prefix of the triggers' names. No type has a name with a colon.
pub(super) fn prefix(table: &TableDescriptor) -> String {
    format!("{}:", notes_name(table))
}

/// The name of the view that is made after the table of the notes and the triggers. `VACUUM`,
/// copies and dumps keep the order of views and triggers, and have all tables before them. So if
/// the view comes last, no program has made one of the others again since.
pub(super) fn seal_name(table: &TableDescriptor) -> String {
    format!("{}seal", prefix(table))
}

/// The definition of that view.
pub(super) fn create_seal(table: &TableDescriptor) -> String {
    let name = quoted_if_needed(&seal_name(table));
    format!("CREATE VIEW {name} AS SELECT 1")
}

/// The names and the definitions of the triggers.
pub(super) fn of(table: &TableDescriptor) -> Vec<(String, String)> {
    let names = Names::new(table);
    let (on, prefix) = (quoted_if_needed(&table.name), prefix(table));
    let notes = quoted_if_needed(&notes_name(table));
    let note = |values: &str| format!("INSERT INTO {notes} {values} ON CONFLICT DO NOTHING;");
    let inserted = note("VALUES (NEW.rowid, NULL)");
    let changed = note("VALUES (OLD.rowid, OLD.p)");
    let moved = note("SELECT NEW.rowid, NULL WHERE NEW.rowid <> OLD.rowid");
    // No other trigger runs for rows that a REPLACE deletes.
    let same: Vec<String> = names
        .key_columns
        .iter()
        .map(|c| format!("{c} = NEW.{c}"))
        .collect();
    let replaced = note(&format!(
        "SELECT rowid, p FROM {on} WHERE rowid = NEW.rowid OR ({})",
        same.join(" AND ")
    ));
    let triggers = [
        ("inserted", "AFTER INSERT", inserted),
        ("updated", "AFTER UPDATE", format!("{changed} {moved}")),
        ("deleted", "AFTER DELETE", changed.clone()),
        ("replaces", "BEFORE INSERT", replaced.clone()),
        ("moves", "BEFORE UPDATE", replaced),
    ];
    let trigger = |(kind, when, body): (&str, &str, String)| {
        let name = format!("{prefix}{kind}");
        let sql = format!(
            "CREATE TRIGGER {} {when} ON {on} BEGIN {body} END",
            quoted_if_needed(&name)
        );
        (name, sql)
    };
    triggers.into_iter().map(trigger).collect()
}
