//! What is shown: two lists and a number, kept up to date by differences alone.

use std::sync::mpsc::{self, Receiver, Sender};

use dflat::{FetchedResult, Result, Subscription, Update, Workspace};

use crate::mail;
use crate::schema::Message;

/// A line of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub id: u64,
    pub text: String,
}

impl Row {
    /// The line of a message.
    pub(crate) fn of(message: &Message) -> Self {
        let mark = |is: bool, mark: char| if is { mark } else { ' ' };
        Self {
            id: message.id(),
            text: format!(
                "{}{} {:<8} {}",
                mark(message.unread(), '\u{25cf}'),
                mark(message.starred(), '*'),
                message.sender().unwrap_or_default(),
                message.subject().unwrap_or_default(),
            ),
        }
    }
}

type ListUpdate = Result<Update<FetchedResult<Message>>>;

/// What a live query tells the thread that shows it.
enum News {
    List(usize, ListUpdate),
    Unread(Result<usize>),
}

/// The names of the lists.
pub(crate) const LISTS: [&str; 2] = ["Newest", "Starred"];

/// What is shown.
pub(crate) struct View {
    pub lists: [Vec<Row>; LISTS.len()],
    pub unread: usize,
    /// How many deliveries were shown.
    pub deliveries: usize,
    news: Receiver<News>,
    _subscriptions: Vec<Subscription>,
}

impl View {
    /// Starts to follow the messages.
    ///
    /// # Errors
    /// After shutdown.
    pub(crate) fn new(workspace: &Workspace) -> Result<Self> {
        let (send, news) = mpsc::channel();
        let list = |number: usize, send: &Sender<News>| {
            let send = send.clone();
            // Nobody listens when the program ends.
            move |update| drop(send.send(News::List(number, update)))
        };
        let count = send.clone();
        let subscriptions = vec![
            workspace.subscribe(mail::newest(workspace), list(0, &send))?,
            workspace.subscribe(mail::starred(workspace), list(1, &send))?,
            workspace.subscribe(mail::unread(workspace).live_count(), move |unread| {
                drop(count.send(News::Unread(unread)));
            })?,
        ];
        Ok(Self {
            lists: Default::default(),
            unread: 0,
            deliveries: 0,
            news,
            _subscriptions: subscriptions,
        })
    }

    /// Shows what has been told since; whether there was anything.
    ///
    /// # Errors
    /// That of a query that can't be followed any more.
    pub(crate) fn catch_up(&mut self) -> Result<bool> {
        let before = self.deliveries;
        while let Ok(news) = self.news.try_recv() {
            self.deliveries += 1;
            match news {
                News::Unread(unread) => self.unread = unread?,
                News::List(number, update) => {
                    let update = update?;
                    let rows = &mut self.lists[number];
                    update
                        .difference()
                        .apply(rows, |position| Row::of(&update[position]));
                }
            }
        }
        Ok(self.deliveries > before)
    }
}
