//! The process that made an engine, told from a child that this process forks.
//!
//! Each read checks this, so the check makes no system call: the C library calls a function of this
//! file in each child, and the function counts the forks.
#![cfg_attr(
    unix,
    allow(
        unsafe_code,
        reason = "the C library calls a function in a forked child"
    )
)]

use std::sync::atomic::{AtomicU32, Ordering};

/// The number of forks that lead from the first process to this one.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// A process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Process {
    forks: u32,
    /// The process's id, if forks are not counted.
    id: Option<u32>,
}

impl Process {
    /// The process that this code runs in.
    pub(super) fn current() -> Self {
        let id = (!counts_forks()).then(std::process::id);
        let forks = FORKS.load(Ordering::Relaxed);
        Self { forks, id }
    }

    /// Whether this code runs in the process, and not in a child of it.
    #[inline]
    pub(super) fn is_current(self) -> bool {
        self.forks == FORKS.load(Ordering::Relaxed)
            && self.id.is_none_or(|id| id == std::process::id())
    }
}

/// Has forks counted from the first call on. Returns false if that is not possible.
#[cfg(unix)]
fn counts_forks() -> bool {
    use std::ffi::c_int;
    use std::sync::OnceLock;

    type Function = extern "C" fn();
    unsafe extern "C" {
        fn pthread_atfork(
            prepare: Option<Function>,
            parent: Option<Function>,
            child: Option<Function>,
        ) -> c_int;
    }
    extern "C" fn count() {
        FORKS.fetch_add(1, Ordering::Relaxed);
    }
    static IS_REGISTERED: OnceLock<bool> = OnceLock::new();
    *IS_REGISTERED.get_or_init(|| {
        // SAFETY: The function that a child calls adds to an atomic number, and nothing else, so it
        // may run in a child of a process with several threads. It exists as long as the program:
        // the C library forgets functions of a shared library that is closed.
        unsafe { pthread_atfork(None, None, Some(count)) == 0 }
    })
}

/// Other systems have no forks.
#[cfg(not(unix))]
const fn counts_forks() -> bool {
    true
}
