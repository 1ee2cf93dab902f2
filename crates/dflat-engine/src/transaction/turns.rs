//! The turns of jobs: the queue of each table, and the jobs in these queues.
//!
//! A job is in the queue of each table it declares, from its call until it ends. Its turn has come
//! when it is first in all of these queues.

use std::collections::{HashMap, VecDeque};
use std::fmt;

use smallvec::SmallVec;

use crate::error::Error;
use crate::sync::{Arc, Condvar};

/// Work on some tables. Closures implement it; a refused closure is dropped without being called.
pub trait Job: Send {
    /// Does the work. Called when the job's turn has come.
    fn run(self: Box<Self>);

    /// Ends the job with this error, because its turn will never come.
    fn refuse(self: Box<Self>, error: Error);
}

impl<F: FnOnce() + Send> Job for F {
    fn run(self: Box<Self>) {
        self();
    }

    fn refuse(self: Box<Self>, _: Error) {}
}

/// A job that was not queued, and the reason. Neither method of the job was called: that is left to
/// the owner of the job.
pub struct Refused {
    /// The job.
    pub job: Box<dyn Job>,
    /// [`ErrorKind::ShutDown`](crate::ErrorKind::ShutDown) if the scheduler is closed,
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) if there is no thread and none can be started.
    pub error: Error,
}

/// The positions of the queues of a job's tables, which are few.
pub(super) type Queues = SmallVec<[usize; 4]>;

impl fmt::Debug for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Refused({})", self.error)
    }
}

/// The jobs that wait for their turn, and the jobs whose turn has come.
#[derive(Default)]
pub(super) struct Turns {
    /// The position of each table's queue.
    tables: HashMap<String, usize>,
    /// The jobs that wait for or hold a table's turn, the holder first, by table.
    queues: Vec<VecDeque<Place>>,
    /// The jobs that have not started.
    waiting: Places,
    /// The jobs whose turn has come on all their tables.
    ready: VecDeque<Place>,
    /// Number of guests whose turn has come and that have not started.
    summoned: usize,
}

/// Identifies a job, from its call until it ends.
pub(super) type Place = usize;

/// The jobs that have not started, each at its place. A job that runs keeps its place.
#[derive(Default)]
struct Places {
    jobs: Vec<Option<Waiting>>,
    free: Vec<Place>,
    count: usize,
}

/// The place and the queues that a job has while it runs, and gives back when it leaves.
pub(super) struct Turn {
    pub(super) id: Place,
    /// The positions of its tables' queues.
    pub(super) tables: Queues,
}

struct Waiting {
    work: Work,
    /// The positions of its tables' queues.
    tables: Queues,
    /// Number of its tables on which another job is first.
    blocked: usize,
}

pub(super) enum Work {
    /// For a thread of the scheduler.
    Job(Box<dyn Job>),
    /// For the thread that waits here for its turn.
    Guest(Arc<Condvar>),
}

impl Turns {
    /// The position of a table's queue.
    pub(super) fn queue_of(&mut self, table: &str) -> usize {
        // Looked up first: the table is nearly always known, and its name need not be cloned then.
        if let Some(position) = self.tables.get(table) {
            return *position;
        }
        let position = self.queues.len();
        self.queues.push(VecDeque::new());
        self.tables.insert(table.to_owned(), position);
        position
    }

    /// All queues.
    pub(super) fn all(&self) -> Queues {
        (0..self.queues.len()).collect()
    }

    /// Puts work into its queues. If its turn has come, the work is made ready.
    pub(super) fn queue(&mut self, tables: Queues, work: Work) -> Place {
        let id = self.waiting.reserve();
        let mut blocked = 0;
        for table in &tables {
            if let Some(queue) = self.queues.get_mut(*table) {
                blocked += usize::from(!queue.is_empty());
                queue.push_back(id);
            }
        }
        let waiting = Waiting {
            work,
            tables,
            blocked,
        };
        if blocked == 0 {
            match &waiting.work {
                Work::Job(_) => self.ready.push_back(id),
                // The calling thread is the guest: it does not wait yet, so nothing wakes it.
                Work::Guest(_) => self.summoned += 1,
            }
        }
        self.waiting.put(id, waiting);
        id
    }

