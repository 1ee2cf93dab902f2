//! The library's own tables in the schema.

use super::Schema;
use super::readable::create_function;

/// The version of the layout that this code writes.
const FORMAT: i32 = 1;

/// The statements on the library's own tables, with the names of a schema.
pub(crate) struct Control {
    /// Finds out whether the tables exist.
    pub(crate) exists: String,
    /// Creates the tables that are missing.
    pub(crate) create: String,
    /// Waits for the other writers.
    pub(crate) lock: String,
    /// Reads the state.
    pub(crate) state: String,
    /// Reads a table and its indexes.
    pub(crate) table: String,
    /// Adds records.
    pub(crate) append: String,
    /// Commits: takes the last records, new row ids and the new state.
    pub(crate) commit: String,
    /// Asks for the outcome of a commit.
    pub(crate) outcome: String,
    /// Reads the records between two states, the latest first.
    pub(crate) records: String,
    /// Deletes the oldest records until the given number of bytes is left.
    pub(crate) prune: String,
    /// Adds a table.
    pub(crate) add_table: String,
    /// Stores the descriptor of a table.
    pub(crate) store: String,
    /// Takes the number of a new index.
    pub(crate) number: String,
    /// Adds an index.
    pub(crate) add_index: String,
    /// Removes an index.
    pub(crate) remove_index: String,
    /// Notes how far an index is built.
    pub(crate) built: String,
    /// Notes that a unique index has equal values.
    pub(crate) admit: String,
    /// Reads the id of the file, which is chosen by the first call.
    pub(crate) file_id: String,
}

impl Control {
    pub(crate) fn new(schema: &Schema) -> Self {
        let name = |table: &str| schema.relation(&format!("dflat__{table}"));
        let (writer, control, log) = (name("writer"), name("control"), name("log"));
        let (tables, indexes) = (name("tables"), name("indexes"));
        Self {
            exists: "SELECT EXISTS (SELECT FROM pg_catalog.pg_class c \
                     JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
                     WHERE n.nspname = $1::text AND c.relname = 'dflat__control')"
                .to_owned(),
            create: create(schema),
            lock: format!("LOCK TABLE {writer} IN EXCLUSIVE MODE"),
            state: state(&control),
            table: format!(
                "SELECT t.relation, t.last_row_id, t.descriptor, i.relation, i.key, i.definition, \
                 i.is_unique, i.admits_equal, i.is_partial, i.built_to \
                 FROM {tables} t LEFT JOIN {indexes} i ON i.table_name = t.name \
                 WHERE t.name = $1::text"
            ),
            append: format!(
                "INSERT INTO {log} (id, engine, record) SELECT $1::bigint + n, $2::bigint, r \
                 FROM unnest($3::bytea[]) WITH ORDINALITY AS u(r, n)"
            ),
            outcome: format!(
                "SELECT pg_xact_status($1::text::xid8), EXISTS (SELECT FROM {log} \
                 WHERE id = $2::bigint AND engine = $3::bigint)"
            ),
            commit: format!(
                "WITH r AS (INSERT INTO {log} (id, engine, record) \
                 SELECT $1::bigint + n, $2::bigint, r \
                 FROM unnest($3::bytea[]) WITH ORDINALITY AS u(r, n)), \
                 t AS (UPDATE {tables} t SET last_row_id = u.last \
                 FROM unnest($4::text[], $5::bigint[]) AS u(name, last) WHERE t.name = u.name) \
                 UPDATE {control} SET last = $6::bigint, \
                 before = CASE WHEN engine = $2::bigint THEN before ELSE last END, \
                 engine = $2::bigint, log_bytes = log_bytes + $7::bigint"
            ),
            records: format!(
                "SELECT id, record, int8send(engine) FROM {log} \
                 WHERE id > $1::bigint AND id <= $2::bigint ORDER BY id DESC"
            ),
            prune: format!(
                "WITH kept AS (SELECT coalesce(min(id), 0) AS first, \
                 coalesce(sum(bytes), 0)::bigint AS bytes FROM \
                 (SELECT id, coalesce(length(record), 0) + 32 AS bytes, \
                 sum(coalesce(length(record), 0) + 32) OVER (ORDER BY id DESC) AS total FROM {log}) l \
                 WHERE total <= $1::bigint OR id = (SELECT max(id) FROM {log})), \
                 d AS (DELETE FROM {log} USING kept WHERE id < kept.first) \
                 UPDATE {control} SET pruned = greatest(pruned, kept.first - 1), \
                 log_bytes = kept.bytes FROM kept"
            ),
            add_table: format!(
                "INSERT INTO {tables} (name, relation) VALUES ($1::text, $2::text) \
                 ON CONFLICT (name) DO UPDATE SET relation = excluded.relation"
            ),
            store: format!(
                "INSERT INTO {tables} (name, descriptor) VALUES ($1::text, $2::bytea) \
                 ON CONFLICT (name) DO UPDATE SET descriptor = excluded.descriptor"
            ),
            number: format!("UPDATE {control} SET numbers = numbers + 1 RETURNING numbers"),
            add_index: format!(
                "INSERT INTO {indexes} (relation, table_name, key, definition, is_unique, \
                 is_partial, built_to) VALUES ($1::text, $2::text, $3::text, $4::bigint, \
                 $5::boolean, $6::boolean, $7::bigint)"
            ),
            remove_index: format!("DELETE FROM {indexes} WHERE relation = $1::text"),
            built: format!("UPDATE {indexes} SET built_to = $2::bigint WHERE relation = $1::text"),
            admit: format!("UPDATE {indexes} SET admits_equal = true WHERE relation = $1::text"),
            file_id: format!(
                "UPDATE {control} SET file_id = coalesce(file_id, $1::bytea) RETURNING file_id"
            ),
        }
    }
}

