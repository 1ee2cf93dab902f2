//! The statements that do not belong to one table.

/// The definition of the change log.
pub(crate) const CHANGE_LOG: &str = "CREATE TABLE dflat__log (id INTEGER PRIMARY KEY AUTOINCREMENT, incarnation INTEGER NOT NULL, \
     commits INTEGER NOT NULL, digest INTEGER NOT NULL, salt INTEGER NOT NULL, \
     place INTEGER NOT NULL, record BLOB NOT NULL)";

/// The name of the change log.
pub(crate) const CHANGE_LOG_NAME: &str = "dflat__log";

/// The triggers of the change log. If another program deletes the last record or gives that record
/// another id, a row without a record gets a larger id, so that readers find the gap before it. An
/// `UPDATE OF id` would miss an update that calls the column `rowid`.
pub(crate) const CHANGE_LOG_TRIGGERS: [&str; 2] = [
    "CREATE TRIGGER dflat__log_deleted AFTER DELETE ON dflat__log \
     WHEN OLD.id > (SELECT coalesce(max(id), 0) FROM dflat__log) BEGIN \
     INSERT INTO dflat__log (incarnation, commits, digest, salt, place, record) \
     VALUES (0, -1, 0, 0, -1, x''); END",
    "CREATE TRIGGER dflat__log_moved AFTER UPDATE ON dflat__log \
     WHEN OLD.id > (SELECT coalesce(max(id), 0) FROM dflat__log) BEGIN \
     INSERT INTO dflat__log (incarnation, commits, digest, salt, place, record) \
     VALUES (0, -1, 0, 0, -1, x''); END",
];

const READ_SCHEMAS: &str = "SELECT CAST(name AS BLOB), descriptor FROM dflat__schema \
     WHERE length(descriptor) <= ? ORDER BY name LIMIT ?";

const READ_COLUMNS: &str = "SELECT CAST(found.name AS BLOB), CAST(keys.type AS BLOB) \
     FROM sqlite_schema AS found, pragma_table_info(found.name) AS keys \
     WHERE found.type = 'table' AND found.rootpage > 0 AND substr(found.name, 1, 7) <> 'dflat__' \
     AND substr(keys.name, 1, 4) = '__pk' \
     AND EXISTS (SELECT 1 FROM pragma_table_info(found.name) WHERE name = 'p') \
     ORDER BY found.name, keys.cid LIMIT ?";

const CREATE_SCHEMAS: &str = "CREATE TABLE IF NOT EXISTS dflat__schema \
     (name TEXT PRIMARY KEY, descriptor BLOB NOT NULL) WITHOUT ROWID";

const FIND_CHANGE_LOG: &str =
    "SELECT count(*) FROM sqlite_schema WHERE tbl_name = 'dflat__log' AND sql IN (?, ?, ?)";

/// The definition of the table that has the id of the file.
pub(crate) const FILE: &str = "CREATE TABLE dflat__file (id BLOB NOT NULL)";

const FIND_FILE: &str =
    "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'dflat__file' AND sql = ?";

/// The definition of the table that keeps the steps of the history.
pub(crate) const STEPS: &str = "CREATE TABLE IF NOT EXISTS dflat__steps \
     (id INTEGER PRIMARY KEY, note BLOB NOT NULL, record BLOB NOT NULL)";

/// The name of that table.
pub(crate) const STEPS_NAME: &str = "dflat__steps";

const STEPS_BELOW: &str = "SELECT id, note, record FROM dflat__steps WHERE id < ? ORDER BY id DESC";

const FIND_COMPUTED: &str = "SELECT 1 FROM sqlite_schema AS found WHERE name = ? COLLATE NOCASE \
      AND type = 'table' AND (rootpage = 0 OR EXISTS \
      (SELECT 1 FROM pragma_table_xinfo(found.name) WHERE hidden <> 0 \
      AND (lower(name) IN ('rowid', 'p') OR substr(lower(name), 1, 4) = '__pk')))";

const FIND_UNIQUE: &str = "SELECT 1 FROM pragma_index_list(?) WHERE \"unique\" AND origin = 'c'";

const CREATE_FOREIGN: &str = "CREATE TABLE IF NOT EXISTS dflat__foreign \
      (name TEXT NOT NULL, row_id INTEGER NOT NULL, PRIMARY KEY (name, row_id)) WITHOUT ROWID";

const FIND_TRIGGERS: &str = "SELECT CAST(name AS BLOB), CAST(tbl_name AS BLOB), CAST(sql AS BLOB) \
      FROM sqlite_schema WHERE type = 'trigger' \
      AND substr(name, 1, length(?)) = ?";

