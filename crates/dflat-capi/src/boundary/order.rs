//! The order of calls, shown to the thread sanitizer of a C compiler.
//!
//! The sanitizer sees POSIX locks, and not the locks of Rust. Without more, it reports a race
//! between a callback and the code before the callback was handed over, or after a wait. With the
//! feature `thread-sanitizer`, each callback has a lock, which it takes when it is handed over and
//! when it is called. All calls, and all functions that cause calls or wait for them, share one
//! more lock. No lock is held during a call, so two calls at once still count as a race. Without
//! the feature, this module does nothing.

#[cfg(all(feature = "thread-sanitizer", unix))]
pub(super) use shown::Order;
#[cfg(not(all(feature = "thread-sanitizer", unix)))]
pub(super) use silent::Order;

/// Marks a function that causes calls: they come after what its thread has done before.
pub(crate) fn causes_calls() {
    Order::among_functions();
}

/// A function that waits for calls: what its thread does later comes after them. It may cause calls
/// too.
pub(crate) struct WaitsForCalls(());

/// Marks the rest of a function as one that waits for calls.
pub(crate) fn waits_for_calls() -> WaitsForCalls {
    Order::among_functions();
    WaitsForCalls(())
}

impl Drop for WaitsForCalls {
    fn drop(&mut self) {
        Order::among_functions();
    }
}

#[cfg(all(feature = "thread-sanitizer", unix))]
mod shown {
    #![expect(
        unsafe_code,
        reason = "POSIX locks, which the sanitizer sees, have no other interface"
    )]

    use std::cell::UnsafeCell;
    use std::sync::Arc;

    /// A POSIX lock for reading and writing. It is not held while anything else runs.
    struct Lock(UnsafeCell<libc::pthread_rwlock_t>);

    // SAFETY: only POSIX functions use the lock, on any thread.
    unsafe impl Send for Lock {}
    // SAFETY: as above.
    unsafe impl Sync for Lock {}

    impl Lock {
        const fn new() -> Self {
            Self(UnsafeCell::new(libc::PTHREAD_RWLOCK_INITIALIZER))
        }

        /// Orders this thread after all that used the lock before, and before all that use it
        /// later.
        fn write(&self) {
            // SAFETY: the lock is initialized, and stays where it is: in a static or an `Arc`.
            unsafe {
                libc::pthread_rwlock_wrlock(self.0.get());
                libc::pthread_rwlock_unlock(self.0.get());
            }
        }

        /// Orders this thread after the writers so far, and before the writers to come. Readers are
        /// not ordered among themselves.
        fn read(&self) {
            // SAFETY: as above.
            unsafe {
                libc::pthread_rwlock_rdlock(self.0.get());
                libc::pthread_rwlock_unlock(self.0.get());
            }
        }
    }

    impl Drop for Lock {
        fn drop(&mut self) {
            // SAFETY: the lock is initialized, and nothing else uses it any more.
            unsafe { libc::pthread_rwlock_destroy(self.0.get()) };
        }
    }

    /// Calls read it, and functions that cause calls or wait for them write it.
    static ALL: Lock = Lock::new();

    /// The order of the calls of one callback, or of a handler and its completion.
    #[derive(Clone)]
    pub(in super::super) struct Order(Arc<Lock>);

    impl Order {
        /// The order of a callback that the program hands over now.
        pub(in super::super) fn new() -> Self {
            let order = Self(Arc::new(Lock::new()));
            order.0.write();
            order
        }

        /// Before a call, or before the context is released.
        pub(in super::super) fn begin(&self) {
            self.0.write();
            ALL.read();
        }

        /// After a call.
        pub(in super::super) fn end(&self) {
            self.0.write();
            ALL.read();
        }

        /// After the context of a callback was released.
        pub(in super::super) fn after_release() {
            ALL.read();
        }

        /// In a function that causes calls or waits for them.
        pub(in super::super) fn among_functions() {
            ALL.write();
        }
    }
}

#[cfg(not(all(feature = "thread-sanitizer", unix)))]
mod silent {
    /// Without the feature, an order has no content.
    #[derive(Clone)]
    pub(in super::super) struct Order;

    impl Order {
        pub(in super::super) const fn new() -> Self {
            Self
        }

        pub(in super::super) const fn begin(&self) {}

        pub(in super::super) const fn end(&self) {}

        pub(in super::super) const fn after_release() {}

        pub(in super::super) const fn among_functions() {}
    }
}
