//! Turns: the order in which jobs run, and that every job runs.

use shuttle::sync::atomic::{AtomicUsize, Ordering};
use shuttle::sync::{Arc, Condvar, Mutex};
use shuttle::thread;

use crate::callback::Job as ExecutorJob;
use crate::explore;
use crate::scheduler::{Concurrency, Scheduler};
use crate::turns::Job;

/// The recorded events, in order.
type Log<T> = Arc<Mutex<Vec<T>>>;

fn scheduler(threads_max: usize) -> Scheduler {
    Scheduler::new(Concurrency::MultiWriter, threads_max, Box::new(|_| {}))
}

/// A job that records its name.
fn note<T: Send + 'static>(log: &Log<T>, name: T) -> Box<dyn Job> {
    let log = Arc::clone(log);
    Box::new(move || log.lock().unwrap().push(name))
}

/// Tables that only one running job may use at a time.
#[derive(Default)]
struct Tables {
    used: [AtomicUsize; 2],
    ran: AtomicUsize,
    collisions: AtomicUsize,
}

impl Tables {
    /// A job that uses tables, and lets other threads run meanwhile.
    fn job(self: &Arc<Self>, names: &'static [&'static str]) -> impl FnOnce() + Send + 'static {
        let tables = Arc::clone(self);
        move || {
            let used = || {
                names
                    .iter()
                    .map(|name| &tables.used[usize::from(*name == "b")])
            };
            for table in used() {
                let others = table.fetch_add(1, Ordering::SeqCst);
                tables.collisions.fetch_add(others, Ordering::SeqCst);
            }
            thread::yield_now();
            for table in used() {
                table.fetch_sub(1, Ordering::SeqCst);
            }
            tables.ran.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Checks that no two jobs used a table at the same time, and that `ran` jobs have run.
    fn check(&self, ran: usize) {
        assert_eq!(self.collisions.load(Ordering::SeqCst), 0);
        assert_eq!(self.ran.load(Ordering::SeqCst), ran);
    }
}

// Promise: concurrency#C21
#[test]
fn jobs_of_overlapping_tables_run_in_the_order_of_calls() {
    explore(|| {
        let (scheduler, log) = (scheduler(4), Log::default());
        let sets: [(char, &[&str]); 5] = [
            ('1', &["a", "b"]),
            ('2', &["a"]),
            ('3', &["b"]),
            ('4', &["b", "a"]),
            ('5', &["a"]),
        ];
        for (name, tables) in sets {
            scheduler
                .enqueue(tables.iter().copied(), note(&log, name))
                .unwrap();
        }
        scheduler.close();
        let log: String = log.lock().unwrap().iter().collect();
        assert!(["12345", "13245"].contains(&log.as_str()), "{log}");
    });
}

#[test]
fn threads_of_an_executor_run_every_job_also_if_it_drops_some() {
    explore(|| {
        let requests = AtomicUsize::new(0);
        let executor = move |job: ExecutorJob| {
            if requests.fetch_add(1, Ordering::SeqCst).is_multiple_of(2) {
                drop(thread::spawn(job));
            }
        };
        let executor = Some(Arc::new(executor) as Arc<_>);
        let after_job = Box::new(|_| {});
        let scheduler = Scheduler::on(executor, Concurrency::MultiWriter, 2, after_job);
        let tables = Arc::new(Tables::default());
        let sets: [&[&str]; 4] = [&["a"], &["b"], &["a", "b"], &["b"]];
        for names in sets {
            let job = Box::new(tables.job(names));
            scheduler.enqueue(names.iter().copied(), job).unwrap();
        }
        scheduler.close();
        tables.check(sets.len());
    });
}

#[test]
fn disjoint_jobs_run_at_the_same_time() {
    explore(|| {
        let scheduler = scheduler(2);
        // One thread is idle or about to be idle. It can take one of the two jobs below, but not
        // both.
        let log = Log::default();
        scheduler.enqueue(["c"], note(&log, 'c')).unwrap();
        while log.lock().unwrap().is_empty() {
            thread::yield_now();
        }
        let met: Arc<(Mutex<usize>, Condvar)> = Arc::default();
        for table in ["a", "b"] {
            let met = Arc::clone(&met);
            let meet = Box::new(move || {
                let (count, changed) = &*met;
                let mut count = count.lock().unwrap();
                *count += 1;
                changed.notify_all();
                // A job that runs without the other one waits for ever.
                drop(changed.wait_while(count, |count| *count < 2).unwrap());
            });
            scheduler.enqueue([table], meet).unwrap();
        }
        scheduler.close();
        assert_eq!(*met.0.lock().unwrap(), 2);
    });
}

