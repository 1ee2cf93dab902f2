//! Files that Dflat for Swift wrote: read, queried, changed, and read by plain SQL.

use dflat::{ChangeRequest, Object, Workspace};
use dflat_testkit::fixture::bounded;
use rusqlite::Connection;
use serde_json::Value;

use crate::files::original::bench::BenchDoc;
use crate::files::original::dictionary::{DictItem, DictItemRef, ValueType};
use crate::files::original::monsters::my_game::sample::{
    Color, Equipment, Monster, MonsterData, Orb,
};
use crate::files::original::{FILES, contents, copy, doc, monster};

/// Runs a check with a copy of each file.
fn each(check: fn(&Workspace, &std::path::Path)) {
    for file in FILES {
        bounded(move || {
            let directory = tempfile::tempdir().unwrap();
            let path = copy(file, directory.path());
            let workspace = Workspace::open(&path).unwrap();
            check(&workspace, &path);
            workspace.shutdown().unwrap();
        });
    }
}

fn rows(value: &Value) -> &Vec<Value> {
    value.as_array().unwrap()
}

// Promise: compatibility#P47
#[test]
fn documents_read_as_dflat_for_swift_read_them() {
    each(|workspace, _| {
        let contents = contents();
        let docs = workspace.fetch::<BenchDoc>().all().unwrap();
        assert_eq!(docs.len(), 300);
        for (found, expected) in docs.iter().zip(rows(&contents["docs"])) {
            assert_eq!(found.to_data(), doc(expected));
            assert_eq!(found.row_id().0, expected["rowid"].as_i64().unwrap());
            let title = found.title();
            assert_eq!(
                workspace.get::<BenchDoc>(title).unwrap().as_ref(),
                Some(found)
            );
        }
    });
}

// Promise: compatibility#P47
#[test]
fn monsters_read_as_dflat_for_swift_read_them() {
    each(|workspace, _| {
        let contents = contents();
        let monsters = workspace.fetch::<Monster>().all().unwrap();
        assert_eq!(monsters.len(), 190);
        for (found, expected) in monsters.iter().zip(rows(&contents["monsters"])) {
            let hp_old = found.hp_old();
            let expected_data = MonsterData {
                hp_old,
                ..monster(expected)
            };
            assert_eq!(found.to_data(), expected_data);
            assert_eq!(found.row_id().0, expected["rowid"].as_i64().unwrap());
            let key = (found.name(), found.color());
            assert_eq!(workspace.get::<Monster>(key).unwrap().as_ref(), Some(found));
        }
    });
}

// Promise: compatibility#P62
#[test]
fn dictionary_reads_as_dflat_for_swift_read_it() {
    each(|workspace, _| {
        let contents = contents();
        let item = |key| workspace.get::<DictItem>((key, "")).unwrap().unwrap();
        for (key, value) in contents["dictionary"].as_object().unwrap() {
            let item = item(key.as_str());
            let view: DictItemRef<'_> = Object::view(&item);
            match view.value_type() {
                ValueType::BoolValue => assert_eq!(value.as_bool(), Some(view.bool_value())),
                ValueType::LongValue => assert_eq!(value.as_i64(), Some(view.long_value())),
                ValueType::UnsignedLongValue => {
                    assert_eq!(value.as_u64(), Some(view.unsigned_long_value()));
                }
                ValueType::FloatValue => {
                    assert_eq!(value.as_f64(), Some(view.float_value().into()));
                }
                ValueType::DoubleValue => assert_eq!(value.as_f64(), Some(view.double_value())),
                ValueType::StringValue => assert_eq!(value.as_str(), view.string_value()),
                other => panic!("{key} is a {other:?}"),
            }
        }
        let kinds = ["settings", "content"].map(|key| item(key).value_type());
        assert_eq!(
            kinds,
            [ValueType::CodableValue, ValueType::FlatBuffersValue]
        );
        let settings: Vec<u8> = item("settings").codable().iter().collect();
        assert!(settings.starts_with(b"bplist00"));
        assert_eq!(workspace.fetch::<DictItem>().all().unwrap().len(), 8);
    });
}

#[test]
fn queries_find_what_dflat_for_swift_found() {
    each(|workspace, _| {
        let docs = |p| workspace.fetch::<BenchDoc>().filter(p).all().unwrap().len();
        assert_eq!(docs(BenchDoc::TAG.eq("high")), 33);
        assert_eq!(docs(BenchDoc::TAG.is_null()), 66);
        let contents = contents();
        let all: Vec<_> = rows(&contents["monsters"]).iter().map(monster).collect();
        check_monsters(workspace, &all);
    });
}

