//! Laws of subscribing while other transactions commit.

use std::sync::mpsc;
use std::thread;

use dflat::{Fetch, SubscribedObject};

use super::results::ItemsUpdate;
use crate::conformance::samples::item;
use crate::fixture::{Fixture, Open, drained, next};
use crate::schema::Item;

/// The number of races, and of the commits that race with a registration in each. They are few, so
/// that a registration often races with the last of them. Each commit advances a clock by one.
const ROUNDS: usize = 60;
const COMMITS: i32 = 8;

/// The number of commits that a subscriber follows before it cancels.
const FOLLOWED: i32 = 2;

/// Subscribes again and again while two threads advance a clock. `follow` gets the clock as it was
/// created, and returns its value when it stopped following.
fn race(open: Open, follow: impl Fn(&Fixture, &Item) -> i32 + Sync) {
    let w = open();
    w.create::<Item>((1..5).map(|n| item(&format!("k{n}"), -n)));
    for _ in 0..ROUNDS {
        let clock: Item = w.create([item("clock", 0)]).remove(0);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for _ in 0..COMMITS / 2 {
                        w.change(&clock, |data| data.rank += 1);
                    }
                });
                scope.spawn(|| while follow(&w, &clock) < COMMITS {});
            }
        });
        w.delete(&clock);
    }
}

/// Subscribes to a fetched result, which may be out of date.
fn follow(w: &Fixture, query: fn(&Fixture) -> Fetch<'_, Item>) -> i32 {
    let known = query(w).all().unwrap();
    let (send, received) = mpsc::channel();
    let callback = move |update: ItemsUpdate| send.send(update.unwrap()).unwrap();
    let subscription = w.subscribe(&known, callback).unwrap();
    let states = |items: &[Item]| -> Vec<_> {
        let state = |item: &Item| (item.id().to_owned(), item.rank());
        items.iter().map(state).collect()
    };
    let (start, mut list) = (known[0].rank(), states(&known));
    let mut at = start;
    let mut is_first = true;
    while at < COMMITS.min(start + FOLLOWED) {
        let update = next(&received);
        let now = update[0].rank();
        assert_eq!(states(update.previous().unwrap()), list, "delivered before");
        // The first delivery has the missed changes. Its count of commits is 0, unless it was
        // merged with the next delivery because the callback was busy.
        let is_alone = update.commits() == 0 || subscription.coalesced() > 0;
        let is_missed = is_first && is_alone && now > at;
        let commits = i64::from(now - at);
        assert!(is_missed || commits == update.commits().cast_signed(), "{commits}");
        let new = states(&update);
        let make = |position: usize| new[position].clone();
        update.difference().apply(&mut list, make);
        assert_eq!(list, new, "by its difference");
        (at, is_first) = (now, false);
    }
    drop(subscription);
    at
}

// Promise: live-queries#L3
pub fn result_changed_during_its_registration_misses_and_repeats_no_delivery(
    open: Open,
) {
    race(open, |w, _| follow(w, |w| w.fetch().order_by(Item::RANK.descending())));
}

// Promise: live-queries#L3
pub fn window_changed_during_its_registration_misses_and_repeats_no_delivery(
    open: Open,
) {
    race(open, |w, _| follow(w, |w| w.fetch().order_by(Item::RANK.descending()).limit(2)));
}

// Promise: live-queries#L3
pub fn object_changed_during_its_registration_misses_and_repeats_no_delivery(
    open: Open,
) {
    race(open, |w, clock| {
        let known = w.get::<Item>(clock.id()).unwrap().unwrap();
        let (send, received) = mpsc::channel();
        let callback = move |event| send.send(event).unwrap();
        let subscription = w.subscribe(&known, callback).unwrap();
        let start = known.rank();
        let mut at = start;
        while at < COMMITS.min(start + FOLLOWED) {
            let SubscribedObject::Updated(now) = next(&received) else {
                panic!("nobody deletes it");
            };
            assert!(now.rank() > at, "{} is not after {at}", now.rank());
            at = now.rank();
        }
        subscription.cancel();
        let rest: Vec<SubscribedObject<Item>> = drained(&received);
        assert!(at < COMMITS || rest.is_empty(), "{} after the last", rest.len());
        at
    });
}