// Promise: concurrency#C21
#[test]
fn jobs_of_overlapping_tables_queued_by_many_threads_exclude_each_other_and_all_run() {
    explore(|| {
        let (scheduler, tables) = (Arc::new(scheduler(3)), Arc::<Tables>::default());
        let callers = [["a", "b"], ["b", "a"]].map(|order| {
            let (scheduler, tables) = (Arc::clone(&scheduler), Arc::clone(&tables));
            thread::spawn(move || {
                scheduler
                    .enqueue(order, Box::new(tables.job(&["a", "b"])))
                    .unwrap();
                scheduler
                    .enqueue(["b"], Box::new(tables.job(&["b"])))
                    .unwrap();
            })
        });
        for caller in callers {
            caller.join().unwrap();
        }
        scheduler.close();
        tables.check(4);
    });
}

#[test]
fn concurrent_jobs_are_bounded_by_the_threads() {
    explore(|| {
        let scheduler = scheduler(2);
        let (running, most): (Arc<AtomicUsize>, Arc<AtomicUsize>) = Default::default();
        let log = Log::default();
        for table in ["a", "b", "c", "d"] {
            let (running, most) = (Arc::clone(&running), Arc::clone(&most));
            let noted = note(&log, table);
            let job = Box::new(move || {
                let now = running.fetch_add(1, Ordering::SeqCst) + 1;
                most.fetch_max(now, Ordering::SeqCst);
                thread::yield_now();
                running.fetch_sub(1, Ordering::SeqCst);
                noted.run();
            });
            scheduler.enqueue([table], job).unwrap();
        }
        scheduler.close();
        assert!(most.load(Ordering::SeqCst) <= 2);
        assert_eq!(log.lock().unwrap().len(), 4);
    });
}

#[test]
fn accepted_jobs_run_before_a_concurrent_close_returns() {
    explore(|| {
        let (scheduler, tables) = (Arc::new(scheduler(2)), Arc::<Tables>::default());
        scheduler
            .enqueue(["a"], Box::new(tables.job(&["a"])))
            .unwrap();
        let calling = {
            let (scheduler, tables) = (Arc::clone(&scheduler), Arc::clone(&tables));
            thread::spawn(move || {
                let jobs = [&["a"][..], &["a", "b"], &["b"]];
                let accepted = jobs.map(|names| {
                    let job = Box::new(tables.job(names));
                    scheduler.enqueue(names.iter().copied(), job).is_ok()
                });
                accepted.into_iter().filter(|accepted| *accepted).count()
            })
        };
        let closing = {
            let (scheduler, tables) = (Arc::clone(&scheduler), Arc::clone(&tables));
            thread::spawn(move || {
                scheduler.close();
                tables.ran.load(Ordering::SeqCst)
            })
        };
        let ran_when_closed = closing.join().unwrap();
        let accepted = calling.join().unwrap() + 1;
        assert_eq!(ran_when_closed, accepted);
        tables.check(accepted);
        assert!(scheduler.enqueue(["a"], Box::new(|| {})).is_err());
    });
}

#[test]
fn two_threads_may_close_at_once() {
    explore(|| {
        let (scheduler, tables) = (Arc::new(scheduler(2)), Arc::<Tables>::default());
        scheduler
            .enqueue(["a"], Box::new(tables.job(&["a"])))
            .unwrap();
        scheduler
            .enqueue(["a", "b"], Box::new(tables.job(&["a", "b"])))
            .unwrap();
        let closing = {
            let scheduler = Arc::clone(&scheduler);
            thread::spawn(move || scheduler.close())
        };
        scheduler.close();
        tables.check(2);
        closing.join().unwrap();
    });
}

