//! Facts about the database, for programs without a schema.

use dflat_engine::Result;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::backend::PostgresBackend;
use crate::database::Database;
use crate::failure::failed;

/// The bytes of all tables and indexes of a schema.
const SIZE: &str = "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint \
     FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
     WHERE n.nspname = $1::text AND c.relkind = 'r'";

impl PostgresBackend {
    /// The stored descriptor of each table that has one, by the name of the table, in order of the
    /// names. Each is untrusted bytes. There are none before the first change.
    ///
    /// # Errors
    /// The errors of connecting and reading.
    pub fn stored_descriptors(&self) -> Result<Vec<(String, Vec<u8>)>> {
        let database = self.database();
        if !database.known().exists && !database.find_own_tables()? {
            return Ok(Vec::new());
        }
        let tables = database.schema().relation("dflat__tables");
        let statement = format!(
            "SELECT name, descriptor FROM {tables} WHERE descriptor IS NOT NULL ORDER BY name"
        );
        let rows = query(database, &statement, &[])?;
        let read = rows
            .iter()
            .map(|row| Ok((row.try_get(0)?, row.try_get(1)?)));
        let read: std::result::Result<_, tokio_postgres::Error> = read.collect();
        read.map_err(|error| failed("read the stored types", error))
    }

    /// The bytes of the schema on the server, with its indexes; 0 before the first change.
    ///
    /// # Errors
    /// As [`stored_descriptors`](Self::stored_descriptors).
    pub fn size_bytes(&self) -> Result<u64> {
        let database = self.database();
        let rows = query(database, SIZE, &[&database.schema().name()])?;
        let bytes = rows.first().map(|row| row.try_get::<_, i64>(0));
        let bytes = bytes.transpose();
        let bytes = bytes.map_err(|error| failed("read the size", error))?;
        Ok(bytes.unwrap_or_default().unsigned_abs())
    }
}

fn query(database: &Database, statement: &str, values: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>> {
    let mut connection = database.pool().take()?;
    let rows = connection.get()?.query(statement, values);
    rows.map_err(|error| failed("read", error))
}
