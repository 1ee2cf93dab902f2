//! The messages, and what can be done with one: by the user, and by the network.

use dflat::{Fetch, Result, TransactionContext, Workspace};

use crate::schema::{Message, MessageChangeRequest, MessageData};

/// How many messages a list shows.
pub(crate) const SHOWN: usize = 15;

/// An action on a message.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Action {
    Receive,
    MarkRead,
    Star,
    Delete,
}

/// The newest messages.
pub(crate) fn newest(workspace: &Workspace) -> Fetch<'_, Message> {
    workspace
        .fetch::<Message>()
        .order_by(Message::RECEIVED.descending())
        .limit(SHOWN)
}

/// The newest of those that have a star.
pub(crate) fn starred(workspace: &Workspace) -> Fetch<'_, Message> {
    newest(workspace).filter(Message::STARRED.eq(true))
}

/// The unread messages.
pub(crate) fn unread(workspace: &Workspace) -> Fetch<'_, Message> {
    workspace
        .fetch::<Message>()
        .filter(Message::UNREAD.eq(true))
}

/// A message as it arrives: all from its number.
fn arriving(id: u64) -> MessageData {
    const SENDERS: [&str; 6] = ["Ada", "Barbara", "Edsger", "Grace", "Leslie", "Tony"];
    const SUBJECTS: [&str; 5] = [
        "Lunch on Thursday?",
        "Your parcel is on its way",
        "Minutes of the meeting",
        "A proof, at last",
        "Photographs of the summit",
    ];
    let of = |texts: &[&str]| texts[usize::try_from(id).unwrap_or(0) % texts.len()].to_owned();
    MessageData {
        id,
        sender: Some(of(&SENDERS)),
        subject: Some(of(&SUBJECTS)),
        received: i64::try_from(id).unwrap_or(0),
        ..MessageData::default()
    }
}

/// Has the first messages arrive.
///
/// # Errors
/// As writing can fail.
pub(crate) fn fill(workspace: &Workspace, messages: u64) -> Result<()> {
    workspace.perform_changes_blocking([Message::TABLE], |tx| {
        for id in 0..messages {
            let mut data = arriving(id);
            data.starred = id % 40 == 0;
            data.unread = id % 3 == 0;
            tx.submit(MessageChangeRequest::creation(data))?;
        }
        Ok(())
    })
}

/// Does something with the message of a number, in the background.
pub(crate) fn act(workspace: &Workspace, action: Action, id: u64) -> dflat::TransactionHandle<()> {
    workspace.perform_changes_retrying([Message::TABLE], move |tx| carry_out(tx, action, id))
}

fn carry_out(tx: &TransactionContext, action: Action, id: u64) -> Result<()> {
    if matches!(action, Action::Receive) {
        return tx
            .submit(MessageChangeRequest::upsert(arriving(id)))
            .map(drop);
    }
    // Another transaction may have deleted it meanwhile.
    let Some(message) = tx.get::<Message>(id)? else {
        return Ok(());
    };
    let request = match action {
        Action::Delete => MessageChangeRequest::deletion(tx, &message)?,
        _ => MessageChangeRequest::change(tx, &message)?,
    };
    let Some(mut request) = request else {
        return Ok(());
    };
    match action {
        Action::MarkRead => request.unread = false,
        Action::Star => request.starred = !message.starred(),
        Action::Receive | Action::Delete => {}
    }
    tx.submit(request).map(drop)
}