/// Checks queries that may use an index against the objects themselves.
fn check_monsters(workspace: &Workspace, all: &[MonsterData]) {
    let monsters = |p| {
        let found = workspace.fetch::<Monster>().filter(p).all().unwrap();
        found
            .iter()
            .map(|m| (m.name().to_owned(), m.color()))
            .collect::<Vec<_>>()
    };
    let expected = |p: &dyn Fn(&MonsterData) -> bool| {
        let found = all.iter().filter(|m| p(m));
        found.map(|m| (m.name.clone(), m.color)).collect::<Vec<_>>()
    };
    let orb = |m: &MonsterData| match &m.equipped {
        Some(Equipment::Orb(orb)) => Some(orb.clone()),
        _ => None,
    };
    assert_eq!(monsters(Monster::MANA.gt(300)), expected(&|m| m.mana > 300));
    assert_eq!(
        monsters(Monster::MANA.eq(150)),
        expected(&|m| m.mana == 150)
    );
    let holds = Monster::EQUIPPED.matches::<Orb>();
    assert_eq!(monsters(holds), expected(&|m| orb(m).is_some()));
    assert_eq!(
        monsters(Monster::EQUIPPED.tag().eq(0)),
        expected(&|m| m.equipped.is_none())
    );
    let name = || Monster::EQUIPPED.as_::<Orb>().name();
    assert_eq!(monsters(name().is_null()), expected(&|m| orb(m).is_none()));
    for wanted in all.iter().filter_map(orb) {
        let wanted = wanted.name.unwrap();
        assert_eq!(monsters(name().eq(&wanted)).len(), 1, "{wanted}");
    }
}

#[test]
fn counts_equal_those_of_dflat_for_swift() {
    each(|workspace, _| {
        let monsters = |p| workspace.fetch::<Monster>().filter(p).all().unwrap().len();
        assert_eq!(monsters(Monster::MANA.gt(300)), 49);
        assert_eq!(monsters(Monster::EQUIPPED.matches::<Orb>()), 64);
    });
}

// Promise: compatibility#P51
#[test]
fn file_of_dflat_for_swift_changed_by_this_library_is_read_back() {
    each(|workspace, path| {
        let mut expected: Vec<MonsterData> =
            rows(&contents()["monsters"]).iter().map(monster).collect();
        let orb = |name: &str| {
            Some(Equipment::Orb(Orb {
                name: Some(name.into()),
                color: Color::Red,
            }))
        };
        let new = MonsterData {
            name: "ours".into(),
            mana: 301,
            equipped: orb("a new orb"),
            path: vec![Default::default(); 3],
            ..MonsterData::default()
        };
        expected[0].mana = 999;
        expected[1].equipped = orb("another orb");
        let (first, second) = (expected[0].clone(), expected[1].clone());
        let last = expected.pop().unwrap();
        expected.push(new.clone());
        workspace
            .perform_changes([Monster::TABLE], move |tx| {
                let find = |data: &MonsterData| tx.get::<Monster>((&data.name, data.color));
                for data in [first, second] {
                    let object = find(&data)?.unwrap();
                    let mut change = ChangeRequest::change(tx, &object)?.unwrap();
                    (change.mana, change.equipped) = (data.mana, data.equipped);
                    tx.submit::<Monster>(change)?;
                }
                let gone = find(&last)?.unwrap();
                tx.submit(ChangeRequest::<Monster>::deletion(tx, &gone)?.unwrap())?;
                tx.submit(ChangeRequest::<Monster>::creation(new))
            })
            .wait()
            .unwrap();
        let found = workspace.fetch::<Monster>().all().unwrap();
        let ids = found.iter().map(|m| (m.name().to_owned(), m.color()));
        assert!(ids.eq(expected.iter().map(|m| (m.name.clone(), m.color))));
        assert_eq!(found.last().unwrap().row_id().0, 201);
        check_monsters(workspace, &expected);
        // Indexes that Dflat for Swift made are built anew after the first write.
        workspace.indexes_ready().wait().unwrap();
        let fetch = workspace.fetch::<Monster>().filter(Monster::MANA.gt(300));
        let plan = fetch.explain().unwrap().to_string();
        assert!(plan.contains("index on mana"), "{plan}");
        check_monsters(workspace, &expected);
        check_by_sql(path);
    });
}

