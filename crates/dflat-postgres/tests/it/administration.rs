//! Other programs, roles, addresses and runtimes.

use std::time::Duration;

use dflat::{ErrorKind, Workspace};
use dflat_testkit::fixture::bounded;
use dflat_testkit::schema::{
    Item, ItemChangeRequest, ItemData, Keyed, KeyedChangeRequest, KeyedData, Scale,
    ScaleChangeRequest, ScaleData,
};

use crate::engines::{engine, is_skipped};
use crate::server::{new_schema, server, sql};

fn create(workspace: &Workspace, id: &str) -> dflat::Result<()> {
    let data = ItemData {
        id: id.to_owned(),
        ..ItemData::default()
    };
    let written = workspace.perform_changes([Item::TABLE], move |tx| {
        tx.submit(ItemChangeRequest::creation(data)).map(drop)
    });
    written.wait()
}

#[test]
fn other_programs_read_and_cannot_write() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let schema = new_schema();
        create(&engine(&schema), "a").unwrap();
        let server = server().unwrap();
        let rows = sql(server, &format!("SELECT rowid, key FROM \"{schema}\".item")).unwrap();
        assert_eq!(rows.len(), 1);
        for statement in ["DELETE FROM", "TRUNCATE"] {
            let refused = sql(server, &format!("{statement} \"{schema}\".item")).unwrap_err();
            let refused = refused.as_db_error().unwrap();
            assert!(
                refused.message().contains("written by Dflat alone"),
                "{refused:?}"
            );
            assert!(
                refused.hint().unwrap().contains("live queries"),
                "{refused:?}"
            );
        }
        assert_eq!(engine(&schema).fetch::<Item>().count().unwrap(), 1);
    });
}

#[test]
fn views_show_keys_as_text() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let schema = new_schema();
        let workspace = engine(&schema);
        let long = "x".repeat(3_000);
        for id in ["a", "a\0b", "\u{e9}", "", long.as_str()] {
            create(&workspace, id).unwrap();
        }
        let keyed = [
            (0, false),
            (5, true),
            (256, false),
            (i64::MAX as u64, true),
            (u64::MAX, true),
        ];
        let weights = [
            0.0,
            -2.5,
            0.1,
            1e30,
            -1e30,
            f32::INFINITY,
            f32::NEG_INFINITY,
            -70_000.0,
        ];
        let tables = [Keyed::TABLE, Scale::TABLE];
        let created = workspace.perform_changes(tables, move |tx| {
            for (number, open) in keyed {
                let zone = "zone".to_owned();
                let data = KeyedData {
                    zone,
                    number,
                    open,
                    text: None,
                };
                tx.submit(KeyedChangeRequest::creation(data))?;
            }
            for weight in weights {
                let data = ScaleData {
                    zone: "z".into(),
                    weight,
                    note: None,
                };
                tx.submit(ScaleChangeRequest::creation(data))?;
            }
            Ok(())
        });
        created.wait().unwrap();
        let keys = |table: &str| -> Vec<String> {
            let view = format!("\"{schema}\".dflat__readable__{table}");
            let query = format!("SELECT key, bytes FROM {view} ORDER BY rowid");
            let rows = sql(server().unwrap(), &query).unwrap().into_iter();
            rows.map(|row| row[0].clone()).collect()
        };
        assert_eq!(keys("item"), ["a", "a\\0b", "\u{e9}", "", long.as_str()]);
        let expected = keyed.map(|(number, open)| format!("zone, {number}, {}", u8::from(open)));
        assert_eq!(keys("keyed"), expected);
        for (shown, weight) in keys("scale").iter().zip(weights) {
            let shown: f64 = shown.strip_prefix("z, ").unwrap().parse().unwrap();
            assert_eq!(shown, f64::from(weight));
        }
    });
}

