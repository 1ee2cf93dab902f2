//! A connection to the server.

use std::collections::HashMap;
use std::sync::Arc;

use dflat_engine::{Error, ErrorKind, Result};
use futures_util::future::join;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, NoTls, Row, SimpleQueryMessage, Statement};

use super::posted::Posted;
use super::wait::{in_order, send, wait};
use super::{Server, random_number};
use crate::failure::{failed, is_refused, not_connected, shut_down};
use crate::lineage::Lineage;

/// The parameters of a statement.
pub(crate) type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

/// A parameter of a statement whose answer is not waited for.
pub(crate) type OwnedParam = Box<dyn ToSql + Sync + Send>;

fn as_param(param: &OwnedParam) -> &(dyn ToSql + Sync) {
    param.as_ref()
}

pub(super) type Answer<T> = std::result::Result<T, tokio_postgres::Error>;

/// If a connection has prepared this many statements, it forgets all of them.
const STATEMENTS_MAX: usize = 512;

/// The numbers of rows that are fetched at once, in ascending order.
pub(crate) const FETCHES: [(usize, &str); 4] = [
    (32, "FETCH 32 FROM c"),
    (256, "FETCH 256 FROM c"),
    (1024, "FETCH 1024 FROM c"),
    (4096, "FETCH 4096 FROM c"),
];

/// Moves the bytes of a connection until it ends.
async fn drive(connection: impl Future<Output = Answer<()>>) {
    if let Err(error) = connection.await {
        tracing::debug!(target: "dflat", %error, "a connection ended");
    }
}

/// A connection, used by one thread at a time.
pub(crate) struct Connection {
    client: Arc<Client>,
    statements: HashMap<String, Statement>,
    /// Statements whose answers were not waited for.
    posted: Posted,
    is_replica: bool,
    /// The generation of the server.
    generation: u16,
    /// A random number, which is in the records of the commits that the connection makes.
    engine: i64,
}

