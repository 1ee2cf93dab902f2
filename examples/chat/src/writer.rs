//! A writer: posts messages until it is asked to stop.

use dflat::{Result, Workspace};
use tokio::sync::watch;

use crate::ROOMS;
use crate::schema::{Message, MessageChangeRequest, MessageData};

/// Posts messages, one after the other, until `stopped` says so. Returns their number.
pub(crate) async fn run(
    workspace: Workspace,
    author: u32,
    stopped: watch::Receiver<bool>,
) -> Result<usize> {
    let mut posted = 0;
    while !*stopped.borrow() {
        let room = u32::try_from(posted).unwrap_or(0) * 7 % ROOMS;
        let message = MessageData {
            room: (room + author) % ROOMS,
            author,
            text: Some(format!("message {posted} of writer {author}")),
            ..MessageData::default()
        };
        let added = workspace.perform_changes([Message::TABLE], |tx| {
            tx.submit(MessageChangeRequest::creation(message))
        });
        // A writer that awaits each message has at most one in the queue.
        added.await?;
        posted += 1;
    }
    Ok(posted)
}
