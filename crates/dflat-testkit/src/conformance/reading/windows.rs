//! Laws of pages, counts, single fields, and reads that are given up.

use std::time::Duration;

use dflat::{Cancellation, ErrorKind, Fetch, Order};
use futures::StreamExt;
use futures::executor::block_on;

use crate::conformance::samples::{ids, item, owned_ids};
use crate::fixture::{Fixture, Open};
use crate::schema::{Item, ItemData, Keyed, KeyedData, Level};

/// Items 0 to `count`, whose ranks and sizes repeat.
fn many(open: Open, count: i32) -> Fixture {
    let w = open();
    w.create::<Item>((0..count).map(|n| item(&format!("{n:04}"), n % 7)));
    w
}

/// Orders with and without an index, with many ties and without.
fn orders() -> [Option<Order<Item>>; 6] {
    [
        None,
        Some(Item::RANK.ascending()),
        Some(Item::RANK.descending()),
        Some(Item::SIZE.descending()),
        Some(Item::ID.descending()),
        Some((Item::SIZE % 3).ascending()),
    ]
}

fn ordered<'w>(fetch: Fetch<'w, Item>, order: Option<&Order<Item>>) -> Fetch<'w, Item> {
    match order {
        None => fetch,
        Some(order) => fetch.order_by(order.clone()),
    }
}

pub fn offset_skips_the_first_objects_of_the_order(open: Open) {
    let w = many(open, 30);
    for order in orders() {
        let fetch = || ordered(w.fetch(), order.as_ref());
        let all = owned_ids(&fetch().all().unwrap());
        for (offset, limit) in [(0, 5), (3, 5), (28, 5), (30, 1), (99, 1), (4, 0)] {
            let found = owned_ids(&fetch().offset(offset).limit(limit).all().unwrap());
            let from = offset.min(all.len());
            assert_eq!(found, all[from..(from + limit).min(all.len())], "{order:?} {offset}");
        }
        assert_eq!(owned_ids(&fetch().offset(27).all().unwrap()), all[27..], "{order:?}");
    }
}

pub fn pages_have_each_object_once(open: Open) {
    let w = many(open, 50);
    for order in orders() {
        let fetch = || ordered(w.fetch(), order.as_ref()).filter(Item::SIZE.ne(5));
        let (mut paged, mut place) = (Vec::new(), None);
        loop {
            let mut query = fetch();
            if let Some(place) = place {
                query = query.after(place);
            }
            let page = query.limit(8).all().unwrap();
            paged.extend(owned_ids(&page));
            place = page.end();
            if place.is_none() {
                break;
            }
        }
        assert_eq!(paged, owned_ids(&fetch().all().unwrap()), "{order:?}");
    }
}

pub fn pages_stay_right_under_writes(open: Open) {
    let w = many(open, 20);
    let by = || w.fetch::<Item>().order_by(Item::RANK.ascending()).order_by(Item::ID.ascending());
    let first = by().limit(6).all().unwrap();
    assert_eq!(ids(&first), ["0000", "0007", "0014", "0001", "0008", "0015"]);
    // The last object of the page is deleted; others are inserted around the cursor position.
    for id in ["0015", "0007", "0009"] {
        w.delete(&w.get::<Item>(id).unwrap().unwrap());
    }
    w.create::<Item>([item("0000a", 0), item("0001a", 1), item("0016a", 2)]);
    let next = by().after(first.end().unwrap()).limit(4).all().unwrap();
    assert_eq!(ids(&next), ["0002", "0016", "0016a", "0003"]);
}

pub fn cursor_of_another_order_is_refused(open: Open) {
    let w = many(open, 3);
    for of in orders() {
        let place = ordered(w.fetch(), of.as_ref()).all().unwrap().end().unwrap();
        let place = dflat::Cursor::from_bytes(&place.to_bytes()).unwrap();
        for order in orders() {
            let same = format!("{of:?}") == format!("{order:?}");
            let page = || ordered(w.fetch(), order.as_ref()).after(place.clone());
            let count = page().count().map_err(|error| error.kind());
            let found = page().all().map(|page| page.len()).map_err(|error| error.kind());
            let expected = if same { Ok(0) } else { Err(ErrorKind::InvalidArgument) };
            assert_eq!((count, found), (expected, expected), "{of:?} {order:?}");
        }
    }
}

