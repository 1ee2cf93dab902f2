//! The definitions of the tables that have objects and index entries.

use super::Schema;
use super::readable::create_view;

/// The statements that create the table of a type.
pub(crate) fn create_main(schema: &Schema, name: &str) -> String {
    let relation = schema.relation(name);
    format!(
        "CREATE TABLE {relation} (rowid bigint PRIMARY KEY, key bytea NOT NULL, \
         tie bytea NOT NULL, rest bytea, p bytea NOT NULL, UNIQUE (key, tie)); {}; {}",
        refusal(schema, &relation),
        create_view(schema, name),
    )
}

/// The statements that create the table of an index.
pub(crate) fn create_index(schema: &Schema, name: &str) -> String {
    let relation = schema.relation(name);
    format!(
        "CREATE TABLE {relation} (rowid bigint PRIMARY KEY, key bytea NOT NULL, rest bytea); \
         CREATE INDEX ON {relation} (key, rowid); {}",
        refusal(schema, &relation),
    )
}

/// The trigger that refuses the writes of other programs, which would leave indexes and other
/// engines behind.
fn refusal(schema: &Schema, relation: &str) -> String {
    let function = schema.relation("dflat__refuse");
    format!(
        "CREATE TRIGGER dflat__refuse BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE \
         ON {relation} FOR EACH STATEMENT \
         WHEN (current_setting('dflat.writing', true) IS DISTINCT FROM 'on') \
         EXECUTE FUNCTION {function}()"
    )
}
