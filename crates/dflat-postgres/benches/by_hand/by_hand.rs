//! The work as a program does it that uses `tokio-postgres` alone.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::try_join_all;
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::{Client, NoTls, Statement, connect};

use crate::dflat_side::title;
use crate::server::Server;
use crate::{OBJECTS, timed};

pub(crate) struct ByHand {
    runtime: Runtime,
    client: Client,
    get: Statement,
    scan: Statement,
    update: Statement,
}

/// As many bytes as the payload of the other side.
fn body(number: usize) -> Vec<u8> {
    let mut body = title(number).into_bytes();
    body.resize(1_040, b'x');
    body
}

fn new_table() -> String {
    static TABLES: AtomicUsize = AtomicUsize::new(0);
    format!("posts{}", TABLES.fetch_add(1, Ordering::Relaxed))
}

fn create(table: &str) -> String {
    format!(
        "CREATE TABLE {table} (title text PRIMARY KEY, priority int NOT NULL, body bytea NOT NULL); \
         CREATE INDEX ON {table} (priority)"
    )
}

impl ByHand {
    pub(crate) fn new(server: &Server) -> Self {
        // The runtime that the attribute of tokio gives `async fn main`.
        let runtime = Builder::new_multi_thread().enable_all().build().unwrap();
        let address = server.address();
        let client = runtime.block_on(async {
            let (client, connection) = connect(&address, NoTls).await.unwrap();
            tokio::spawn(connection);
            client
        });
        let table = new_table();
        let prepare = |text: String| runtime.block_on(client.prepare(&text)).unwrap();
        runtime
            .block_on(client.batch_execute(&create(&table)))
            .unwrap();
        let get = prepare(format!("SELECT body FROM {table} WHERE title = $1"));
        let scan = prepare(format!("SELECT title, body FROM {table} ORDER BY title"));
        let update =
            format!("UPDATE {table} SET priority = priority + 1, body = $2 WHERE title = $1");
        let update = prepare(update);
        let side = Self {
            get,
            scan,
            update,
            client,
            runtime,
        };
        side.insert(&table, OBJECTS, true);
        side
    }

    fn insert(&self, table: &str, count: usize, is_pipelined: bool) -> Duration {
        let (client, runtime) = (&self.client, &self.runtime);
        let text = format!("INSERT INTO {table} VALUES ($1, $2, $3)");
        let insert = runtime.block_on(client.prepare(&text)).unwrap();
        timed(|| {
            runtime.block_on(async {
                client.batch_execute("BEGIN").await.unwrap();
                let insert = async |number: usize| {
                    let (title, body) = (title(number), body(number));
                    client
                        .execute(&insert, &[&title, &(number as i32), &body])
                        .await
                };
                if is_pipelined {
                    try_join_all((0..count).map(insert)).await.unwrap();
                } else {
                    for number in 0..count {
                        insert(number).await.unwrap();
                    }
                }
                client.batch_execute("COMMIT").await.unwrap();
            });
        })
    }

    fn insert_into_new(&self, count: usize, is_pipelined: bool) -> Duration {
        let table = new_table();
        let create = create(&table);
        let created = self.client.batch_execute(&create);
        self.runtime.block_on(created).unwrap();
        self.insert(&table, count, is_pipelined)
    }

    pub(crate) fn insert_pipelined(&self) -> Duration {
        self.insert_into_new(OBJECTS, true)
    }

    pub(crate) fn insert_each(&self, count: usize) -> Duration {
        self.insert_into_new(count, false)
    }

    pub(crate) fn gets(&self, count: usize) -> Duration {
        timed(|| {
            self.runtime.block_on(async {
                for number in 0..count {
                    let key = title(number * 7919 % OBJECTS);
                    let row = self.client.query_one(&self.get, &[&key]).await.unwrap();
                    assert!(row.get::<_, &[u8]>(0).starts_with(key.as_bytes()));
                }
            });
        })
    }

    pub(crate) fn update_each(&self, count: usize) -> Duration {
        timed(|| {
            self.runtime.block_on(async {
                for number in 0..count {
                    let (key, body) = (title(number), body(number));
                    let updated = self.client.execute(&self.update, &[&key, &body]).await;
                    assert_eq!(updated.unwrap(), 1);
                }
            });
        })
    }

    pub(crate) fn scan(&self) -> Duration {
        timed(|| {
            self.runtime.block_on(async {
                let rows = self.client.query(&self.scan, &[]).await.unwrap();
                let bytes: usize = rows.iter().map(|row| row.get::<_, &[u8]>(1).len()).sum();
                assert_eq!((rows.len(), bytes), (OBJECTS, 1_040 * OBJECTS));
            });
        })
    }
}
