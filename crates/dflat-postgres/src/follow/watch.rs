//! Learns of commits by notifications, or relays them.

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use dflat_engine::{Error, ErrorKind, Result};
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tokio_postgres::{Row, Statement};

use super::{INTERVAL, INTERVAL_BUSY};
use crate::database::Database;
use crate::failure::failed;
use crate::layout::{Relay, State};
use crate::server::Session;

/// The time between two questions of an engine that gets notifications: whether the relay has
/// ended, and whether a commit was not told of.
const INTERVAL_TOLD: Duration = Duration::from_millis(750);

/// The server ends the session of a relay that has asked nothing for this time.
const SILENCE_MAX: Duration = Duration::from_millis(900);

/// The longest time for the answer to a question. Afterwards the thread asks by itself.
const ANSWER_MAX: Duration = Duration::from_secs(2);

/// The time until the next try after a session that has ended.
const AGAIN: Duration = Duration::from_millis(500);

/// The time until the next try after none could begin.
const AGAIN_REFUSED: Duration = Duration::from_secs(5);

/// News for the thread that looks.
pub(super) enum News {
    /// A state, which the session has read or was told of.
    State(State),
    /// No session tells of states from now on.
    Lost,
    /// The thread is to end.
    End,
}

/// Tells of states, with one session after the other, until the receiver is gone.
pub(super) async fn watch(database: Arc<Database>, news: Sender<News>) {
    let milliseconds = SILENCE_MAX.as_millis();
    let relay = Relay::new(database.schema(), database.control(), milliseconds);
    loop {
        let mut watch = Watch {
            database: &database,
            relay: &relay,
            news: &news,
            latest: State::default(),
            has_begun: false,
        };
        let Err(error) = watch.run().await;
        tracing::debug!(target: "dflat", %error, "no session tells of commits");
        if news.send(News::Lost).is_err() {
            return;
        }
        sleep(if watch.has_begun {
            AGAIN
        } else {
            AGAIN_REFUSED
        })
        .await;
    }
}

enum Never {}

/// A session that tells of states.
struct Watch<'a> {
    database: &'a Database,
    relay: &'a Relay,
    news: &'a Sender<News>,
    /// The state that was told last.
    latest: State,
    has_begun: bool,
}

impl Watch<'_> {
    async fn run(&mut self) -> Result<Never> {
        let mut session = self.database.open_session().await?;
        if session.is_replica() {
            let message = "cannot listen: a replica sends no notifications";
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        while !self.has_own_tables(&session).await? {
            sleep(AGAIN).await;
        }
        answer(session.client().batch_execute(&self.relay.listen)).await?;
        let candidate = answer(session.client().prepare(&self.relay.candidate)).await?;
        // Order: the state is read after the session has begun to listen.
        let (state, mut is_relay) = self.ask(&session, &candidate).await?;
        self.has_begun = true;
        self.latest = state;
        self.tell(state)?;
        if !is_relay {
            is_relay = self.listen(&mut session, &candidate).await?;
        }
        debug_assert!(is_relay);
        self.relay(&session).await
    }

    /// Whether the library's own tables exist.
    async fn has_own_tables(&self, session: &Session) -> Result<bool> {
        let question = &self.database.control().exists;
        let schema = self.database.schema().name();
        let row = answer(session.client().query_one(question, &[&schema])).await?;
        row.try_get(0).map_err(refused)
    }

    /// Tells of the states that notifications name, until this session is the relay.
    async fn listen(&mut self, session: &mut Session, candidate: &Statement) -> Result<bool> {
        // The state up to which nothing is awaited.
        let mut told = self.latest.last;
        let mut next = Instant::now() + INTERVAL_TOLD;
        loop {
            if let Ok(notified) = timeout_at(next, session.notified()).await {
                let notification = notified?;
                let state = State::told(&notification, session.generation());
                // A forged number, however large, does not hide the commits that follow.
                if let Some(state) = state.filter(|state| state.last != self.latest.last) {
                    self.changed(state)?;
                }
                told = self.latest.last;
                continue;
            }
            let (state, is_relay) = self.ask(session, candidate).await?;
            if state.last != self.latest.last {
                self.changed(state)?;
            }
            if is_relay {
                return Ok(true);
            }
            // While no notification comes, a commit is found within the interval of the relay.
            let is_late = state.last > told;
            next = Instant::now() + if is_late { INTERVAL } else { INTERVAL_TOLD };
        }
    }

    /// Reads the state again and again, and notifies the others.
    async fn relay(&mut self, session: &Session) -> Result<Never> {
        answer(session.client().batch_execute(&self.relay.begin)).await?;
        let relay = answer(session.client().prepare(&self.relay.relay)).await?;
        // The first state is told in any case: the relay before may not have done so.
        let mut told = -1;
        loop {
            let rows = answer(session.client().query(&relay, &[&told])).await?;
            let state = self.state(session, &rows)?;
            let is_new = state.last != told;
            if state.last != self.latest.last {
                self.changed(state)?;
            }
            told = state.last;
            sleep(if is_new { INTERVAL_BUSY } else { INTERVAL }).await;
        }
    }

    /// Reads the state, and whether this session is the relay.
    async fn ask(&self, session: &Session, candidate: &Statement) -> Result<(State, bool)> {
        let rows = answer(session.client().query(candidate, &[])).await?;
        let state = self.state(session, &rows)?;
        let is_relay = rows
            .first()
            .map(|row| row.try_get::<_, bool>(State::COLUMNS));
        let is_relay = is_relay.transpose().map_err(refused)?;
        Ok((state, is_relay.unwrap_or_default()))
    }

    fn state(&self, session: &Session, rows: &[Row]) -> Result<State> {
        let generation = session.generation();
        if generation != self.database.generation() {
            let message = "cannot look for commits: another server has taken the place of this one";
            return Err(Error::new(ErrorKind::Io, message));
        }
        match rows.first() {
            Some(row) => self.database.read_state(row, 0, generation),
            None => Ok(State::empty(generation)),
        }
    }

    fn changed(&mut self, state: State) -> Result<()> {
        self.latest = state;
        self.tell(state)
    }

    fn tell(&self, state: State) -> Result<()> {
        let told = self.news.send(News::State(state));
        told.map_err(|_| crate::failure::shut_down())
    }
}

/// Waits for the answer to a question.
async fn answer<T>(
    asked: impl Future<Output = std::result::Result<T, tokio_postgres::Error>>,
) -> Result<T> {
    let Ok(answer) = timeout(ANSWER_MAX, asked).await else {
        let message = "cannot look for commits: the server does not answer";
        return Err(Error::new(ErrorKind::Io, message));
    };
    answer.map_err(refused)
}

fn refused(error: tokio_postgres::Error) -> Error {
    failed("look for commits", error)
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    #[test]
    fn answer_that_does_not_come_is_an_error() {
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.enable_time().build().unwrap();
        let error = runtime.block_on(answer::<()>(pending())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io);
    }
}