#[test]
fn role_without_rights_reads_and_its_writes_fail_with_read_only() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let schema = new_schema();
        let server = server().unwrap();
        create(&engine(&schema), "a").unwrap();
        let grant = format!(
            "CREATE ROLE reader LOGIN; GRANT USAGE ON SCHEMA \"{schema}\" TO reader; \
             GRANT SELECT ON ALL TABLES IN SCHEMA \"{schema}\" TO reader"
        );
        sql(server, &grant).unwrap();
        let address = server.address().replace("user=dflat", "user=reader");
        let reader = Workspace::server(&address).schema(&schema).open().unwrap();
        assert_eq!(reader.fetch::<Item>().count().unwrap(), 1);
        let refused = create(&reader, "b").unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ReadOnly, "{refused:?}");
        let elsewhere = Workspace::server(&address)
            .schema(new_schema())
            .open()
            .unwrap();
        assert!(elsewhere.fetch::<Item>().all().unwrap().is_empty());
        let refused = create(&elsewhere, "b").unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ReadOnly, "{refused:?}");
    });
}

#[test]
fn role_that_creates_nothing_writes_to_tables_that_exist() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let schema = new_schema();
        let server = server().unwrap();
        create(&engine(&schema), "a").unwrap();
        let grant = format!(
            "CREATE ROLE clerk LOGIN; GRANT USAGE ON SCHEMA \"{schema}\" TO clerk; \
             GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA \"{schema}\" TO clerk"
        );
        sql(server, &grant).unwrap();
        let address = server.address().replace("user=dflat", "user=clerk");
        let clerk = Workspace::server(&address).schema(&schema).open().unwrap();
        create(&clerk, "b").unwrap();
        assert_eq!(engine(&schema).fetch::<Item>().count().unwrap(), 2);
        // The longest timeout is no special case.
        let patient = Workspace::server(&address)
            .schema(&schema)
            .busy_timeout(Duration::MAX);
        create(&patient.open().unwrap(), "c").unwrap();
    });
}

#[test]
fn errors_name_no_password_and_say_the_kind() {
    let invalid = Workspace::connect("postgres://user:s3cret@host:port/x").unwrap_err();
    assert_eq!(invalid.kind(), ErrorKind::InvalidArgument);
    let away = Workspace::server("postgres://user:s3cret@127.0.0.1:1/x");
    assert!(!format!("{away:?}").contains("s3cret"));
    let away = away.open().unwrap();
    let failed = away.fetch::<Item>().all().unwrap_err();
    assert_eq!(failed.kind(), ErrorKind::Io, "{failed:?}");
    let refused = create(&away, "a").unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Io, "{refused:?}");
    for error in [&invalid, &failed, &refused] {
        let texts = format!("{error} {error:?}");
        assert!(!texts.contains("s3cret"), "{texts}");
    }
}

#[test]
fn password_of_the_options_or_of_the_address_is_used_and_not_shown() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let server = server().unwrap();
        let role = "CREATE ROLE keyed LOGIN PASSWORD 's3cret'; \
                    GRANT CREATE ON DATABASE postgres TO keyed";
        sql(server, role).unwrap();
        let address = |password: &str| {
            let port = server.port;
            format!(
                "postgres://keyed{password}@127.0.0.1:{port}/postgres?sslmode=disable&dflat_schema=keyed"
            )
        };
        let without = Workspace::connect(&address("")).unwrap();
        assert!(create(&without, "a").is_err());
        let options = Workspace::server(&address("")).password("s3cret");
        assert!(!format!("{options:?}").contains("s3cret"), "{options:?}");
        create(&options.open().unwrap(), "a").unwrap();
        // The address comes first.
        let both = Workspace::server(&address(":s3cret")).password("another");
        assert_eq!(both.open().unwrap().fetch::<Item>().count().unwrap(), 1);
        let wrong = Workspace::server(&address("")).password("another");
        assert!(create(&wrong.open().unwrap(), "b").is_err());
    });
}

#[test]
fn writer_that_waits_for_too_long_is_busy() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let schema = new_schema();
        create(&engine(&schema), "a").unwrap();
        let impatient = Workspace::server(&server().unwrap().address())
            .schema(&schema)
            .busy_timeout(Duration::from_millis(100));
        let impatient = impatient.open().unwrap();
        let holder = engine(&schema);
        let held = holder
            .write_first()
            .perform_changes([Item::TABLE], move |_| {
                // On another thread, as in another program.
                let other = std::thread::spawn(move || {
                    let refused = create(&impatient, "b").unwrap_err();
                    assert_eq!(refused.kind(), ErrorKind::Busy, "{refused:?}");
                    // A reader does not wait for the writer.
                    assert_eq!(impatient.fetch::<Item>().count().unwrap(), 1);
                });
                other.join().unwrap();
                Ok(())
            });
        held.wait().unwrap();
    });
}

