//! The view: two lists and a number, kept up to date by differences alone.

use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dflat::{Error, FetchedResult, Observable, Result, Subscription, Update, Workspace};

use crate::mail;
use crate::schema::Message;

/// A line of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) id: u64,
    pub(crate) text: String,
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

/// The names of the lists.
pub(crate) const LISTS: [&str; 2] = ["Newest", "Starred"];

/// The view.
#[derive(Default)]
pub(crate) struct Shown {
    pub(crate) lists: [Vec<Row>; LISTS.len()],
    pub(crate) unread: usize,
    /// How many deliveries were shown.
    pub(crate) deliveries: usize,
    /// Why it is not followed any more.
    error: Option<Error>,
}

impl Shown {
    fn list(&mut self, number: usize, update: &Update<FetchedResult<Message>>) {
        let rows = &mut self.lists[number];
        update
            .difference()
            .apply(rows, |position| Row::of(&update[position]));
    }
}

type Job = Box<dyn FnOnce() + Send>;

/// Follows the messages, on the thread that has it.
pub(crate) struct View {
    shown: Arc<Mutex<Shown>>,
    jobs: Receiver<Job>,
    _subscriptions: Vec<Subscription>,
}

impl View {
    /// Starts to follow the messages.
    ///
    /// # Errors
    /// After shutdown.
    pub(crate) fn new(workspace: &Workspace) -> Result<Self> {
        let shown = Arc::default();
        // Each live query has one job at a time, which delivers all changes so far.
        let (send, jobs) = mpsc::sync_channel(LISTS.len() + 1);
        let queries = [mail::newest(workspace), mail::starred(workspace)];
        let mut subscriptions = Vec::new();
        for (number, query) in queries.into_iter().enumerate() {
            let show = move |shown: &mut Shown, update: &Update<_>| shown.list(number, update);
            subscriptions.push(follow(workspace, query, &send, &shown, show)?);
        }
        let unread = mail::unread(workspace).live_count();
        let show = |shown: &mut Shown, unread: &usize| shown.unread = *unread;
        subscriptions.push(follow(workspace, unread, &send, &shown, show)?);
        Ok(Self {
            shown,
            jobs,
            _subscriptions: subscriptions,
        })
    }

    /// Runs the jobs of new deliveries and returns the view.
    ///
    /// # Errors
    /// If a live query failed.
    pub(crate) fn catch_up(&self) -> Result<MutexGuard<'_, Shown>> {
        while let Ok(job) = self.jobs.try_recv() {
            job();
        }
        let shown = lock(&self.shown);
        match &shown.error {
            Some(error) => Err(error.clone()),
            None => Ok(shown),
        }
    }
}

/// Subscribes with jobs that the thread of the view runs.
fn follow<D: Send + 'static>(
    workspace: &Workspace,
    observable: impl Observable<Delivery = Result<D>>,
    send: &SyncSender<Job>,
    shown: &Arc<Mutex<Shown>>,
    show: impl Fn(&mut Shown, &D) + Send + 'static,
) -> Result<Subscription> {
    let (send, shown) = (send.clone(), Arc::clone(shown));
    workspace
        .observe(observable)?
        // A job that finds no place is made up for by the next.
        .on(move |job| drop(send.try_send(job)))
        .call(move |delivery| {
            let mut shown = lock(&shown);
            shown.deliveries += 1;
            match delivery {
                Ok(delivery) => show(&mut shown, &delivery),
                Err(error) => shown.error = Some(error),
            }
        })
}

fn lock(shown: &Mutex<Shown>) -> MutexGuard<'_, Shown> {
    shown.lock().unwrap_or_else(PoisonError::into_inner)
}
