//! Laws of the objects and lists that live results share.

use std::sync::mpsc::{self, Receiver};

use dflat::{FetchedResult, Object, Subscription, Update};

use super::results::ItemsUpdate;
use crate::conformance::samples::item;
use crate::fixture::{Fixture, Open, next};
use crate::schema::{Item, ItemChangeRequest};

type Updates = Receiver<Update<FetchedResult<Item>>>;

fn updates(w: &Fixture) -> (Subscription, Updates) {
    let (send, received) = mpsc::channel();
    let callback = move |update: ItemsUpdate| send.send(update.unwrap()).unwrap();
    (w.subscribe(w.fetch::<Item>(), callback).unwrap(), received)
}

fn ranked(w: &Fixture, count: i32) -> Vec<Item> {
    w.create((0..count).map(|n| item(&format!("k{n:03}"), n)))
}

fn is_shared(a: &Item, b: &Item) -> bool {
    a.handle().is(b.handle())
}

// Promise: live-queries#L40
pub fn unchanged_objects_are_shared_with_the_previous_result(open: Open) {
    let w = open();
    let objects = ranked(&w, 100);
    let (subscription, received) = updates(&w);
    let first = next(&received);
    w.change(&objects[40], |data| data.rank = -1);
    let update = next(&received);
    assert_eq!(update.difference().updated(), [40]);
    let shared = first.iter().zip(update.iter()).map(|(a, b)| is_shared(a, b));
    let copied: Vec<_> = shared.enumerate().filter(|(_, shared)| !shared).collect();
    assert_eq!(copied, [(40, false)]);
    drop(subscription);
}

// Promise: live-queries#L40
pub fn subscribers_of_one_result_share_its_list(open: Open) {
    let w = open();
    let objects = ranked(&w, 10);
    let known = w.fetch::<Item>().all().unwrap();
    let (one, first) = updates(&w);
    let (two, second) = updates(&w);
    let (a, b) = (next(&first), next(&second));
    assert!(std::ptr::eq(a.as_ptr(), b.as_ptr()), "the first result");
    assert_eq!(a.result(), &known);
    w.delete(&objects[3]);
    let (a, b) = (next(&first), next(&second));
    assert!(std::ptr::eq(a.as_ptr(), b.as_ptr()), "the result after a commit");
    assert_eq!(a.previous(), Some(&known));
    drop((one, two));
}

/// Rows leave, enter and change, alone and in runs, at the ends and in the middle.
pub fn live_result_changed_at_any_positions_equals_a_fetch(open: Open) {
    let w = open();
    let mut objects = ranked(&w, 60);
    let query = || w.fetch::<Item>().filter(Item::RANK.lt(30));
    let (send, received) = mpsc::channel();
    let callback = move |update: ItemsUpdate| send.send(update.unwrap()).unwrap();
    let subscription = w.subscribe(query(), callback).unwrap();
    let mut list: Vec<Item> = next(&received).to_vec();
    for step in 0..40_usize {
        // Pseudo-random bits, the same in each run.
        let bits = (step as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        let chosen = |at: usize| bits >> (at / (1 + step % 4)) & 1 == 1;
        let moved = (0..60).filter(|at| chosen(*at)).map(|at| objects[at].clone());
        let moved: Vec<Item> = moved.collect();
        w.perform([Item::TABLE], move |tx| {
            moved.iter().enumerate().try_for_each(|(nth, object)| {
                let mut request = ItemChangeRequest::change(tx, object)?.unwrap();
                match nth % 3 {
                    0 => request.size += 1,
                    _ => request.rank = (request.rank + 30) % 60,
                }
                tx.submit(request).map(drop)
            })
        });
        objects = w.fetch::<Item>().all().unwrap().to_vec();
        let fetched = query().all().unwrap();
        if list == *fetched {
            continue;
        }
        let update = next(&received);
        update.difference().apply(&mut list, |at| update[at].clone());
        assert_eq!((&list[..], &update[..]), (&fetched[..], &fetched[..]), "step {step}");
    }
    drop(subscription);
}
