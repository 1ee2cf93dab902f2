//! The data of an open file, and the monitor that counts its calls.

use std::cell::Cell;
use std::ffi::c_int;
use std::rc::Rc;
use std::sync::Arc;

use super::call::{FileKind, Operation};
use super::counter::FileCounters;
use super::log_buffer::LogBuffer;
use super::memory_index::MemoryIndex;
use super::monitor::Monitor;
use super::monitors::note_current;
use super::request::{Call, Effect};

/// The data of an open file.
pub(super) struct OpenFile {
    pub(super) kind: FileKind,
    /// `None` if no monitor counts the calls on the file's database.
    pub(super) monitor: Option<FileMonitor>,
    /// Whether the file is a write-ahead log.
    pub(super) is_log: bool,
    /// Whether the next sync also syncs the directory.
    pub(super) syncs_directory: Cell<bool>,
    /// The index of the log, if it is in memory.
    pub(super) log_index: Option<MemoryIndex>,
    /// The frames of the log that are not written yet, in the data of the log and of its main file.
    // Invariant: both files are used by the thread that uses the connection, and only by it.
    pub(super) log_buffer: Option<Rc<LogBuffer>>,
}

/// The monitor of an open file, and the counters of its calls.
pub(super) struct FileMonitor {
    monitor: Arc<Monitor>,
    file: Arc<FileCounters>,
    /// The counters of the index of the log, which is mapped and locked through the main file.
    log_index: Option<Arc<FileCounters>>,
}

impl FileMonitor {
    pub(super) fn new(monitor: Arc<Monitor>, kind: FileKind) -> Self {
        Self {
            file: monitor.open_file(kind),
            log_index: (kind == FileKind::Main).then(|| monitor.open_file(FileKind::LogIndex)),
            monitor,
        }
    }

    /// The counters for an operation on the file, or on the log's index.
    fn counters(&self, on_log_index: bool) -> &FileCounters {
        match &self.log_index {
            Some(counters) if on_log_index => counters,
            _ => &self.file,
        }
    }
}

impl Drop for FileMonitor {
    fn drop(&mut self) {
        for counters in [Some(&self.file), self.log_index.as_ref()]
            .into_iter()
            .flatten()
        {
            self.monitor.close_file(counters);
        }
    }
}

impl OpenFile {
    /// Makes a call that the monitor, if there is one, counts and may make fail.
    #[inline]
    pub(super) fn run(
        &self,
        operation: Operation,
        length: usize,
        effect: Effect<'_>,
        perform: impl FnMut(usize) -> c_int,
    ) -> c_int {
        self.run_on(false, operation, length, effect, perform)
    }

    /// As [`Self::run`], on the index of the log.
    pub(super) fn run_on_log_index(
        &self,
        operation: Operation,
        perform: impl FnMut(usize) -> c_int,
    ) -> c_int {
        self.run_on(true, operation, 1, Effect::NOTHING, perform)
    }

    #[inline]
    fn run_on(
        &self,
        on_log_index: bool,
        operation: Operation,
        length: usize,
        effect: Effect<'_>,
        mut perform: impl FnMut(usize) -> c_int,
    ) -> c_int {
        let Some(monitor) = &self.monitor else {
            return perform(length);
        };
        let counters = monitor.counters(on_log_index);
        let call = Call::new(Some(counters), counters.kind, operation, length);
        monitor.monitor.run(&call.with(effect), perform)
    }

    /// Notes the end of a read or a write.
    #[inline]
    pub(super) fn note_extent(&self, operation: Operation, offset: i64, length: usize) {
        if let Some(monitor) = &self.monitor {
            let start = offset.unsigned_abs();
            let end = start + length as u64;
            monitor
                .monitor
                .note_extent(self.kind, operation, start, end);
        }
    }

    /// The frames that are not written yet, if this file is a log.
    pub(super) fn buffer_of_log(&self) -> Option<&LogBuffer> {
        self.log_buffer.as_deref().filter(|_| self.is_log)
    }

    /// Notes that this thread uses the database of the file.
    pub(super) fn note_current(&self) {
        if let Some(monitor) = &self.monitor {
            note_current(&monitor.monitor);
        }
    }
}
