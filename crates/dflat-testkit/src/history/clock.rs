//! Moments that are comparable across threads and processes.

use std::fs::{File, OpenOptions};
use std::io::{Seek, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Numbers moments: a moment that begins after the end of another has a larger number.
#[derive(Clone, Debug)]
pub struct Clock(Arc<Source>);

#[derive(Debug)]
enum Source {
    Process(AtomicU64),
    /// A file to which each moment appends a byte. The position behind this byte is the number.
    File(Mutex<File>),
}

impl Clock {
    /// A clock for the threads of this process.
    #[must_use]
    pub fn of_process() -> Self {
        Self(Arc::new(Source::Process(AtomicU64::new(0))))
    }

    /// A clock for all processes that use the same file, which is created if necessary.
    #[must_use]
    pub fn of_file(path: &Path) -> Self {
        let file = OpenOptions::new().append(true).create(true).open(path);
        Self(Arc::new(Source::File(Mutex::new(file.unwrap()))))
    }

    /// Whether other processes use the clock.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        matches!(*self.0, Source::File(_))
    }

    /// A number of its own for this moment.
    #[must_use]
    pub fn now(&self) -> u64 {
        match &*self.0 {
            Source::Process(last) => last.fetch_add(1, Ordering::SeqCst) + 1,
            Source::File(file) => {
                let mut file = file.lock().unwrap();
                file.write_all(b".").unwrap();
                file.stream_position().unwrap()
            }
        }
    }
}
