//! Syncs the written part of a large file while more of it is written, so that the last sync is
//! short.

use std::fs::File;
use std::io;
use std::sync::mpsc;
use std::thread;

/// Does `work`, which writes to a file and calls its argument when there are bytes to sync.
///
/// # Errors
/// The error of a sync: the device may not report it again at the last sync.
pub(crate) fn sync_ahead<R>(file: &File, work: impl FnOnce(&dyn Fn()) -> R) -> io::Result<R> {
    thread::scope(|scope| {
        // One more sync serves all requests that came meanwhile.
        let (ask, asked) = mpsc::sync_channel(1);
        let thread = thread::Builder::new().name("dflat-sync".to_owned());
        let sync = move || asked.into_iter().try_for_each(|()| file.sync_data());
        // Without a thread, only the last sync is made.
        let syncing = thread.spawn_scoped(scope, sync);
        let outcome = work(&|| {
            // A sync is requested already, or it failed; the failure is returned below.
            let _ = ask.try_send(());
        });
        drop(ask);
        match syncing.map(thread::ScopedJoinHandle::join) {
            Ok(Ok(Err(error))) => Err(error),
            _ => Ok(outcome),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sync_ahead_returns_the_result_of_the_work() {
        let file = tempfile::tempfile().unwrap();
        for asks in [0, 1, 100] {
            let given = sync_ahead(&file, |ask| (0..asks).for_each(|_| ask()));
            assert!(given.is_ok());
        }
        assert_eq!(sync_ahead(&file, |_| 7).unwrap(), 7);
    }

    // Promise: durability#D51
    #[cfg(unix)]
    #[test]
    fn failed_sync_ahead_is_an_error() {
        // A pipe can't be synced.
        let (_reader, writer) = io::pipe().unwrap();
        let file = File::from(std::os::fd::OwnedFd::from(writer));
        assert!(sync_ahead(&file, |_| ()).is_ok());
        assert!(sync_ahead(&file, |ask| ask()).is_err());
    }
}