/// Reads the state. The number of the table tells whether the table was made again.
fn state(control: &str) -> String {
    format!("SELECT last, engine, before, pruned, log_bytes, format, tableoid FROM {control}")
}

/// The statements that create the library's own tables, in a transaction of their own.
fn create(schema: &Schema) -> String {
    let name = |table: &str| schema.relation(&format!("dflat__{table}"));
    // Two programs that create the same schema at the same time would fail; the first one waits.
    let key = blake3::hash(schema.name().as_bytes());
    let key = key
        .as_bytes()
        .first_chunk()
        .map_or(0, |bytes| i64::from_le_bytes(*bytes));
    format!(
        "BEGIN; SELECT pg_advisory_xact_lock({key}); \
         CREATE SCHEMA IF NOT EXISTS {quoted}; \
         CREATE TABLE IF NOT EXISTS {writer} (); \
         CREATE TABLE IF NOT EXISTS {tables} (name text PRIMARY KEY, relation text, \
         last_row_id bigint NOT NULL DEFAULT 0, descriptor bytea); \
         CREATE TABLE IF NOT EXISTS {indexes} (relation text PRIMARY KEY, \
         table_name text NOT NULL, key text NOT NULL, definition bigint NOT NULL, \
         is_unique boolean NOT NULL, admits_equal boolean NOT NULL DEFAULT false, \
         is_partial boolean NOT NULL, built_to bigint, UNIQUE (table_name, key)); \
         CREATE TABLE IF NOT EXISTS {log} (id bigint PRIMARY KEY, engine bigint NOT NULL, \
         at timestamptz NOT NULL DEFAULT now(), record bytea); \
         CREATE OR REPLACE FUNCTION {refuse}() RETURNS trigger LANGUAGE plpgsql AS $f$ BEGIN \
         RAISE EXCEPTION 'the tables of Dflat are written by Dflat alone' \
         USING HINT = 'indexes and live queries would miss this change'; END $f$; \
         {readable}; \
         CREATE TABLE IF NOT EXISTS {control} (id integer PRIMARY KEY CHECK (id = 1), \
         format integer NOT NULL, last bigint NOT NULL, engine bigint NOT NULL, \
         before bigint NOT NULL, pruned bigint NOT NULL, log_bytes bigint NOT NULL, \
         numbers bigint NOT NULL, file_id bytea) WITH (fillfactor = 20); \
         INSERT INTO {control} VALUES (1, {FORMAT}, 0, 0, 0, 0, 0, 0, NULL) \
         ON CONFLICT DO NOTHING; COMMIT",
        quoted = schema.quoted(),
        writer = name("writer"),
        tables = name("tables"),
        indexes = name("indexes"),
        log = name("log"),
        control = name("control"),
        refuse = name("refuse"),
        readable = create_function(schema),
    )
}

/// Whether this code can write tables of a format.
pub(super) const fn is_known_format(format: i32) -> bool {
    format == FORMAT
}