pub fn live_result_of_a_window_stays_exact(open: Open) {
    let w = many(open, 6);
    let query = || w.fetch::<Item>().order_by(Item::ID.ascending()).offset(2).limit(2);
    let mut received = w.stream(query()).unwrap();
    let mut next = || owned_ids(&block_on(received.next()).unwrap().unwrap());
    assert_eq!(next(), ["0002", "0003"]);
    // Neither object was ever in the window.
    w.delete(&w.get::<Item>("0000").unwrap().unwrap());
    assert_eq!(next(), ["0003", "0004"]);
    w.create::<Item>([item("0000", 0)]);
    assert_eq!(next(), ["0002", "0003"]);
    let place = w.fetch::<Item>().order_by(Item::RANK.ascending()).limit(4).all().unwrap();
    let query = w.fetch::<Item>().order_by(Item::RANK.ascending()).after(place.end().unwrap());
    let mut received = w.stream(query).unwrap();
    let mut next = || owned_ids(&block_on(received.next()).unwrap().unwrap());
    assert_eq!(next(), ["0004", "0005"]);
    w.create::<Item>([item("before", 0), item("behind", 4)]);
    assert_eq!(next(), ["0004", "behind", "0005"]);
}

pub fn objects_stream_in_batches_of_one_state(open: Open) {
    let w = many(open, 700);
    for order in orders() {
        let fetch = || ordered(w.fetch(), order.as_ref()).offset(3).limit(690);
        let all = owned_ids(&fetch().all().unwrap());
        let mut streamed = Vec::new();
        for (n, object) in fetch().iter().unwrap().enumerate() {
            if n == 10 {
                // The stream returns the state of its beginning.
                w.delete(&w.get::<Item>("0600").unwrap().unwrap());
                w.create::<Item>([item("0600a", 6)]);
            }
            streamed.push(object.unwrap().id().to_owned());
        }
        assert_eq!(streamed, all, "{order:?}");
        w.delete(&w.get::<Item>("0600a").unwrap().unwrap());
        w.create::<Item>([item("0600", 5)]);
    }
    assert_eq!(w.fetch::<Item>().limit(256).iter().unwrap().count(), 256);
    assert_eq!(w.fetch::<Item>().limit(0).iter().unwrap().count(), 0);
}

pub fn objects_stream_inside_a_transaction(open: Open) {
    let w = many(open, 300);
    let seen = w.perform([Item::TABLE], |tx| {
        tx.submit(dflat::ChangeRequest::<Item>::creation(item("new", 1)))?;
        let mut last = None;
        let objects = tx.fetch::<Item>().iter()?;
        let count = objects.inspect(|object| last = object.as_ref().ok().cloned()).count();
        Ok((count, last.map(|item| item.id().to_owned())))
    });
    assert_eq!(seen, (301, Some("new".to_owned())));
}

pub fn counts_respect_filters_limits_and_offsets(open: Open) {
    let w = many(open, 30);
    let fetch = || w.fetch::<Item>();
    assert_eq!(fetch().count().unwrap(), 30);
    for rank in [|| Item::RANK, || Item::SIZE] {
        assert_eq!(fetch().filter(rank().eq(0)).count().unwrap(), 5);
        assert_eq!(fetch().filter(rank().between(1, 2)).limit(7).count().unwrap(), 7);
        assert_eq!(fetch().filter(rank().gt(3)).offset(10).count().unwrap(), 2);
        assert!(fetch().filter(rank().eq(6)).exists().unwrap());
        assert!(!fetch().filter(rank().eq(7)).exists().unwrap());
    }
    assert_eq!(fetch().order_by(Item::SIZE.ascending()).limit(4).count().unwrap(), 4);
    assert!(!fetch().limit(0).exists().unwrap());
}

pub fn sums_means_and_extremes_are_computed(open: Open) {
    let w = many(open, 9);
    let fetch = || w.fetch::<Item>();
    for rank in [|| Item::RANK, || Item::SIZE] {
        assert_eq!(fetch().sum(rank()).unwrap(), Some(22));
        assert_eq!(fetch().avg(rank()).unwrap(), Some(22.0 / 9.0));
        assert_eq!(fetch().min(rank()).unwrap(), Some(0));
        assert_eq!(fetch().max(rank()).unwrap(), Some(6));
        assert_eq!(fetch().filter(rank().gt(9)).sum(rank()).unwrap(), None);
        assert_eq!(fetch().filter(rank().gt(9)).max(rank()).unwrap(), None);
        assert_eq!(fetch().order_by(rank().descending()).limit(2).sum(rank()).unwrap(), Some(11));
        assert_eq!(fetch().offset(8).max(rank()).unwrap(), Some(1));
        let too_large = fetch().sum(rank() * (i64::MAX / 10));
        assert_eq!(too_large.unwrap_err().kind(), ErrorKind::InvalidArgument);
    }
    assert_eq!(fetch().max(Item::ID).unwrap().as_deref(), Some("0008"));
    assert_eq!(fetch().min(Item::NAME).unwrap(), None);
    assert_eq!(fetch().max(Item::LEVEL).unwrap(), Some(Level::Mid));
}