    /// Removes a job that had its turn from its queues. Returns the number of jobs for threads of
    /// the scheduler that became ready because of that.
    pub(super) fn leave(&mut self, turn: &Turn) -> usize {
        let mut readied = 0;
        for table in &turn.tables {
            let Some(queue) = self.queues.get_mut(*table) else {
                continue;
            };
            let left = queue.pop_front();
            debug_assert_eq!(left, Some(turn.id), "a job runs only while it is first");
            let Some(next) = queue.front() else { continue };
            let next = *next;
            if let Some(waiting) = self.waiting.get_mut(next) {
                waiting.blocked -= 1;
                if waiting.blocked == 0 {
                    readied +=
                        usize::from(summon(&mut self.ready, &mut self.summoned, next, waiting));
                }
            }
        }
        self.waiting.free.push(turn.id);
        readied
    }

    /// The next job whose turn has come, which runs from now on.
    pub(super) fn next(&mut self) -> Option<(Turn, Box<dyn Job>)> {
        let id = self.ready.pop_front()?;
        match self.waiting.remove(id)? {
            Waiting {
                work: Work::Job(job),
                tables,
                ..
            } => Some((Turn { id, tables }, job)),
            Waiting { .. } => None,
        }
    }

    /// The queues of a guest whose turn has come, and that runs from now on.
    pub(super) fn admit(&mut self, guest: Place) -> Option<Queues> {
        let waiting = self.waiting.remove(guest)?;
        self.summoned -= 1;
        Some(waiting.tables)
    }

    /// Removes and returns a job that was queued just now and whose turn has come.
    pub(super) fn withdraw(&mut self, id: Place) -> Option<Box<dyn Job>> {
        self.ready.pop_back();
        match self.waiting.remove(id)? {
            Waiting {
                work: Work::Job(job),
                tables,
                ..
            } => {
                self.leave(&Turn { id, tables });
                Some(job)
            }
            Waiting { .. } => None,
        }
    }

    /// Whether another job is before this one in one of its queues.
    pub(super) fn is_blocked(&self, id: Place) -> bool {
        let waiting = self.waiting.get(id);
        waiting.is_some_and(|waiting| waiting.blocked > 0)
    }

    /// Whether the turn of `last`, the job that was queued last, has come.
    pub(super) fn is_ready(&self, last: Place) -> bool {
        self.ready.back() == Some(&last)
    }

    /// Number of jobs that have their turn and wait for a thread.
    pub(super) fn ready(&self) -> usize {
        self.ready.len()
    }

    /// Number of guests that have their turn and have not started.
    pub(super) fn summoned(&self) -> usize {
        self.summoned
    }

    /// Whether no job waits that has not started.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.count == 0
    }
}

impl Places {
    /// A place that no job has.
    fn reserve(&mut self) -> Place {
        self.free.pop().unwrap_or_else(|| {
            self.jobs.push(None);
            self.jobs.len() - 1
        })
    }

    fn put(&mut self, place: Place, waiting: Waiting) {
        if let Some(job) = self.jobs.get_mut(place) {
            *job = Some(waiting);
            self.count += 1;
        }
    }

    fn get(&self, place: Place) -> Option<&Waiting> {
        self.jobs.get(place)?.as_ref()
    }

    fn get_mut(&mut self, place: Place) -> Option<&mut Waiting> {
        self.jobs.get_mut(place)?.as_mut()
    }

    /// Takes a job that is about to run, and leaves its place reserved.
    fn remove(&mut self, place: Place) -> Option<Waiting> {
        let waiting = self.jobs.get_mut(place)?.take()?;
        self.count -= 1;
        Some(waiting)
    }
}

/// Makes a job ready, or wakes the thread of a guest, because its turn has come. Returns whether a
/// thread of the scheduler is needed.
fn summon(ready: &mut VecDeque<Place>, summoned: &mut usize, id: Place, waiting: &Waiting) -> bool {
    match &waiting.work {
        Work::Job(_) => ready.push_back(id),
        Work::Guest(turn) => {
            *summoned += 1;
            turn.notify_one();
        }
    }
    matches!(waiting.work, Work::Job(_))
}
