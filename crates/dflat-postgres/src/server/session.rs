//! Sessions: a connection with the library's settings.

use std::future::poll_fn;

use dflat_engine::{Error, ErrorKind, Result};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio_postgres::{AsyncMessage, Client, NoTls, SimpleQueryMessage};

use super::Server;
use super::address::timeout;
use crate::failure::{failed, is_unreadable, not_connected, not_durable, silent};
use crate::lineage::Lineage;

/// Moves the bytes of a connection until it ends. The text of the last notification is kept.
pub(super) async fn drive<S, T>(
    mut connection: tokio_postgres::Connection<S, T>,
    notifications: Option<watch::Sender<String>>,
) where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    loop {
        match poll_fn(|context| connection.poll_message(context)).await {
            Some(Ok(AsyncMessage::Notification(notification))) => {
                if let Some(notifications) = &notifications {
                    // No task waits for notifications any more when the session ends.
                    let _ = notifications.send(notification.payload().to_owned());
                }
            }
            Some(Ok(_)) => {}
            Some(Err(error)) => {
                tracing::debug!(target: "dflat", %error, "a connection ended");
                return;
            }
            None => return,
        }
    }
}

/// Connects on the library's thread, which moves the bytes of the connection.
async fn connect(server: &Server, notifications: watch::Sender<String>) -> Result<Client> {
    let notifications = Some(notifications);
    match server.connector()? {
        Some(connector) => {
            let connected = server.config.connect(connector).await;
            let (client, connection) = connected.map_err(not_connected)?;
            tokio::spawn(drive(connection, notifications));
            Ok(client)
        }
        None => {
            let connected = server.config.connect(NoTls).await;
            let (client, connection) = connected.map_err(not_connected)?;
            tokio::spawn(drive(connection, notifications));
            Ok(client)
        }
    }
}

/// The server of a session.
#[derive(Clone, Copy)]
pub(super) struct Served {
    /// Whether it was a replica when the session began.
    pub(super) is_replica: bool,
    /// Its generation.
    pub(super) generation: u16,
}

/// Begins a session: executes the settings, and finds out about the server.
pub(super) async fn begin(server: &Server, client: &Client) -> Result<Served> {
    let messages = client.simple_query(&server.session).await;
    let messages = messages.map_err(|error| failed("connect to the server", error))?;
    let last = messages.iter().rev().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some([0, 1].map(|at| row.get(at) == Some("t"))),
        _ => None,
    });
    let [is_replica, is_asynchronous] = last.unwrap_or_default();
    if is_replica && !server.may_be_replica {
        let message = "cannot connect to the server: it is a replica, whose state may be older \
                       than that of its primary; choose it with the option `replica`";
        return Err(Error::new(ErrorKind::ReadOnly, message));
    }
    if is_asynchronous && server.durability.is_none() {
        return Err(not_durable("connect to the server"));
    }
    Ok(Served {
        is_replica,
        generation: find_generation(client, &server.lineage).await?,
    })
}

/// If a later commit is seen while a server is asked for one, the server is asked again, at most
/// this many times in all: it then has had each latest commit, so it is no old copy.
const QUESTIONS_MAX: usize = 8;

/// Finds out whether the server has the commits that were seen before.
async fn find_generation(client: &Client, lineage: &Lineage) -> Result<u16> {
    let mut left = QUESTIONS_MAX;
    loop {
        left = left.saturating_sub(1);
        let (asked, question) = lineage.question();
        let has = match question {
            None => true,
            Some(question) => match client.simple_query(&question).await {
                Ok(rows) => {
                    let mut rows = rows.iter();
                    rows.any(|row| matches!(row, SimpleQueryMessage::Row(_)))
                }
                // Without the table, or the right to read it, nothing is known.
                Err(error) if is_unreadable(&error) => false,
                Err(error) => return Err(failed("connect to the server", error)),
            },
        };
        if let Some(generation) = lineage.answer(asked, has, left == 0) {
            return Ok(generation);
        }
    }
}

/// A session of a task on the library's thread, which moves its bytes. It gets notifications.
pub(crate) struct Session {
    client: Client,
    served: Served,
    notifications: watch::Receiver<String>,
}

impl Session {
    /// Begins a session.
    pub(crate) async fn open(server: &Server) -> Result<Self> {
        match timeout(&server.config) {
            Some(limit) => {
                let opened = tokio::time::timeout(limit, Self::begin(server)).await;
                opened.map_err(|_| silent())?
            }
            None => Self::begin(server).await,
        }
    }

    async fn begin(server: &Server) -> Result<Self> {
        let (sender, notifications) = watch::channel(String::new());
        let client = connect(server, sender).await?;
        Ok(Self {
            served: begin(server, &client).await?,
            client,
            notifications,
        })
    }

    pub(crate) const fn client(&self) -> &Client {
        &self.client
    }

    /// Whether the server was a replica when the session began.
    pub(crate) const fn is_replica(&self) -> bool {
        self.served.is_replica
    }

    /// The generation of the server.
    pub(crate) const fn generation(&self) -> u16 {
        self.served.generation
    }

    /// Waits for a notification, and returns the text of the last one that has come.
    pub(crate) async fn notified(&mut self) -> Result<String> {
        if self.notifications.changed().await.is_err() {
            let message = "cannot listen: the connection to the server failed";
            return Err(Error::new(ErrorKind::Io, message));
        }
        Ok(self.notifications.borrow_and_update().clone())
    }
}
