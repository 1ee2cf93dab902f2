//! Random workloads on every backend.

use dflat::Workspace;
use dflat_testkit::fixture::Fixture;
use dflat_testkit::random::Random;
use dflat_testkit::schema::Sample;
use dflat_testkit::workload::run;
use rusqlite::Connection;

// Promise: live-queries#L4, live-queries#L8
#[test]
fn random_work_in_memory_agrees_with_the_model() {
    run(Fixture::memory, |_, _| {});
}

// Promise: live-queries#L4
#[test]
fn random_work_on_a_file_agrees_with_the_model() {
    run(Fixture::sqlite, |_, _| {});
}

#[test]
fn random_work_agrees_with_the_model_while_indexes_vanish() {
    run(Fixture::sqlite, lose_indexes);
}

/// Drops an index's table, or its last rows, as another program may. One that is unique is built
/// again at once: until it is ready, it refuses nothing.
fn lose_indexes(workspace: &Fixture, random: &mut Random) {
    if !random.one_in(3) {
        return;
    }
    let sql = Connection::open(workspace.path().unwrap()).unwrap();
    let query = "SELECT name FROM sqlite_schema WHERE type = 'table' AND \
                 (name LIKE 'sample!_!_%' ESCAPE '!' OR name LIKE 'dflat!_!_sample!_!_%' ESCAPE '!')";
    let mut statement = sql.prepare(query).unwrap();
    let names = statement
        .query_map([], |row| row.get::<_, String>(0))
        .unwrap();
    let names: Vec<String> = names.map(Result::unwrap).collect();
    drop(statement);
    if names.is_empty() {
        return;
    }
    let name = random.pick(&names);
    let change = if random.one_in(2) {
        format!("DROP TABLE {name}")
    } else {
        format!("DELETE FROM {name} WHERE rowid > {}", random.below(20))
    };
    let unique = "SELECT count(*) FROM sqlite_schema WHERE name = ? AND sql LIKE 'CREATE UNIQUE%'";
    let index = format!("index__{name}");
    let is_unique: bool = sql.query_row(unique, [index], |row| row.get(0)).unwrap();
    sql.execute(&change, []).unwrap();
    if is_unique {
        workspace.build_indexes([Sample::TABLE]).unwrap();
        Workspace::settle(workspace).unwrap();
    }
}
