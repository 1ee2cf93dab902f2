//! A client: follows the last messages of a room until the server ends.

use dflat::{Deliveries, Error, ErrorKind, FetchedResult, Result, Update};
use futures::StreamExt;
use tokio::sync::watch;

use crate::ROOMS;
use crate::schema::Message;

/// A stream of the last messages of a room.
type Room = Deliveries<Result<Update<FetchedResult<Message>>>>;

/// The end of a client.
pub(crate) struct Shown {
    /// The messages that the client showed last.
    pub(crate) messages: FetchedResult<Message>,
    /// The number of deliveries that it got.
    pub(crate) deliveries: usize,
}

/// The room of a client.
pub(crate) fn room_of(client: u32) -> usize {
    (client % ROOMS) as usize
}

/// Shows a room until the stream ends. `started` counts the clients that have shown their room.
pub(crate) async fn run(mut messages: Room, started: watch::Sender<u32>) -> Result<Shown> {
    let mut shown = Shown {
        messages: next(&mut messages).await.unwrap_or_else(|| Err(ended()))?,
        deliveries: 1,
    };
    started.send_modify(|started| *started += 1);
    while let Some(update) = next(&mut messages).await {
        // A client of a real server sends the difference to its screen.
        shown.messages = update?;
        shown.deliveries += 1;
    }
    Ok(shown)
}

/// The next state of the room; `None` after the end of the server.
async fn next(messages: &mut Room) -> Option<Result<FetchedResult<Message>>> {
    let update = messages.next().await?;
    Some(update.map(|update| (*update).clone()))
}

fn ended() -> Error {
    let message = "the server ended before the first delivery";
    Error::new(ErrorKind::ShutDown, message)
}
