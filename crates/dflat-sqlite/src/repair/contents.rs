//! The contents of a file: its pages, and the tables of objects, also those without a description.

use std::ops::ControlFlow;

use dflat_engine::Result;

use crate::backend::SqliteBackend;
use crate::connection::configure::integer;
use crate::ffi::Param;
use crate::layout::control::ControlStatement;
use dflat_model::{ColumnType, ValueRef};

/// The number of columns that are read. A file with more was not written by this library.
const COLUMNS_MAX: i64 = 65_536;

/// The pages of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FilePages {
    /// The size of a page, in bytes.
    pub page_bytes: u64,
    /// The number of pages, unused ones included.
    pub pages: u64,
    /// The number of unused pages.
    pub free_pages: u64,
    /// Whether unused pages can be given back one by one: the file has incremental vacuum.
    pub gives_back: bool,
}

/// A table of a file that has the columns of objects.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ObjectTable {
    /// The name.
    pub name: String,
    /// The declared types of the key's columns, in order; `None` for a type that the library does
    /// not declare.
    pub key: Vec<Option<ColumnType>>,
}

impl SqliteBackend {
    /// The pages of the file; all zero if there is no file.
    ///
    /// # Errors
    /// The errors of reading.
    pub fn pages(&self) -> Result<FilePages> {
        let mut found = FilePages::default();
        self.inspect(|connection| {
            let raw = &mut connection.raw;
            let mut number =
                |sql: &str| Ok::<_, crate::ffi::SqliteError>(integer(raw, sql)?.unsigned_abs());
            found = FilePages {
                page_bytes: number("PRAGMA page_size")?,
                pages: number("PRAGMA page_count")?,
                free_pages: number("PRAGMA freelist_count")?,
                gives_back: number("PRAGMA auto_vacuum")? == 2,
            };
            Ok(0)
        })?;
        Ok(found)
    }

    /// The tables with a key and a payload, in order of name, also those of other programs.
    /// Tables of the library itself, whose names begin with `dflat__`, are left out.
    ///
    /// # Errors
    /// The errors of reading.
    pub fn object_tables(&self) -> Result<Vec<ObjectTable>> {
        let mut found: Vec<ObjectTable> = Vec::new();
        self.inspect(|connection| {
            let statement = connection.control_statement(ControlStatement::ReadColumns)?;
            let limit = [Param::Value(ValueRef::Int(COLUMNS_MAX))];
            connection.raw.query(statement, limit, |row| {
                let text = |bytes: Option<&[u8]>| {
                    let text = bytes.and_then(|bytes| str::from_utf8(bytes).ok());
                    text.unwrap_or_default().to_owned()
                };
                let (name, ty) = (text(row.blob(0)?), text(row.blob(1)?));
                let column = ColumnType::ALL
                    .into_iter()
                    .find(|column| column.sql_name() == ty);
                match found.last_mut() {
                    Some(table) if table.name == name => table.key.push(column),
                    _ => found.push(ObjectTable {
                        name,
                        key: vec![column],
                    }),
                }
                Ok(ControlFlow::Continue(()))
            })?;
            Ok(0)
        })?;
        Ok(found)
    }
}