#[test]
fn calls_inside_of_a_runtime_do_not_panic() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(async {
            let workspace = engine(&new_schema());
            create(&workspace, "a").unwrap();
            assert_eq!(
                workspace.fetch::<Item>().all_async().await.unwrap().len(),
                1
            );
            assert_eq!(workspace.fetch::<Item>().all().unwrap().len(), 1);
            drop(workspace);
        });
    });
}

#[test]
fn newer_format_is_refused() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let schema = new_schema();
        create(&engine(&schema), "a").unwrap();
        let update = format!("UPDATE \"{schema}\".dflat__control SET format = 2");
        sql(server().unwrap(), &update).unwrap();
        let workspace = engine(&schema);
        let refused = create(&workspace, "b").unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::NewerSchema, "{refused:?}");
        let refused = workspace.fetch::<Item>().all().unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::NewerSchema, "{refused:?}");
    });
}

#[test]
fn schema_that_cannot_be_is_refused_when_a_workspace_is_opened() {
    for schema in ["", "pg_x", "information_schema", "a\0b"] {
        let opened = Workspace::server("host=/nowhere").schema(schema).open();
        assert_eq!(opened.unwrap_err().kind(), ErrorKind::InvalidArgument);
    }
}

#[test]
fn column_of_another_type_is_damage() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let schema = new_schema();
        create(&engine(&schema), "a").unwrap();
        let change = format!(
            "DROP VIEW \"{schema}\".dflat__readable__item; \
             ALTER TABLE \"{schema}\".item ALTER COLUMN rowid TYPE integer"
        );
        sql(server().unwrap(), &change).unwrap();
        let found = engine(&schema);
        let found = found.fetch::<Item>().filter(Item::RANK.ge(0)).all();
        let refused = found.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Corrupt, "{refused:?}");
    });
}

#[test]
fn engines_that_create_a_schema_at_once_share_it() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let schema = new_schema();
        let engines: Vec<_> = (0..4).map(|_| engine(&schema)).collect();
        std::thread::scope(|scope| {
            for (number, engine) in engines.iter().enumerate() {
                scope.spawn(move || create(engine, &format!("item {number}")).unwrap());
            }
        });
        for engine in &engines {
            assert_eq!(engine.fetch::<Item>().count().unwrap(), 4);
        }
    });
}

#[test]
fn connection_over_a_network_is_encrypted_and_its_server_verified() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let schema = new_schema();
        let server = server().unwrap();
        let address = format!(
            "postgres://dflat@localhost:{}/postgres?application_name=dflat%20{}",
            server.port, server.port
        );
        let trusted = Workspace::server(&format!("{address}&sslmode=require"))
            .schema(&schema)
            .root_certificates(server.authority.as_bytes());
        let trusted = trusted.open().unwrap();
        create(&trusted, "a").unwrap();
        assert_eq!(trusted.fetch::<Item>().count().unwrap(), 1);
        let encrypted = format!(
            "SELECT DISTINCT s.ssl FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid) \
             WHERE a.application_name = 'dflat {}'",
            server.port
        );
        assert_eq!(sql(server, &encrypted).unwrap(), [["t"]]);

        // The authorities of the system have not signed the certificate.
        let distrusted = Workspace::server(&address).schema(&schema).open().unwrap();
        let refused = distrusted.fetch::<Item>().count().unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Io, "{refused:?}");
        assert!(
            refused.to_string().contains("root_certificates"),
            "{refused}"
        );

        let open = Workspace::server(&format!("{address}&sslmode=disable")).schema(&schema);
        assert_eq!(open.open().unwrap().fetch::<Item>().count().unwrap(), 1);

        let invalid = Workspace::server(&address)
            .root_certificates("-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n");
        let invalid = invalid.open().unwrap().fetch::<Item>().count().unwrap_err();
        assert_eq!(invalid.kind(), ErrorKind::InvalidArgument, "{invalid:?}");
    });
}
