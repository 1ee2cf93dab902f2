//! Values that are dropped at the end of their thread, and use a workspace then.

use std::cell::RefCell;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use dflat::{Result, Workspace};
use dflat_testkit::schema::{Item, ItemChangeRequest, ItemData};

/// Saves an item when it is dropped, and sends the number of items.
struct LastWill(Workspace, Sender<Result<usize>>);

impl Drop for LastWill {
    fn drop(&mut self) {
        let Self(workspace, sender) = self;
        let count = save(workspace, "will").and_then(|()| workspace.fetch::<Item>().count());
        sender.send(count).unwrap();
    }
}

thread_local! {
    static LAST_WILL: RefCell<Option<LastWill>> = const { RefCell::new(None) };
}

fn save(workspace: &Workspace, id: &str) -> Result<()> {
    workspace.perform_changes_blocking([Item::TABLE], |tx| {
        let id = id.to_owned();
        let data = ItemData {
            id,
            ..ItemData::default()
        };
        tx.submit(ItemChangeRequest::creation(data))?;
        // A read in a handler sees the transaction.
        assert!(workspace.fetch::<Item>().count()? > 0);
        Ok(())
    })
}

/// The reads and writes of such a value panicked.
// Promise: concurrency#C88
#[test]
fn values_that_are_dropped_at_the_end_of_their_thread_read_and_write() {
    let directory = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(directory.path().join("a.db")).unwrap();
    let (sender, counts) = channel();
    let of_thread = workspace.clone();
    let ended = thread::spawn(move || {
        // Values of a thread are dropped in the reverse order of their first use, so this one is
        // dropped after those of the library.
        LAST_WILL.set(Some(LastWill(of_thread.clone(), sender)));
        save(&of_thread, "before").unwrap();
    });
    ended.join().unwrap();
    assert_eq!(counts.recv().unwrap().unwrap(), 2);
}