const FIND_NOTING: &str = "SELECT CAST(name AS BLOB), CAST(tbl_name AS BLOB), CAST(sql AS BLOB) \
      FROM sqlite_schema WHERE (type IN ('trigger', 'view') AND substr(name, 1, length(?)) = ?) \
      OR (type = 'table' AND name = ?) ORDER BY rowid";

const FIND_DEFINITIONS: &str = "SELECT CAST(sql AS BLOB) FROM sqlite_schema WHERE tbl_name = ? COLLATE NOCASE \
      AND type IN ('table', 'index') AND sql NOT NULL";

const APPEND_RECORD: &str = "INSERT INTO dflat__log (id, incarnation, commits, digest, salt, place, record) \
     VALUES (?, ?, ?, ?, ?, ?, ?)";

const DELETE_FIRST_RECORDS: &str = "DELETE FROM dflat__log WHERE id < (SELECT min(id) + 1024 FROM dflat__log) \
     AND id < (SELECT max(id) FROM dflat__log)";

const FIRST_RECORDS: &str = "SELECT id, record FROM dflat__log ORDER BY id LIMIT 1024";

const RESERVED_RECORD_ID: &str = "SELECT max(seq) FROM sqlite_sequence WHERE name = 'dflat__log'";

const LAST_RECORD_ID: &str = "SELECT coalesce((SELECT max(id) FROM dflat__log), \
     (SELECT max(seq) FROM sqlite_sequence WHERE name = 'dflat__log'))";

const RECORDS_BACKWARDS: &str = "SELECT id, incarnation, commits, digest, salt, place, typeof(record) = 'blob' \
     FROM dflat__log ORDER BY id DESC";

const RECORDS_BETWEEN: &str =
    "SELECT record FROM dflat__log WHERE id BETWEEN ? AND ? ORDER BY id DESC";

/// A statement that does not belong to one table.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ControlStatement {
    Begin,
    BeginImmediate,
    Commit,
    Rollback,
    Savepoint,
    RollbackToSavepoint,
    ReleaseSavepoint,
    /// Sets the row id after which the next row of a table is inserted.
    SetLastRowId,
    /// Finds the tables whose names begin with a text.
    FindTables,
    /// Creates the table that keeps the newest schema of each table.
    CreateSchemas,
    FindSchema,
    /// The schemas of all tables: their names and descriptors, up to a length and a number.
    ReadSchemas,
    PutSchema,
    /// The types of the key columns of all tables that have the columns of objects.
    ReadColumns,
    /// Counts these definitions of the table of the change log and its triggers.
    FindChangeLog,
    /// Creates the table of the change log.
    CreateChangeLog,
    DropChangeLog,
    /// Whether the table of the file's id has this definition.
    FindFile,
    /// Creates the table of the file's id.
    CreateFile,
    ReadFileId,
    PutFileId,
    EmptyChangeLog,
    /// Reads the bytes of all records.
    ChangeLogBytes,
    /// Deletes some of the first records, but not the last one.
    DeleteFirstRecords,
    /// Reads some of the first records.
    FirstRecords,
    /// Deletes the records up to an id.
    DeleteRecordsUpTo,
    AppendRecord,
    /// Reads the id up to which ids of records may have been used.
    ReservedRecordId,
    /// Sets the id up to which ids of records may have been used.
    RaiseRecordIds,
    /// Sets the same id in a file that has none yet.
    BeginRecordIds,
    /// Reads the id of the last record; without records, the id up to which ids may have been used.
    LastRecordId,
    /// Reads the rows of the change log from the last one backwards, without their records.
    RecordsBackwards,
    /// Reads the records between two ids, both included, from the last one backwards.
    RecordsBetween,
    /// Creates the table of steps.
    CreateSteps,
    AppendStep,
    ReplaceStep,
    DeleteStep,
    /// Reads the steps with smaller ids than one, from the last one backwards.
    StepsBelow,
    /// Creates the table of foreign rows.
    CreateForeign,
    FindForeign,
    ForgetForeign,
    ForgetAllForeign,
    /// Finds the triggers whose names begin with a text.
    FindTriggers,
    /// Finds the triggers and views whose names begin with a text, and a table, in the order in
    /// which they were made.
    FindNoting,
    /// Reads the number of changes of the file's schema.
    SchemaVersion,
    /// Reads something, so that a transaction that has begun sees the state of this moment.
    Touch,
    /// Whether a table or view has a name.
    FindTable,
    /// Whether the table of a name does not store its objects itself: the table is virtual, or one
    /// of the columns that this library uses is a generated one.
    FindComputed,
    /// Whether the table of a name has a unique index that a `CREATE INDEX` made.
    FindUnique,
    /// Finds the definition of the index of a name.
    FindIndex,
    /// Finds the definition of a table, and those of its indexes that have one.
    FindDefinitions,
    /// The number of unused pages.
    FreePages,
    /// The number of pages.
    Pages,
}

