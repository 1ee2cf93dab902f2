//! The server's setting `synchronous_commit`, and the durability that programs choose.

use dflat::{Durability, ErrorKind, Result, ServerBuilder, Workspace};
use dflat_testkit::fixture::{bounded, until};
use dflat_testkit::schema::{Item, ItemChangeRequest, ItemData};

use crate::engines::{engine, is_skipped};
use crate::server::{Server, new_schema, new_server, server, sql};

fn create(workspace: &Workspace, asked: Option<Durability>) -> Result<()> {
    let created = workspace.perform_changes([Item::TABLE], move |tx| {
        let data = ItemData {
            id: new_key(),
            ..ItemData::default()
        };
        if let Some(asked) = asked {
            tx.set_durability(asked);
        }
        tx.submit(ItemChangeRequest::creation(data)).map(drop)
    });
    created.wait()
}

/// A key that no other object has.
fn new_key() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed).to_string()
}

/// Every call fails, and the error says what to do.
fn is_refused(builder: ServerBuilder) {
    let workspace = builder.open().unwrap();
    let read = workspace.fetch::<Item>().count().unwrap_err();
    let written = create(&workspace, None).unwrap_err();
    for error in [read, written] {
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error:?}");
        let message = error.to_string();
        assert!(message.contains("`synchronous_commit` is off"), "{message}");
        assert!(message.contains("option `durability`"), "{message}");
    }
}

#[test]
fn server_that_commits_before_it_has_stored_is_refused_unless_chosen() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let server = server().unwrap();
        // The setting of a role, and of an address.
        sql(server, "CREATE ROLE hasty LOGIN SUPERUSER").unwrap();
        sql(server, "ALTER ROLE hasty SET synchronous_commit = off").unwrap();
        let hasty = server.address().replace("user=dflat", "user=hasty");
        let schema = new_schema();
        let builder = |address: &str| Workspace::server(address).schema(&schema);
        is_refused(builder(&hasty));
        let address = format!("{} options='-c synchronous_commit=off'", server.address());
        is_refused(builder(&address));
        // Nothing was written.
        let schemas = format!("SELECT nspname FROM pg_namespace WHERE nspname = '{schema}'");
        assert!(sql(server, &schemas).unwrap().is_empty());
        for durability in [Durability::Normal, Durability::Full] {
            let chosen = builder(&hasty).durability(durability).open().unwrap();
            create(&chosen, None).unwrap();
        }
        assert_eq!(engine(&schema).fetch::<Item>().count().unwrap(), 2);

        // The setting of a database.
        sql(server, "CREATE DATABASE hasty").unwrap();
        sql(server, "ALTER DATABASE hasty SET synchronous_commit = off").unwrap();
        let address = server.address().replace("dbname=postgres", "dbname=hasty");
        is_refused(builder(&address));
        let chosen = builder(&address).durability(Durability::Full);
        create(&chosen.open().unwrap(), None).unwrap();
    });
    // To start a server may take a while.
    let server = new_server(&["synchronous_commit=off"]).unwrap();
    bounded(move || {
        is_refused(Workspace::server(&server.address()));
        let chosen = Workspace::server(&server.address()).durability(Durability::Normal);
        create(&chosen.open().unwrap(), None).unwrap();
    });
}

/// Has the server note the setting under which each commit of a schema is made.
fn note_settings(server: &Server, schema: &str) {
    let note = format!(
        "SET search_path = \"{schema}\"; CREATE TABLE noted (number serial, setting text); \
         CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
         INSERT INTO \"{schema}\".noted (setting) VALUES (current_setting('synchronous_commit')); \
         RETURN NULL; END $$; \
         CREATE CONSTRAINT TRIGGER note AFTER UPDATE ON dflat__control \
         DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note()"
    );
    sql(server, &note).unwrap();
}

#[test]
fn commit_is_made_with_the_durability_of_the_workspace_or_of_its_transaction() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let server = server().unwrap();
        let schema = new_schema();
        create(&engine(&schema), None).unwrap();
        note_settings(server, &schema);
        let (normal, full) = (Some(Durability::Normal), Some(Durability::Full));
        let cases = [
            ("on", None, None, "on"),
            ("on", None, normal, "off"),
            ("on", normal, None, "off"),
            ("on", normal, full, "on"),
            ("off", normal, None, "off"),
            ("off", full, None, "on"),
            ("off", full, normal, "off"),
            // No setting is weakened but by choice.
            ("remote_apply", None, None, "remote_apply"),
            ("remote_apply", None, full, "remote_apply"),
            ("remote_apply", full, None, "remote_apply"),
            ("remote_apply", normal, full, "remote_apply"),
            ("off", normal, full, "on"),
            ("local", full, full, "local"),
        ];
        for (number, (set, chosen, asked, expected)) in cases.into_iter().enumerate() {
            let options = format!("options='-c synchronous_commit={set}'");
            let address = format!("{} {options}", server.address());
            let mut builder = Workspace::server(&address).schema(&schema);
            if let Some(chosen) = chosen {
                builder = builder.durability(chosen);
            }
            create(&builder.open().unwrap(), asked).unwrap();
            let noted = format!("SELECT setting FROM \"{schema}\".noted ORDER BY number");
            let noted = sql(server, &noted).unwrap().concat();
            assert_eq!(noted.len(), number + 1);
            assert_eq!(noted[number], expected, "{set} {chosen:?} {asked:?}");
        }
    });
}

#[test]
fn setting_that_is_changed_while_a_program_runs_is_noticed() {
    if is_skipped() {
        return;
    }
    // To start a server may take a while.
    let server = new_server(&[]).unwrap();
    bounded(move || {
        let schema = new_schema();
        let builder = || Workspace::server(&server.address()).schema(&schema);
        let unaware = builder().open().unwrap();
        let full = builder().durability(Durability::Full).open().unwrap();
        create(&unaware, None).unwrap();
        create(&full, None).unwrap();
        note_settings(&server, &schema);
        let change = |change: &str| {
            sql(&server, &format!("ALTER SYSTEM {change}")).unwrap();
            sql(&server, "SELECT pg_reload_conf()").unwrap();
        };
        change("SET synchronous_commit = off");
        let refused = loop {
            if let Err(error) = create(&unaware, None) {
                break error;
            }
        };
        assert_eq!(refused.kind(), ErrorKind::InvalidArgument, "{refused:?}");
        assert!(
            refused.to_string().contains("option `durability`"),
            "{refused}"
        );
        let noted = || {
            let noted = format!("SELECT setting FROM \"{schema}\".noted ORDER BY number");
            sql(&server, &noted).unwrap().concat()
        };
        let before = noted().len();
        create(&full, None).unwrap();
        create(&full, None).unwrap();
        assert_eq!(noted()[before..], ["on", "on"]);
        change("RESET synchronous_commit");
        until(|| create(&unaware, None).is_ok());
    });
}