pub fn single_fields_are_read(open: Open) {
    let w = open();
    w.create::<Item>([("a", None), ("b", Some("x"))].map(|(id, name)| ItemData {
        name: name.map(Into::into),
        ..item(id, 4)
    }));
    let rows = w.fetch::<Item>().order_by(Item::ID.descending());
    let rows = rows.select((Item::ID, Item::NAME, Item::RANK * 2, Item::LEVEL)).unwrap();
    let row = |id: &str, name: Option<&str>| {
        (id.to_owned(), name.map(str::to_owned), Some(8), Level::Mid)
    };
    assert_eq!(rows, [row("b", Some("x")), row("a", None)]);
    let names = w.fetch::<Item>().limit(1).select(Item::NAME).unwrap();
    assert_eq!(names, [None]);
}

pub fn many_keys_are_looked_up_at_once(open: Open) {
    let w = many(open, 5);
    let found = w.get_many::<Item>(["0003", "none", "0001", "0003"]).unwrap();
    let found: Vec<Option<&str>> = found.iter().map(|item| item.as_ref().map(Item::id)).collect();
    assert_eq!(found, [Some("0003"), None, Some("0001"), Some("0003")]);
    let key = KeyedData { zone: "z".into(), number: u64::MAX, ..KeyedData::default() };
    w.create::<Keyed>([key]);
    let found = w.get_many::<Keyed>([("z", 0, false), ("z", u64::MAX, false)]).unwrap();
    assert_eq!(found.iter().map(Option::is_some).collect::<Vec<_>>(), [false, true]);
    let inside = w.perform([Item::TABLE], |tx| Ok(tx.get_many::<Item>(["0000"])?.len()));
    assert_eq!(inside, 1);
    assert_eq!(w.snapshot().unwrap().get_many::<Item>(["0000", "x"]).unwrap().len(), 2);
}

pub fn cancelled_and_late_reads_are_given_up(open: Open) {
    let w = many(open, 300);
    let cancellation = Cancellation::new();
    let fetch = || w.fetch::<Item>().cancelled_by(&cancellation);
    assert_eq!(fetch().count().unwrap(), 300);
    let mut streamed = fetch().iter().unwrap();
    assert!(streamed.next().unwrap().is_ok());
    cancellation.cancel();
    assert_eq!(fetch().all().unwrap_err().kind(), ErrorKind::Cancelled);
    assert_eq!(fetch().select(Item::ID).unwrap_err().kind(), ErrorKind::Cancelled);
    let counts = [
        fetch().count(),
        fetch().filter(Item::RANK.gt(1)).count(),
        fetch().filter(Item::RANK.eq(1) | Item::NAME.eq("x")).count(),
        fetch().group_by(Item::RANK).all().map(|groups| groups.len()),
        fetch().exists().map(usize::from),
    ];
    for count in counts {
        assert_eq!(count.unwrap_err().kind(), ErrorKind::Cancelled);
    }
    let late = w.fetch::<Item>().timeout(Duration::ZERO).count().unwrap_err();
    assert_eq!(late.kind(), ErrorKind::DeadlineExceeded);
    let rest: Vec<_> = streamed.collect();
    assert_eq!(rest.len(), 256, "255 were fetched before, and then comes the error");
    assert_eq!(rest[255].as_ref().unwrap_err().kind(), ErrorKind::Cancelled);
    let late = w.fetch::<Item>().timeout(Duration::ZERO).all().unwrap_err();
    assert_eq!(late.kind(), ErrorKind::DeadlineExceeded);
    assert_eq!(w.fetch::<Item>().timeout(Duration::MAX).all().unwrap().len(), 300);
    let choice = || Item::RANK.gt(1) & Item::NAME.lt("x");
    assert!(w.fetch::<Item>().filter(choice()).explain().is_ok());
    let planned = fetch().filter(choice()).explain();
    assert_eq!(planned.unwrap_err().kind(), ErrorKind::Cancelled, "ranges are counted");
    // A transaction goes on after one of its reads was cancelled.
    w.perform([Item::TABLE], move |tx| {
        tx.submit(dflat::ChangeRequest::<Item>::creation(item("kept", 1)))?;
        let given_up = tx.fetch::<Item>().cancelled_by(&cancellation).all();
        assert_eq!(given_up.unwrap_err().kind(), ErrorKind::Cancelled);
        tx.submit(dflat::ChangeRequest::<Item>::creation(item("kept too", 1)))?;
        Ok(())
    });
    assert_eq!(w.fetch::<Item>().count().unwrap(), 302);
}
