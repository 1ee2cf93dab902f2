//! A connection to the server.

use std::collections::HashMap;
use std::io::Cursor;
use std::ops::ControlFlow;
use std::pin::pin;
use std::sync::Arc;

use dflat_engine::{Error, ErrorKind, Result};
use futures_util::future::{join, join_all};
use futures_util::{SinkExt, StreamExt};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row, Statement};

use super::address::deadline;
use super::dial::connect;
use super::driver::Driver;
use super::in_order::in_order;
use super::posted::{Answer, Posted};
use super::session::{Served, begin};
use super::{Server, random_number};
use crate::failure::silent;

/// The parameters of a statement.
pub(crate) type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

/// A parameter of a statement whose answer is not waited for.
pub(crate) type OwnedParam = Box<dyn ToSql + Sync + Send>;

fn as_param(param: &OwnedParam) -> &(dyn ToSql + Sync) {
    param.as_ref()
}

/// If a connection has prepared this many statements, it forgets all of them.
const STATEMENTS_MAX: usize = 512;

/// The numbers of rows that are fetched at once, in ascending order.
pub(crate) const FETCHES: [(usize, &str); 4] = [
    (32, "FETCH 32 FROM c"),
    (256, "FETCH 256 FROM c"),
    (1024, "FETCH 1024 FROM c"),
    (4096, "FETCH 4096 FROM c"),
];

/// A connection, used by one thread at a time.
pub(crate) struct Connection {
    client: Arc<Client>,
    statements: HashMap<String, Statement>,
    /// Statements whose answers were not waited for.
    posted: Posted,
    served: Served,
    /// A random number, which is in the records of the commits that the connection makes.
    engine: i64,
    /// Dropped last: it says to the server that the connection ends.
    driver: Driver,
}

impl Connection {
    /// Connects to the server.
    pub(crate) fn open(server: &Server) -> Result<Self> {
        let driver = Driver::new(server.silence_max);
        let mut driver = driver.map_err(|error| {
            let message = "cannot connect to the server: nothing can be waited for";
            Error::with_source(ErrorKind::Io, message, error)
        })?;
        let client = connect(server, &mut driver)?;
        let end = deadline(&server.config);
        let begun = driver.wait_until(end, begin(server, &client));
        let served = begun.ok_or_else(silent)??;
        Ok(Self {
            client: Arc::new(client),
            statements: HashMap::new(),
            posted: Posted::default(),
            served,
            engine: random_number(),
            driver,
        })
    }

    /// The generation of the server.
    pub(crate) const fn generation(&self) -> u16 {
        self.served.generation
    }

    /// The number of the connection in change records.
    pub(crate) const fn engine(&self) -> i64 {
        self.engine
    }

    /// Whether the server was a replica when the connection was opened.
    pub(crate) const fn is_replica(&self) -> bool {
        self.served.is_replica
    }

    /// Whether the connection has ended, as far as is known.
    pub(crate) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Takes in what the server has said meanwhile. Returns whether the connection goes on.
    pub(crate) fn is_alive(&mut self) -> bool {
        self.driver.run();
        !self.is_closed()
    }

    /// Executes statements without parameters.
    pub(crate) fn batch(&mut self, statements: &str) -> Answer<()> {
        self.posted
            .wait(&mut self.driver, self.client.batch_execute(statements))
    }

    /// Sends statements without parameters, and does not wait for them. Later statements are
    /// executed after them.
    pub(crate) fn send(&mut self, statements: &str) {
        self.driver.send(self.client.batch_execute(statements));
    }

    fn statement(&mut self, text: &str) -> Answer<Statement> {
        if let Some(statement) = self.statements.get(text) {
            return Ok(statement.clone());
        }
        if self.statements.len() >= STATEMENTS_MAX {
            let is_fetch = |text: &String| FETCHES.iter().any(|(_, fetch)| fetch == text);
            self.statements.retain(|text, _| is_fetch(text));
        }
        let statement = self
            .posted
            .wait(&mut self.driver, self.client.prepare(text))?;
        self.statements.insert(text.to_owned(), statement.clone());
        Ok(statement)
    }

    /// The rows of a statement.
    pub(crate) fn query(&mut self, text: &str, params: Params<'_>) -> Answer<Vec<Row>> {
        let statement = self.statement(text)?;
        self.posted
            .wait(&mut self.driver, self.client.query(&statement, params))
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
        let (first, second) = self.posted.wait(&mut self.driver, join(first, second));
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
        self.posted.wait(&mut self.driver, in_order(first, second))
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
            let (begun, declared) = self.posted.wait(&mut self.driver, join(begun, declared));
            begun.and(declared)?;
            return self.query(first, &[]);
        };
        let begun = self.client.batch_execute(begin);
        let declared = self.client.execute(&declare, params);
        let fetched = self.client.query(fetch, &[]);
        let answers = join(begun, join(declared, fetched));
        let (begun, (declared, fetched)) = self.posted.wait(&mut self.driver, answers);
        begun.and(declared).and(fetched)
    }

    /// Executes `COPY .. FROM STDIN` statements in order, each with its bytes. The server
    /// asks for the bytes, so this takes a round trip for each statement, and one more.
    pub(crate) fn copy_in(&mut self, copies: Vec<(String, Vec<u8>)>) -> Answer<()> {
        let mut sent = Vec::with_capacity(copies.len());
        for (text, bytes) in copies {
            let (client, statement) = (Arc::clone(&self.client), self.statement(&text)?);
            sent.push(async move {
                let mut sink = pin!(client.copy_in(&statement).await?);
                sink.send(Cursor::new(bytes)).await?;
                sink.finish().await.map(drop)
            });
        }
        let answers = self.posted.wait(&mut self.driver, join_all(sent));
        answers.into_iter().collect()
    }

    /// Sends a statement whose rows are of no interest, and does not wait for its answer.
    pub(crate) fn post(&mut self, text: &str, params: Vec<OwnedParam>) -> Answer<()> {
        let statement = self.statement(text)?;
        let client = Arc::clone(&self.client);
        self.posted.add(&mut self.driver, async move {
            let params: Vec<&(dyn ToSql + Sync)> = params.iter().map(as_param).collect();
            client.query(&statement, &params).await.map(drop)
        });
        Ok(())
    }

    /// Waits for the answers to the statements that were posted. Fails with the first error.
    pub(crate) fn settle(&mut self) -> Answer<()> {
        self.posted.settle(&mut self.driver)
    }

    /// Fetches the next rows of the cursor, and calls `each` with every row as it comes, until
    /// `each` breaks. However many rows are fetched, few of them are in memory.
    pub(crate) fn fetch_each(
        &mut self,
        fetch: &str,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> Answer<()> {
        let statement = self.statement(fetch)?;
        let (posted, driver) = (&mut self.posted, &mut self.driver);
        let no_params: [&(dyn ToSql + Sync); 0] = [];
        let rows = posted.wait(driver, self.client.query_raw(&statement, no_params))?;
        let mut rows = pin!(rows);
        while let Some(row) = posted.wait(driver, rows.next()).transpose()? {
            if each(row).is_break() {
                break;
            }
        }
        Ok(())
    }
}
