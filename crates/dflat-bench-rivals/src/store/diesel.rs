//! diesel on SQLite.
//!
//! As its guides say: `table!` and derived structs, a connection for each thread, and
//! `immediate_transaction` for transactions that write. Rows are inserted one by one: SQLite limits
//! the variables of a statement, and diesel caches the statement of one row, while it prepares a
//! statement of many rows anew.

use std::ops::Range;
use std::path::{Path, PathBuf};

use diesel::connection::SimpleConnection;
use diesel::prelude::*;

use super::{Held, Session, Store, connect, create_tables, missing};
use crate::Result;
use crate::record::{Change, Digest, Record, Shape};

pub(super) fn open(folder: &Path, shape: Shape) -> Result<Box<dyn Store>> {
    let path = folder.join("diesel.db");
    // diesel's migrations would run the same statements.
    create_tables(&connect(&path)?, shape)?;
    let first = std::sync::Mutex::new(establish(&path)?);
    Ok(Box::new(Diesel {
        path,
        _first: first,
    }))
}

fn establish(path: &Path) -> Result<SqliteConnection> {
    let path = path.to_str().ok_or("the path is not UTF-8")?;
    let mut connection = SqliteConnection::establish(path)?;
    connection.batch_execute(
        "PRAGMA busy_timeout = 60000; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;",
    )?;
    Ok(connection)
}

struct Diesel {
    path: PathBuf,
    // Open as long as the store is, as a pool of connections would be.
    _first: std::sync::Mutex<SqliteConnection>,
}

impl Store for Diesel {
    fn session(&self, table: usize) -> Result<Box<dyn Session + '_>> {
        let connection = establish(&self.path)?;
        Ok(match table {
            0 => Box::new(first::Opened(connection)),
            1 => Box::new(second::Opened(connection)),
            2 => Box::new(third::Opened(connection)),
            _ => Box::new(fourth::Opened(connection)),
        })
    }
}

macro_rules! table {
    ($module:ident, $name:ident) => {
        mod $module {
            use super::*;

            diesel::table! {
                $name (id) {
                    id -> BigInt,
                    title -> Text,
                    priority -> Integer,
                    rank -> Integer,
                    tag -> Text,
                    code -> BigInt,
                    text -> Text,
                }
            }

            #[derive(Insertable)]
            #[diesel(table_name = $name)]
            struct New<'a> {
                title: &'a str,
                priority: i32,
                rank: i32,
                tag: &'a str,
                code: i64,
                text: &'a str,
            }

            #[derive(Queryable, Selectable)]
            #[diesel(table_name = $name)]
            struct Object {
                title: String,
                priority: i32,
                rank: i32,
                tag: String,
                code: i64,
                text: String,
            }

            impl Held for Vec<Object> {
                fn digest(&self) -> Digest {
                    let mut digest = Digest::default();
                    for object in self {
                        let numbers = [object.priority.into(), object.rank.into(), object.code];
                        digest.add(&object.title, numbers, [&object.tag, &object.text]);
                    }
                    digest
                }
            }

            /// The columns that an update computes from.
            type Numbers = (i64, i32, i32, String, i64);

            pub(super) struct Opened(pub(super) SqliteConnection);

            impl Opened {
                fn update(&mut self, key: Option<&str>, change: Change) -> Result<()> {
                    use $name::dsl;
                    self.0.immediate_transaction(|connection| {
                        let columns = (dsl::id, dsl::priority, dsl::rank, dsl::tag, dsl::code);
                        let found: Vec<Numbers> = match key {
                            Some(key) => {
                                let one = dsl::$name.filter(dsl::title.eq(key));
                                one.select(columns).load(connection)?
                            }
                            None => dsl::$name.select(columns).load(connection)?,
                        };
                        if let (Some(key), true) = (key, found.is_empty()) {
                            return Err(missing(key).into());
                        }
                        for (id, priority, rank, tag, code) in found {
                            let row = diesel::update(dsl::$name.find(id));
                            let rank = dsl::rank.eq(change.rank(rank));
                            match change {
                                Change::Priority => row
                                    .set(dsl::priority.eq(change.priority(priority)))
                                    .execute(connection)?,
                                Change::Indexed { all: false, .. } => {
                                    row.set(rank).execute(connection)?
                                }
                                Change::Indexed { .. } => {
                                    let tag = dsl::tag.eq(change.tag(&tag));
                                    let code = dsl::code.eq(change.code(code));
                                    row.set((rank, tag, code)).execute(connection)?
                                }
                            };
                        }
                        Ok(())
                    })
                }
            }

            impl Session for Opened {
                fn insert(&mut self, records: &[Record]) -> Result<()> {
                    self.0.immediate_transaction(|connection| {
                        for record in records {
                            let new = New {
                                title: &record.title,
                                priority: record.priority,
                                rank: record.rank,
                                tag: &record.tag,
                                code: record.code,
                                text: &record.text,
                            };
                            diesel::insert_into($name::table)
                                .values(&new)
                                .execute(connection)?;
                        }
                        Ok(())
                    })
                }

                fn scan(&mut self, below: i32) -> Result<Box<dyn Held>> {
                    let found = $name::table.filter($name::priority.lt(below));
                    let found = found.select(Object::as_select()).load(&mut self.0)?;
                    Ok(Box::new(found))
                }

                fn by_rank(&mut self, ranks: Range<i32>) -> Result<Box<dyn Held>> {
                    let rank = $name::rank;
                    let found = $name::table
                        .filter(rank.ge(ranks.start).and(rank.lt(ranks.end)))
                        .select(Object::as_select())
                        .load(&mut self.0)?;
                    Ok(Box::new(found))
                }

                fn fetch_all(&mut self) -> Result<Box<dyn Held>> {
                    let all = $name::table.select(Object::as_select()).load(&mut self.0)?;
                    Ok(Box::new(all))
                }

                fn get(&mut self, key: &str) -> Result<Digest> {
                    let found = $name::table.filter($name::title.eq(key));
                    let found: Vec<Object> = found.select(Object::as_select()).load(&mut self.0)?;
                    Ok(found.digest())
                }

                fn update_all(&mut self, change: Change) -> Result<()> {
                    self.update(None, change)
                }

                fn update_one(&mut self, key: &str, change: Change) -> Result<()> {
                    self.update(Some(key), change)
                }

                fn delete(&mut self, keys: &[String]) -> Result<()> {
                    self.0.immediate_transaction(|connection| {
                        for key in keys {
                            let one = $name::table.filter($name::title.eq(key));
                            diesel::delete(one).execute(connection)?;
                        }
                        Ok(())
                    })
                }
            }
        }
    };
}

table!(first, record0);
table!(second, record1);
table!(third, record2);
table!(fourth, record3);