impl Connection {
    /// Connects to the server.
    pub(crate) fn open(server: &Server) -> Result<Self> {
        let Some(runtime) = &server.runtime else {
            return Err(shut_down());
        };
        let config = server.config.clone();
        let handle = runtime.handle().clone();
        let connector = server.connector()?;
        let connected = runtime.spawn(async move {
            match connector {
                Some(connector) => {
                    let (client, connection) = config.connect(connector).await?;
                    handle.spawn(drive(connection));
                    Ok(client)
                }
                None => {
                    let (client, connection) = config.connect(NoTls).await?;
                    handle.spawn(drive(connection));
                    Ok(client)
                }
            }
        });
        let client = wait(connected).map_err(|error| {
            let message = "cannot connect to the server: the thread for it has ended";
            Error::with_source(ErrorKind::Io, message, error)
        })?;
        let client = client.map_err(not_connected)?;
        let mut connection = Self {
            client: Arc::new(client),
            statements: HashMap::new(),
            posted: Posted::default(),
            is_replica: false,
            generation: 0,
            engine: random_number(),
        };
        let opened = connection.begin_session(&server.session);
        let [is_replica, is_asynchronous] =
            opened.map_err(|error| failed("connect to the server", error))?;
        if is_replica && !server.may_be_replica {
            let message = "cannot connect to the server: it is a replica, whose state may be older \
                           than that of its primary; choose it with the option `replica`";
            return Err(Error::new(ErrorKind::ReadOnly, message));
        }
        if is_asynchronous && server.durability.is_none() {
            let message = "cannot connect to the server: its setting `synchronous_commit` is off, \
                           so that a crash of the server may undo commits; choose the option \
                           `durability` (`Full` turns the setting on for the connections of this \
                           program, `Normal` leaves it off), or turn it on for the role, the \
                           database or the server";
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        connection.is_replica = is_replica;
        connection.generation = connection.find_generation(&server.lineage)?;
        Ok(connection)
    }

    /// Finds out whether the server has the commits that were seen before.
    fn find_generation(&mut self, lineage: &Lineage) -> Result<u16> {
        loop {
            let (asked, question) = lineage.question();
            let has = match question {
                None => true,
                Some(question) => match self.posted.wait(self.client.simple_query(&question)) {
                    Ok(rows) => rows
                        .iter()
                        .any(|row| matches!(row, SimpleQueryMessage::Row(_))),
                    // Without the table, or the right to read it, nothing is known.
                    Err(error) if is_refused(&error) => false,
                    Err(error) => return Err(failed("connect to the server", error)),
                },
            };
            if let Some(generation) = lineage.answer(asked, has) {
                return Ok(generation);
            }
        }
    }

    /// The generation of the server.
    pub(crate) const fn generation(&self) -> u16 {
        self.generation
    }

    /// The number of the connection in change records.
    pub(crate) const fn engine(&self) -> i64 {
        self.engine
    }

    /// Executes the settings of a session, and returns whether the server is a replica, and whether
    /// commits may return before they are stored.
    fn begin_session(&mut self, settings: &str) -> Answer<[bool; 2]> {
        let messages = self.posted.wait(self.client.simple_query(settings))?;
        let last = messages.iter().rev().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some([0, 1].map(|at| row.get(at) == Some("t"))),
            _ => None,
        });
        Ok(last.unwrap_or_default())
    }

    /// Whether the server was a replica when the connection was opened.
    pub(crate) const fn is_replica(&self) -> bool {
        self.is_replica
    }

    /// Whether the connection has ended.
    pub(crate) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Executes statements without parameters.
    pub(crate) fn batch(&mut self, statements: &str) -> Answer<()> {
        self.posted.wait(self.client.batch_execute(statements))
    }

    /// Sends statements without parameters, and does not wait for them. Later statements are
    /// executed after them.
    pub(crate) fn send(&self, statements: &str) {
        send(self.client.batch_execute(statements));
    }

    fn statement(&mut self, text: &str) -> Answer<Statement> {
        if let Some(statement) = self.statements.get(text) {
            return Ok(statement.clone());
        }
        if self.statements.len() >= STATEMENTS_MAX {
            let is_fetch = |text: &String| FETCHES.iter().any(|(_, fetch)| fetch == text);
            self.statements.retain(|text, _| is_fetch(text));
        }
        let statement = self.posted.wait(self.client.prepare(text))?;
        self.statements.insert(text.to_owned(), statement.clone());
        Ok(statement)
    }

    /// The rows of a statement.
    pub(crate) fn query(&mut self, text: &str, params: Params<'_>) -> Answer<Vec<Row>> {
        let statement = self.statement(text)?;
        self.posted.wait(self.client.query(&statement, params))
    }

    /// Executes statements without parameters, and then a statement, in one round trip.
    pub(crate) fn batch_and_query(
        &mut self,
        batch: &str,
        text: &str,
        params: Params<'_>,
    ) -> Answer<Vec<Row>> {
        let statement = self.statement(text)?;
        let first = self.client.batch_execute(batch);
        let second = self.client.query(&statement, params);
        let (first, second) = self.posted.wait(join(first, second));
        first.and(second)
    }

    /// Executes a statement, and then statements without parameters, in one round trip. If the
    /// statement can't be sent, nothing is. Otherwise both answers are returned, because the second
    /// one may be missing while the first one is there.
    pub(crate) fn query_and_batch(
        &mut self,
        text: &str,
        params: Params<'_>,
        batch: &str,
    ) -> Answer<(Answer<Vec<Row>>, Answer<()>)> {
        let statement = self.statement(text)?;
        let first = self.client.query(&statement, params);
        let second = self.client.batch_execute(batch);
        self.posted.wait(in_order(first, second))
    }

    /// Opens a cursor for a query, and fetches its first rows, in one round trip. `begin` is
    /// executed before.
    pub(crate) fn open_cursor(
        &mut self,
        begin: &str,
        query: &str,
        params: Params<'_>,
    ) -> Answer<Vec<Row>> {
        let declare = self.statement(&format!("DECLARE c NO SCROLL CURSOR FOR {query}"))?;
        let [(_, first), ..] = FETCHES;
        // The server describes the rows of a fetch by the cursor that is open when it is prepared.
        // All cursors have the same columns.
        let Some(fetch) = self.statements.get(first) else {
            let begun = self.client.batch_execute(begin);
            let declared = self.client.execute(&declare, params);
            let (begun, declared) = self.posted.wait(join(begun, declared));
            begun.and(declared)?;
            return self.fetch(first);
        };
        let begun = self.client.batch_execute(begin);
        let declared = self.client.execute(&declare, params);
        let fetched = self.client.query(fetch, &[]);
        let answers = join(begun, join(declared, fetched));
        let (begun, (declared, fetched)) = self.posted.wait(answers);
        begun.and(declared).and(fetched)
    }

    /// Sends a statement whose rows are of no interest, and does not wait for its answer.
    pub(crate) fn post(&mut self, text: &str, params: Vec<OwnedParam>) -> Answer<()> {
        let statement = self.statement(text)?;
        let client = Arc::clone(&self.client);
        self.posted.add(async move {
            let params: Vec<&(dyn ToSql + Sync)> = params.iter().map(as_param).collect();
            client.query(&statement, &params).await.map(drop)
        });
        Ok(())
    }

    /// Waits for the answers to the statements that were posted. Fails with the first error.
    pub(crate) fn settle(&mut self) -> Answer<()> {
        self.posted.settle()
    }

    /// Fetches the next rows of the cursor.
    pub(crate) fn fetch(&mut self, fetch: &str) -> Answer<Vec<Row>> {
        self.query(fetch, &[])
    }
}