/// Checks with plain SQL that each row has its index rows, with the right values.
fn check_by_sql(path: &std::path::Path) {
    let sql = Connection::open(path).unwrap();
    let one = |text: &str| -> i64 { sql.query_row(text, [], |row| row.get(0)).unwrap() };
    let table = "mygame__sample__monster_v1_1";
    assert_eq!(one(&format!("SELECT COUNT(*) FROM {table}")), 190);
    for index in ["f6", "f26__type", "f26__u2__f4"] {
        let both = format!("{table} INNER JOIN {table}__{index} USING (rowid)");
        assert_eq!(one(&format!("SELECT COUNT(*) FROM {both}")), 190, "{index}");
        assert_eq!(
            one(&format!("SELECT COUNT(*) FROM {table}__{index}")),
            190,
            "{index}"
        );
    }
    let mana =
        format!("SELECT f6 FROM {table}__f6 JOIN {table} USING (rowid) WHERE __pk0 = 'ours'");
    assert_eq!(one(&mana), 301);
    let orbs = format!("SELECT COUNT(*) FROM {table}__f26__u2__f4 WHERE f26__u2__f4 LIKE 'a% orb'");
    assert_eq!(one(&orbs), 2);
    let check: String = sql
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(check, "ok");
}

// Promise: compatibility#P7
#[test]
fn reading_a_file_of_dflat_for_swift_changes_no_byte() {
    let directory = tempfile::tempdir().unwrap();
    let path = copy(FILES[0], directory.path());
    let before = std::fs::read(&path).unwrap();
    let workspace = Workspace::open(&path).unwrap();
    workspace
        .fetch::<Monster>()
        .filter(Monster::MANA.gt(3))
        .all()
        .unwrap();
    workspace.shutdown().unwrap();
    assert!(std::fs::read(&path).unwrap() == before);
}

// Promise: compatibility#P47
#[test]
fn new_file_has_the_sql_schema_of_dflat_for_swift() {
    let directory = tempfile::tempdir().unwrap();
    let original = copy(FILES[0], directory.path());
    let path = directory.path().join("ours.db");
    let contents = contents();
    let workspace = Workspace::open(&path).unwrap();
    let docs: Vec<_> = rows(&contents["docs"]).iter().map(doc).collect();
    let monsters: Vec<_> = rows(&contents["monsters"]).iter().map(monster).collect();
    let types = [BenchDoc::TABLE, Monster::TABLE, DictItem::TABLE];
    let handle = workspace.perform_changes(types, |tx| {
        for data in docs {
            tx.submit(ChangeRequest::<BenchDoc>::creation(data))?;
        }
        for data in monsters {
            tx.submit(ChangeRequest::<Monster>::creation(data))?;
        }
        tx.submit(ChangeRequest::<DictItem>::creation(Default::default()))
    });
    handle.wait().unwrap();
    workspace.shutdown().unwrap();
    let (ours, theirs) = (
        Connection::open(&path).unwrap(),
        Connection::open(original).unwrap(),
    );
    assert_eq!(schema(&ours), schema(&theirs));
    for table in ["f6", "f26__type", "f26__u2__f4"] {
        let query = format!(
            "SELECT __pk0, __pk1, typeof(__pk1), {table}, typeof({table}) \
             FROM mygame__sample__monster_v1_1 \
             JOIN mygame__sample__monster_v1_1__{table} USING (rowid) ORDER BY rowid"
        );
        assert!(
            table_of(&ours, &query) == table_of(&theirs, &query),
            "{table}"
        );
    }
    let keys = "SELECT __pk0, typeof(__pk0), typeof(p) FROM benchdoc ORDER BY rowid";
    assert_eq!(table_of(&ours, keys), table_of(&theirs, keys));
}

/// The SQL schema of a file without the tables of this library, in order of names.
fn schema(sql: &Connection) -> Vec<Vec<String>> {
    let query = "SELECT type, name, tbl_name, sql FROM sqlite_schema \
                 WHERE name NOT LIKE 'dflat!_!_%' ESCAPE '!' ORDER BY name";
    table_of(sql, query)
}

fn table_of(sql: &Connection, query: &str) -> Vec<Vec<String>> {
    let mut statement = sql.prepare(query).unwrap();
    let columns = statement.column_count();
    let rows = statement.query_map([], |row| {
        (0..columns)
            .map(|at| Ok(format!("{:?}", row.get_ref(at)?)))
            .collect()
    });
    rows.unwrap().map(Result::unwrap).collect()
}