#[test]
fn last_job_runs_after_all_queued_jobs() {
    explore(|| {
        let (scheduler, log) = (Arc::new(scheduler(3)), Log::default());
        for (name, table) in [('1', "a"), ('2', "b"), ('3', "a")] {
            scheduler.enqueue([table], note(&log, name)).unwrap();
        }
        let later = {
            let (scheduler, log) = (Arc::clone(&scheduler), Arc::clone(&log));
            // This table has no queue yet. Its job may run before or after the last job.
            thread::spawn(move || scheduler.enqueue(["c"], note(&log, 'c')).unwrap())
        };
        scheduler.enqueue_last(note(&log, 'L')).unwrap();
        later.join().unwrap();
        scheduler.close();
        let log = log.lock().unwrap();
        let last = log.iter().position(|name| *name == 'L').unwrap();
        assert_eq!(log.len(), 5);
        assert_eq!(
            log[..last]
                .iter()
                .filter(|name| "123".contains(**name))
                .count(),
            3,
            "{log:?}"
        );
    });
}

// Promise: concurrency#C33
#[test]
fn jobs_on_the_callers_thread_take_their_turn() {
    explore(|| {
        let (scheduler, tables) = (Arc::new(scheduler(1)), Arc::<Tables>::default());
        let guests = [&["a"][..], &["b", "a"]].map(|names| {
            let (scheduler, tables) = (Arc::clone(&scheduler), Arc::clone(&tables));
            thread::spawn(move || {
                scheduler
                    .run_here(names.iter().copied(), tables.job(names))
                    .unwrap();
            })
        });
        scheduler
            .enqueue(["a", "b"], Box::new(tables.job(&["a", "b"])))
            .unwrap();
        scheduler
            .enqueue(["b"], Box::new(tables.job(&["b"])))
            .unwrap();
        for guest in guests {
            guest.join().unwrap();
        }
        scheduler.close();
        tables.check(4);
    });
}

#[test]
fn job_on_the_callers_thread_runs_or_is_refused_during_a_close() {
    explore(|| {
        let (scheduler, tables) = (Arc::new(scheduler(2)), Arc::<Tables>::default());
        scheduler
            .enqueue(["a"], Box::new(tables.job(&["a"])))
            .unwrap();
        let guest = {
            let (scheduler, tables) = (Arc::clone(&scheduler), Arc::clone(&tables));
            thread::spawn(move || scheduler.run_here(["a"], tables.job(&["a"])).is_ok())
        };
        scheduler.close();
        let ran = tables.ran.load(Ordering::SeqCst);
        let accepted = guest.join().unwrap();
        assert_eq!(ran, 1 + usize::from(accepted));
        tables.check(ran);
    });
}

#[test]
fn a_job_may_queue_another_and_a_scheduler_may_be_dropped() {
    explore(|| {
        let log = Log::default();
        let scheduler = Arc::new(scheduler(2));
        let first = {
            let (inside, log) = (Arc::clone(&scheduler), Arc::clone(&log));
            Box::new(move || {
                log.lock().unwrap().push(1);
                inside.enqueue(["a", "b"], note(&log, 2)).unwrap();
            })
        };
        scheduler.enqueue(["a"], first).unwrap();
        // The scheduler's threads end by themselves; a thread that did not would be reported as a
        // deadlock.
        drop(scheduler);
        while log.lock().unwrap().len() < 2 {
            thread::yield_now();
        }
        assert_eq!(*log.lock().unwrap(), [1, 2]);
    });
}

#[test]
fn one_job_runs_at_a_time_with_a_single_writer() {
    explore(|| {
        let log = Log::default();
        let after = Arc::new(AtomicUsize::new(0));
        let counting = Arc::clone(&after);
        let after_job = Box::new(move |_| {
            counting.fetch_add(1, Ordering::SeqCst);
        });
        let scheduler = Scheduler::new(Concurrency::SingleWriter, 3, after_job);
        for (name, table) in [(1, "a"), (2, "b"), (3, "a")] {
            scheduler.enqueue([table], note(&log, name)).unwrap();
        }
        scheduler.close();
        assert_eq!(*log.lock().unwrap(), [1, 2, 3]);
        assert_eq!(after.load(Ordering::SeqCst), 3);
    });
}
