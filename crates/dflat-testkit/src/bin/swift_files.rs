//! Copies and compares the files of the tests of the Swift package, by the typed interface of Rust
//! and by plain SQL.
#![allow(clippy::print_stdout, reason = "a program for people at a terminal")]

use std::error::Error;
use std::fmt::Debug;
use std::process::ExitCode;

use dflat::{ChangeRequest, Object, Workspace};
use rusqlite::{Connection, OpenFlags};

const HELP: &str = "\
The files of the tests of the Swift package: those with the types of schemas/bench_doc.fbs,
schemas/monster.fbs and schemas/dict.fbs.

Usage: swift_files copy FROM TO
       swift_files compare ONE OTHER

copy     reads each object of a file, and creates it in a new file, with the same values and in the
         same order.
compare  fails unless both files have equal objects in the same order, and equal columns in each
         table: keys, and the rows of indexes by the positions of their objects.
";

type Result<T> = std::result::Result<T, Box<dyn Error>>;

#[allow(missing_docs, unreachable_pub, clippy::use_self, reason = "generated")]
mod bench {
    include!(concat!(env!("OUT_DIR"), "/bench_doc.rs"));
}

#[allow(missing_docs, unreachable_pub, clippy::use_self, reason = "generated")]
mod monsters {
    include!(concat!(env!("OUT_DIR"), "/monster.rs"));
}

#[allow(missing_docs, unreachable_pub, clippy::use_self, reason = "generated")]
mod dictionary {
    include!(concat!(env!("OUT_DIR"), "/dict.rs"));
}

use bench::BenchDoc;
use dictionary::DictItem;
use monsters::my_game::sample::Monster;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = match words[..] {
        ["copy", from, to] => copy(from, to),
        ["compare", one, other] => compare(one, other),
        _ => {
            print!("{HELP}");
            return ExitCode::from(u8::from(words != ["--help"]));
        }
    };
    match outcome {
        Ok(count) => {
            println!("{count} objects");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Copies a file, and returns the number of its objects.
fn copy(from: &str, to: &str) -> Result<usize> {
    let (from, to) = (Workspace::open(from)?, Workspace::open(to)?);
    let count = copy_type::<BenchDoc>(&from, &to)?
        + copy_type::<Monster>(&from, &to)?
        + copy_type::<DictItem>(&from, &to)?;
    from.shutdown()?;
    to.shutdown()?;
    Ok(count)
}

fn copy_type<T: Object>(from: &Workspace, to: &Workspace) -> Result<usize>
where
    T::Data: Send,
{
    let data: Vec<T::Data> = from.fetch::<T>().all()?.iter().map(T::to_data).collect();
    let count = data.len();
    to.perform_changes([T::TABLE], move |tx| {
        for data in data {
            tx.submit(ChangeRequest::<T>::creation(data))?;
        }
        Ok(())
    })
    .wait()?;
    Ok(count)
}

/// Compares two files, and returns the number of their objects.
fn compare(one: &str, other: &str) -> Result<usize> {
    let (left, right) = (Workspace::open(one)?, Workspace::open(other)?);
    let count = compare_type::<BenchDoc>(&left, &right)?
        + compare_type::<Monster>(&left, &right)?
        + compare_type::<DictItem>(&left, &right)?;
    left.shutdown()?;
    right.shutdown()?;
    compare_tables(one, other)?;
    Ok(count)
}

fn compare_type<T: Object>(left: &Workspace, right: &Workspace) -> Result<usize>
where
    T::Data: Debug + PartialEq,
{
    let name = &T::TABLE.type_name;
    let (left, right) = (left.fetch::<T>().all()?, right.fetch::<T>().all()?);
    if left.len() != right.len() {
        return Err(format!("{name}: {} and {} objects", left.len(), right.len()).into());
    }
    for (position, (one, other)) in left.iter().zip(right.iter()).enumerate() {
        let (one, other) = (one.to_data(), other.to_data());
        if one != other {
            return Err(format!("{name} {position}: {one:?} and {other:?}").into());
        }
    }
    Ok(left.len())
}

/// Compares the columns of all tables, except for row ids, which have gaps after deletions, and
/// payloads, whose values are compared as objects.
fn compare_tables(one: &str, other: &str) -> Result<()> {
    let open = |path: &str| Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY);
    let (one, other) = (open(one)?, open(other)?);
    let names = "SELECT name, sql FROM sqlite_schema WHERE type = 'table' \
                 AND name NOT LIKE 'dflat!_!_%' ESCAPE '!' AND name NOT LIKE 'sqlite!_%' ESCAPE '!' \
                 ORDER BY name";
    let (tables, others) = (rows(&one, names)?, rows(&other, names)?);
    if tables != others {
        return Err(format!("tables: {tables:?} and {others:?}").into());
    }
    for table in tables {
        let [table, ..] = &table[..] else { continue };
        let table = table.trim_matches('"');
        let columns = format!(
            "SELECT name FROM pragma_table_info('{table}') WHERE name NOT IN ('rowid', 'p')"
        );
        for column in rows(&one, &columns)?.concat() {
            let column = column.trim_matches('"');
            let values = format!(
                "SELECT row_number() OVER (ORDER BY rowid), {column}, typeof({column}) \
                 FROM {table} ORDER BY rowid"
            );
            let (values, others) = (rows(&one, &values)?, rows(&other, &values)?);
            if let Some((left, right)) = values.iter().zip(&others).find(|(a, b)| a != b) {
                return Err(format!("{table}.{column}: {left:?} and {right:?}").into());
            }
            if values.len() != others.len() {
                let (one, other) = (values.len(), others.len());
                return Err(format!("{table}.{column}: {one} and {other} rows").into());
            }
        }
    }
    Ok(())
}

fn rows(sql: &Connection, query: &str) -> Result<Vec<Vec<String>>> {
    let mut statement = sql.prepare(query)?;
    let columns = statement.column_count();
    let rows = statement.query_map([], |row| {
        (0..columns)
            .map(|at| row.get_ref(at).map(text_of))
            .collect::<rusqlite::Result<Vec<String>>>()
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// A value as text; a text in quotes, so that it differs from a number.
fn text_of(value: rusqlite::types::ValueRef<'_>) -> String {
    use rusqlite::types::ValueRef;
    match value {
        ValueRef::Text(text) => format!("{:?}", String::from_utf8_lossy(text)),
        other => format!("{other:?}"),
    }
}
