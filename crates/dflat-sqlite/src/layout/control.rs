//! The statements that are not about one table.

/// A statement that is not about one table.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ControlStatement {
    Begin,
    BeginImmediate,
    Commit,
    Rollback,
    Savepoint,
    RollbackToSavepoint,
    ReleaseSavepoint,
    /// The tables whose names begin with a text.
    FindTables,
    /// Makes the table that says what the newest code knows.
    CreateSchemas,
    FindSchema,
    PutSchema,
    /// Makes the table of the rows that others have written.
    CreateForeign,
    FindForeign,
    ForgetForeign,
    ForgetAllForeign,
    /// The triggers whose names begin with a text.
    FindTriggers,
    /// Counts the changes of the file's schema.
    SchemaVersion,
    /// Reads, so that a transaction that has begun stands on the state of this moment.
    Touch,
    /// Whether a table or view has a name.
    FindTable,
    /// Whether objects of the table of a name are not stored in it: it is virtual, or a column of
    /// ours is a generated one.
    FindComputed,
    /// Whether the table of a name has an index of its own making that is unique.
    FindUnique,
    /// The definition of the index of a name.
    FindIndex,
    /// The definition of a table, and those of its indexes that have one.
    FindDefinitions,
    /// How many pages nothing uses.
    FreePages,
    /// How many pages there are.
    Pages,
}

impl ControlStatement {
    /// How many there are.
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
            Self::FreePages => "PRAGMA freelist_count",
            Self::Pages => "PRAGMA page_count",
            Self::FindTables => {
                "SELECT CAST(name AS BLOB), CAST(sql AS BLOB) FROM sqlite_schema \
                 WHERE type = 'table' AND substr(name, 1, length(?)) = ?"
            }
            Self::CreateSchemas => {
                "CREATE TABLE IF NOT EXISTS dflat__schema \
                 (name TEXT PRIMARY KEY, descriptor BLOB NOT NULL) WITHOUT ROWID"
            }
            Self::FindSchema => "SELECT descriptor FROM dflat__schema WHERE name = ?",
            Self::PutSchema => {
                "INSERT INTO dflat__schema (name, descriptor) VALUES (?, ?) \
                 ON CONFLICT (name) DO UPDATE SET descriptor = excluded.descriptor"
            }
            Self::CreateForeign => {
                "CREATE TABLE IF NOT EXISTS dflat__foreign \
                 (name TEXT NOT NULL, row_id INTEGER NOT NULL, PRIMARY KEY (name, row_id)) \
                 WITHOUT ROWID"
            }
            Self::FindForeign => "SELECT row_id FROM dflat__foreign WHERE name = ? ORDER BY row_id",
            Self::ForgetForeign => "DELETE FROM dflat__foreign WHERE name = ? AND row_id = ?",
            Self::ForgetAllForeign => "DELETE FROM dflat__foreign WHERE name = ?",
            Self::FindTriggers => {
                "SELECT CAST(name AS BLOB), CAST(tbl_name AS BLOB), CAST(sql AS BLOB) \
                 FROM sqlite_schema WHERE type = 'trigger' \
                 AND substr(name, 1, length(?)) = ?"
            }
            Self::SchemaVersion => "PRAGMA schema_version",
            Self::Touch => "SELECT 1 FROM sqlite_schema LIMIT 1",
            Self::FindTable => {
                "SELECT 1 FROM sqlite_schema \
                 WHERE name = ? COLLATE NOCASE AND type IN ('table', 'view')"
            }
            Self::FindComputed => {
                "SELECT 1 FROM sqlite_schema AS found WHERE name = ? COLLATE NOCASE \
                 AND type = 'table' AND (rootpage = 0 OR EXISTS \
                 (SELECT 1 FROM pragma_table_xinfo(found.name) WHERE hidden <> 0 \
                 AND (lower(name) IN ('rowid', 'p') OR substr(lower(name), 1, 4) = '__pk')))"
            }
            Self::FindUnique => {
                "SELECT 1 FROM pragma_index_list(?) WHERE \"unique\" AND origin = 'c'"
            }
            Self::FindDefinitions => {
                "SELECT CAST(sql AS BLOB) FROM sqlite_schema WHERE tbl_name = ? COLLATE NOCASE \
                 AND type IN ('table', 'index') AND sql NOT NULL"
            }
            Self::FindIndex => {
                "SELECT CAST(sql AS BLOB) FROM sqlite_schema \
                 WHERE name = ? COLLATE NOCASE AND type = 'index'"
            }
        }
    }
}
