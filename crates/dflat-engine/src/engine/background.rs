//! The threads that make blocking calls for callers that must not block.

use std::fmt;
use std::num::NonZero;

use super::Engine;
use crate::background::{Background, Call, Place};
use crate::error::Result;

/// The largest number of threads that make long calls.
const LONG_MAX: usize = 4;

/// The bounds of the number of threads that read. Between them, the number is that of the backend
/// or of the processors.
const READS: (usize, usize) = (4, 64);

/// How long a background call may take. Calls of different lengths do not wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// A read, which waits for no transaction and no callback.
    Read,
    /// A call that takes long, or may wait for transactions, callbacks or the caller's own code.
    Long,
}

/// The threads of an engine that make background calls.
pub(super) struct Threads {
    reads: Background,
    long: Background,
}

impl Threads {
    /// `reads_max` is that of the backend.
    pub(super) fn new(reads_max: Option<usize>) -> Self {
        let (least, most) = READS;
        let processors = || std::thread::available_parallelism().map_or(least, NonZero::get);
        let reads = reads_max.unwrap_or_else(processors).clamp(least, most);
        Self {
            reads: Background::new("dflat-read", reads),
            long: Background::new("dflat-call", LONG_MAX),
        }
    }

    /// Lets the threads end as soon as no call waits.
    pub(super) fn close(&self) {
        self.reads.close();
        self.long.close();
    }
}

impl Engine {
    /// Has a thread of the engine make a blocking call, and returns at once. The call may begin
    /// after the client has ended, so it must be a call that then fails with
    /// [`ErrorKind::ShutDown`](crate::ErrorKind::ShutDown).
    ///
    /// # Errors
    /// The call is dropped.
    /// - [`ErrorKind::ShutDown`](crate::ErrorKind::ShutDown), with the operation in its message,
    ///   after shutdown.
    /// - [`ErrorKind::Io`](crate::ErrorKind::Io) if there is no thread and none can be started.
    pub fn call_in_background(
        &self,
        length: Length,
        operation: fmt::Arguments<'_>,
        call: Call,
    ) -> Result<Place> {
        self.refuse_work(operation)?;
        let threads = match length {
            Length::Read => &self.inner.background.reads,
            Length::Long => &self.inner.background.long,
        };
        let queued = threads.queue(call);
        queued.map_err(|error| error.context(format_args!("cannot {operation}")))
    }
}
