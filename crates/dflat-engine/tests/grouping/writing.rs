//! Transactions of a commit group: the order of their writes, their outcomes and their deliveries.

use shuttle::sync::atomic::{AtomicBool, Ordering};
use shuttle::sync::{Arc, Barrier};
use shuttle::thread;

use crate::error::{Error, ErrorKind};
use crate::explore::explore;
use crate::world::{Event, World, delivered, raise, read};

/// The ends of transactions, in order: the name of each, and whether it succeeded.
fn ends(events: &[Event]) -> Vec<(char, bool)> {
    let ends = events.iter().filter_map(|event| match event {
        Event::Ended {
            name, went_well, ..
        } => Some((*name, *went_well)),
        _ => None,
    });
    ends.collect()
}

fn failed() -> Error {
    Error::new(ErrorKind::InvalidArgument, "it failed on purpose")
}

// Promise: concurrency#C40
#[test]
fn acknowledged_transaction_is_stored() {
    explore(|| {
        let world = World::new();
        for name in ['1', '2', '3'] {
            world.perform(name, &['A'], |tx| raise(tx, 'A').map(drop));
        }
        let events = world.close();
        assert_eq!(ends(&events), [('1', true), ('2', true), ('3', true)]);
        for (at, event) in events.iter().enumerate() {
            if let Event::Ended { stored, .. } = event {
                // Other transactions may have committed since, so that the counter may be higher.
                assert!(*stored >= delivered(&events[..at], 'A'), "{events:?}");
                assert!(*stored >= ends(&events[..=at]).len() as i64, "{events:?}");
            }
        }
    });
}

// Promise: concurrency#C40
#[test]
fn failed_transaction_leaves_its_group_unharmed() {
    explore(|| {
        let world = World::new();
        world.perform('1', &['A'], |tx| raise(tx, 'A').map(drop));
        world.perform('2', &['A'], |tx| {
            raise(tx, 'A')?;
            raise(tx, 'A')?;
            Err(failed())
        });
        world.perform('3', &['A'], |tx| {
            raise(tx, 'A')?;
            tx.abort();
            Ok(())
        });
        world.perform('4', &['A'], |tx| raise(tx, 'A').map(drop));
        let events = world.close();
        let expected = [('1', true), ('2', false), ('3', false), ('4', true)];
        assert_eq!(ends(&events), expected, "{events:?}");
        assert_eq!(delivered(&events, 'A'), 2);
    });
}

// Promise: concurrency#C40
#[test]
fn handlers_that_wait_for_each_other_before_writing_both_commit() {
    explore(|| {
        let world = World::new();
        let met = Arc::new(Barrier::new(2));
        for (name, tables) in [('1', &['A'] as &[char]), ('2', &['B'])] {
            let met = Arc::clone(&met);
            world.perform(name, tables, move |tx| {
                read(tx, tables[0])?;
                met.wait();
                raise(tx, tables[0])?;
                raise(tx, tables[0]).map(drop)
            });
        }
        world.perform('3', &['A', 'B'], |tx| {
            raise(tx, 'A')?;
            raise(tx, 'B').map(drop)
        });
        let events = world.close();
        assert_eq!((delivered(&events, 'A'), delivered(&events, 'B')), (3, 3));
        assert_eq!(ends(&events).last(), Some(&('3', true)));
    });
}

// Promise: concurrency#C40
#[test]
fn running_handler_may_wait_for_the_completion_before_it() {
    explore(|| {
        let world = World::new();
        world.perform('1', &['A'], |tx| raise(tx, 'A').map(drop));
        let waiting = world.clone();
        // This transaction declares table A as well. So its turn comes after that of the first,
        // which has had the write access before.
        world.perform('2', &['A', 'B'], move |tx| {
            raise(tx, 'B')?;
            waiting.wait_for('1');
            raise(tx, 'B').map(drop)
        });
        let events = world.close();
        assert_eq!(ends(&events), [('1', true), ('2', true)]);
        assert_eq!((delivered(&events, 'A'), delivered(&events, 'B')), (1, 2));
    });
}

#[test]
fn waiting_transaction_gets_write_access_after_another_fails() {
    explore(|| {
        let world = World::new();
        world.perform('1', &['A'], |tx| {
            raise(tx, 'A')?;
            thread::yield_now();
            Err(failed())
        });
        world.perform('2', &['B'], |tx| raise(tx, 'B').map(drop));
        world.perform('3', &['B'], |tx| raise(tx, 'B').map(drop));
        let events = world.close();
        assert_eq!((delivered(&events, 'A'), delivered(&events, 'B')), (0, 2));
        let mut ends = ends(&events);
        ends.sort_unstable();
        assert_eq!(ends, [('1', false), ('2', true), ('3', true)]);
    });
}

#[test]
fn reader_is_acknowledged_after_the_state_it_read_is_stored() {
    explore(|| {
        let world = World::new();
        world.perform('1', &['A'], |tx| raise(tx, 'A').map(drop));
        let saw = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&saw);
        world.perform('2', &['A'], move |tx| {
            let first = read(tx, 'A')?;
            thread::yield_now();
            assert_eq!(read(tx, 'A')?, first, "two states were read");
            seen.store(first == 1, Ordering::SeqCst);
            Ok(())
        });
        let events = world.close();
        assert!(
            saw.load(Ordering::SeqCst),
            "the second runs after the first"
        );
        assert_eq!(ends(&events), [('1', true), ('2', true)]);
    });
}

#[test]
fn registration_delivers_exactly_the_unseen_commits() {
    explore(|| {
        let world = World::new();
        world.perform('1', &['A'], |tx| raise(tx, 'A').map(drop));
        world.register('A');
        world.perform('2', &['A'], |tx| raise(tx, 'A').map(drop));
        let events = world.close();
        let at = events
            .iter()
            .position(|event| matches!(event, Event::Registered(_)));
        let at = at.unwrap();
        assert_eq!(events[at], Event::Registered(delivered(&events[..at], 'A')));
        assert_eq!(events[at], Event::Registered(1));
        assert_eq!(delivered(&events, 'A'), 2);
    });
}