impl ControlStatement {
    /// The number of statements.
    pub(crate) const COUNT: usize = Self::Pages as usize + 1;

    pub(crate) const fn sql(self) -> &'static str {
        match self {
            Self::Begin => "BEGIN",
            Self::BeginImmediate => "BEGIN IMMEDIATE",
            Self::Commit => "COMMIT",
            Self::Rollback => "ROLLBACK",
            Self::Savepoint => "SAVEPOINT dflat_write",
            Self::RollbackToSavepoint => "ROLLBACK TO dflat_write",
            Self::ReleaseSavepoint => "RELEASE dflat_write",
            Self::SetLastRowId => "UPDATE sqlite_sequence SET seq = ? WHERE name = ?",
            Self::FreePages => "PRAGMA freelist_count",
            Self::Pages => "PRAGMA page_count",
            Self::FindTables => {
                "SELECT CAST(name AS BLOB), CAST(sql AS BLOB) FROM sqlite_schema \
                 WHERE type = 'table' AND substr(name, 1, length(?)) = ?"
            }
            Self::CreateSchemas => CREATE_SCHEMAS,
            Self::FindSchema => "SELECT descriptor FROM dflat__schema WHERE name = ?",
            Self::ReadSchemas => READ_SCHEMAS,
            Self::ReadColumns => READ_COLUMNS,
            Self::PutSchema => {
                "INSERT INTO dflat__schema (name, descriptor) VALUES (?, ?) \
                 ON CONFLICT (name) DO UPDATE SET descriptor = excluded.descriptor"
            }
            Self::FindChangeLog => FIND_CHANGE_LOG,
            Self::CreateChangeLog => CHANGE_LOG,
            Self::FindFile => FIND_FILE,
            Self::CreateFile => FILE,
            Self::ReadFileId => "SELECT id FROM dflat__file LIMIT 1",
            Self::PutFileId => "INSERT INTO dflat__file (id) VALUES (?)",
            Self::DropChangeLog => "DROP TABLE IF EXISTS dflat__log",
            Self::EmptyChangeLog => "DELETE FROM dflat__log",
            Self::ChangeLogBytes => "SELECT sum(length(record)) FROM dflat__log",
            Self::DeleteFirstRecords => DELETE_FIRST_RECORDS,
            Self::FirstRecords => FIRST_RECORDS,
            Self::DeleteRecordsUpTo => "DELETE FROM dflat__log WHERE id <= ?",
            Self::AppendRecord => APPEND_RECORD,
            Self::ReservedRecordId => RESERVED_RECORD_ID,
            Self::RaiseRecordIds => "UPDATE sqlite_sequence SET seq = ? WHERE name = 'dflat__log'",
            Self::BeginRecordIds => {
                "INSERT INTO sqlite_sequence (name, seq) VALUES ('dflat__log', ?)"
            }
            Self::LastRecordId => LAST_RECORD_ID,
            Self::RecordsBackwards => RECORDS_BACKWARDS,
            Self::RecordsBetween => RECORDS_BETWEEN,
            Self::CreateSteps => STEPS,
            Self::AppendStep => "INSERT INTO dflat__steps (note, record) VALUES (?, ?)",
            Self::ReplaceStep => "UPDATE dflat__steps SET record = ? WHERE id = ?",
            Self::DeleteStep => "DELETE FROM dflat__steps WHERE id = ?",
            Self::StepsBelow => STEPS_BELOW,
            Self::CreateForeign => CREATE_FOREIGN,
            Self::FindForeign => "SELECT row_id FROM dflat__foreign WHERE name = ? ORDER BY row_id",
            Self::ForgetForeign => "DELETE FROM dflat__foreign WHERE name = ? AND row_id = ?",
            Self::ForgetAllForeign => "DELETE FROM dflat__foreign WHERE name = ?",
            Self::FindTriggers => FIND_TRIGGERS,
            Self::FindNoting => FIND_NOTING,
            Self::SchemaVersion => "PRAGMA schema_version",
            Self::Touch => "SELECT 1 FROM sqlite_schema LIMIT 1",
            Self::FindTable => {
                "SELECT 1 FROM sqlite_schema \
                 WHERE name = ? COLLATE NOCASE AND type IN ('table', 'view')"
            }
            Self::FindComputed => FIND_COMPUTED,
            Self::FindUnique => FIND_UNIQUE,
            Self::FindDefinitions => FIND_DEFINITIONS,
            Self::FindIndex => {
                "SELECT CAST(sql AS BLOB) FROM sqlite_schema \
                 WHERE name = ? COLLATE NOCASE AND type = 'index'"
            }
        }
    }
}
