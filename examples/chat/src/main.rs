//! A chat server without a network: 500 clients follow their rooms by streams, and 8 writers post
//! messages, all on one thread of an asynchronous runtime. After 1,000 messages the server ends
//! gracefully, and asserts that each client has seen the final state of its room.
//!
//! ```text
//! cargo run -p chat
//! ```
#![allow(clippy::print_stdout, reason = "the example prints what happens")]

mod client;
mod writer;

mod schema {
    dflat::include_schema!("message");
}

use std::path::Path;

use dflat::{Error, Fetch, FetchedResult, Result, Workspace};
use futures::StreamExt;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use schema::Message;

const ROOMS: u32 = 50;
const CLIENTS: u32 = 500;
const WRITERS: u32 = 8;

/// The number of stored messages after which the server ends.
const MESSAGES: usize = 1_000;

/// The number of messages that a client shows.
const SHOWN: usize = 20;

fn main() -> Result<()> {
    let directory = tempfile::tempdir().map_err(Error::user)?;
    let file = directory.path().join("chat.db");
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.map_err(Error::user)?.block_on(serve(&file))
}

/// The last messages of a room, the newest first.
fn last_messages(workspace: &Workspace, room: u32) -> Fetch<'_, Message> {
    workspace
        .fetch::<Message>()
        .filter(Message::ROOM.eq(room))
        .order_by(Message::ID.descending())
        .limit(SHOWN)
}

async fn serve(file: &Path) -> Result<()> {
    let workspace = Workspace::open(file)?;
    let clients = start_clients(&workspace).await?;
    let (stop, stopped) = watch::channel(false);
    let writers: Vec<_> = (0..WRITERS)
        .map(|author| tokio::spawn(writer::run(workspace.clone(), author, stopped.clone())))
        .collect();

    wait_for_messages(&workspace).await?;

    // The graceful end. First the writers finish the messages that they are posting.
    let _ = stop.send(true);
    let mut posted = 0;
    for writer in writers {
        posted += joined(writer).await?;
    }
    // Then everything is delivered, and the server ends. The streams end with it.
    workspace.settle_async().await?;
    let rooms = final_rooms(&workspace).await?;
    let stored = workspace.fetch::<Message>().count_async().await?;
    workspace.shutdown_async().await?;
    let mut deliveries = 0;
    for (number, client) in (0..).zip(clients) {
        let client = joined(client).await?;
        assert_eq!(
            client.messages,
            rooms[client::room_of(number)],
            "client {number}"
        );
        deliveries += client.deliveries;
    }
    assert_eq!(stored, posted);

    // All posted messages are in the file.
    let workspace = Workspace::open(file)?;
    assert_eq!(workspace.fetch::<Message>().count_async().await?, posted);
    workspace.shutdown_async().await?;
    println!("{WRITERS} writers posted {posted} messages in {ROOMS} rooms");
    println!("{CLIENTS} clients got {deliveries} deliveries, and each has the final state");
    Ok(())
}

/// Starts the clients, and returns when each has shown its room once.
async fn start_clients(workspace: &Workspace) -> Result<Vec<JoinHandle<Result<client::Shown>>>> {
    let (started, mut starts) = watch::channel(0);
    let clients = (0..CLIENTS).map(|number| {
        let messages = last_messages(
            workspace,
            u32::try_from(client::room_of(number)).unwrap_or(0),
        );
        Ok(tokio::spawn(client::run(
            workspace.stream(messages)?,
            started.clone(),
        )))
    });
    let clients = clients.collect::<Result<_>>()?;
    let all = starts.wait_for(|started| *started == CLIENTS).await;
    all.map_err(Error::user)?;
    Ok(clients)
}

/// Returns when enough messages are stored.
async fn wait_for_messages(workspace: &Workspace) -> Result<()> {
    let mut counts = workspace.stream(workspace.fetch::<Message>().live_count())?;
    while let Some(count) = counts.next().await {
        if count? >= MESSAGES {
            break;
        }
    }
    Ok(())
}

/// The messages of each room, fetched from the file at the same time.
async fn final_rooms(workspace: &Workspace) -> Result<Vec<FetchedResult<Message>>> {
    let rooms = (0..ROOMS).map(|room| last_messages(workspace, room).all_async());
    futures::future::try_join_all(rooms).await
}

/// The outcome of a task.
async fn joined<R>(task: JoinHandle<Result<R>>) -> Result<R> {
    task.await.map_err(Error::user)?
}
