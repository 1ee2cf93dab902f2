//! A server that accepts connections and says nothing.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use dflat::{ErrorKind, Workspace};
use dflat_testkit::fixture::{bounded, until};
use dflat_testkit::schema::{Item, ItemChangeRequest, ItemData};
use socket2::{Domain, SockAddr, Socket, Type};

use crate::engines::{engine, is_skipped};
use crate::proxy::{Cut, Proxy};
use crate::server::{new_schema, server};

fn create(workspace: &Workspace, rank: i32, before_commit: impl FnOnce()) -> dflat::Result<()> {
    workspace.perform_changes_blocking([Item::TABLE], |tx| {
        let data = ItemData {
            id: format!("item {rank}"),
            rank,
            ..ItemData::default()
        };
        tx.submit(ItemChangeRequest::creation(data))?;
        before_commit();
        Ok(())
    })
}

/// A program that waits for a second at most, apart from the time that the library adds.
fn impatient(proxy: &Proxy, schema: &str) -> Workspace {
    let address = format!("{} connect_timeout=1", proxy.address());
    let builder = Workspace::server(&address).schema(schema);
    let timeout = Duration::from_millis(300);
    builder.busy_timeout(timeout).open().unwrap()
}

#[test]
fn every_call_fails_in_time_if_the_server_says_nothing() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let schema = new_schema();
        create(&engine(&schema), 0, || {}).unwrap();
        let proxy = Proxy::start(&server().unwrap().socket(), 0, Cut::Before);
        let [reader, writer, committer] = [0, 1, 2].map(|_| impatient(&proxy, &schema));
        let shown = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&shown);
        let subscription = reader.subscribe(reader.fetch::<Item>(), move |update| {
            if let Ok(update) = update {
                counted.store(update.result().len(), Ordering::SeqCst);
            }
        });
        let subscription = subscription.unwrap();
        create(&writer, 1, || {}).unwrap();
        create(&committer, 2, || {}).unwrap();
        until(|| shown.load(Ordering::SeqCst) == 3);
        let (all, stands_still) = (Barrier::new(3), Barrier::new(3));
        thread::scope(|scope| {
            scope.spawn(|| {
                create(&committer, 3, || {
                    all.wait();
                    proxy.set_silent(true);
                    stands_still.wait();
                })
                .map_err(|error| assert_eq!(error.kind(), ErrorKind::InDoubt, "{error:?}"))
                .unwrap_err();
            });
            scope.spawn(|| {
                all.wait();
                stands_still.wait();
                let refused = reader.fetch::<Item>().count().unwrap_err();
                assert_eq!(refused.kind(), ErrorKind::Io, "{refused:?}");
            });
            all.wait();
            stands_still.wait();
            let refused = create(&writer, 4, || {}).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Io, "{refused:?}");
        });
        // A program that begins now.
        let late = impatient(&proxy, &schema).fetch::<Item>().count();
        let late = late.unwrap_err();
        assert_eq!(late.kind(), ErrorKind::Io, "{late:?}");
        assert!(late.to_string().contains("has not answered"), "{late}");
        committer.shutdown().unwrap();

        // When the server goes on, so do the programs.
        proxy.set_silent(false);
        create(&engine(&schema), 5, || {}).unwrap();
        let stored = engine(&schema).fetch::<Item>().count().unwrap();
        until(|| shown.load(Ordering::SeqCst) == stored);
        create(&writer, 6, || {}).unwrap();
        until(|| shown.load(Ordering::SeqCst) == stored + 1);
        drop(subscription);
    });
}

#[test]
fn server_whose_queue_is_full_does_not_hang_a_call() {
    bounded(|| {
        let directory = tempfile::tempdir().unwrap();
        let address = SockAddr::unix(directory.path().join(".s.PGSQL.5432")).unwrap();
        let new = || {
            let socket = Socket::new(Domain::UNIX, Type::STREAM, None).unwrap();
            socket.set_nonblocking(true).unwrap();
            socket
        };
        let listener = new();
        listener.bind(&address).unwrap();
        listener.listen(1).unwrap();
        let mut waiting = Vec::new();
        let refused = loop {
            let socket = new();
            match socket.connect(&address) {
                Ok(()) => waiting.push(socket),
                Err(error) => break error,
            }
        };
        if refused.kind() != std::io::ErrorKind::WouldBlock {
            // Other systems than Linux refuse the connection at once.
            return;
        }
        let host = directory.path().display();
        let away = Workspace::connect(&format!("host={host} user=x connect_timeout=1")).unwrap();
        let failed = away.fetch::<Item>().count().unwrap_err();
        assert_eq!(failed.kind(), ErrorKind::Io, "{failed:?}");
        assert!(failed.to_string().contains("has not answered"), "{failed}");
    });
}
