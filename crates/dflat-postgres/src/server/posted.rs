//! Statements that were sent, and whose answers were not waited for.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use super::driver::Driver;

/// The server's answer to a statement.
pub(crate) type Answer<T> = Result<T, tokio_postgres::Error>;

type Posting = Pin<Box<dyn Future<Output = Answer<()>> + Send>>;

/// The statements that a connection has sent, in order, as far as their answers have not come. The
/// connection stops at an answer that is not taken, so they are taken while the library waits for a
/// later one.
#[derive(Default)]
pub(super) struct Posted {
    postings: Vec<Posting>,
    failed: Option<tokio_postgres::Error>,
}

/// A connection has at most this many statements whose answers were not waited for.
const POSTED_MAX: usize = 16;

impl Posted {
    /// Sends a statement.
    pub(super) fn add(
        &mut self,
        driver: &mut Driver,
        posting: impl Future<Output = Answer<()>> + Send + 'static,
    ) {
        if self.postings.len() >= POSTED_MAX {
            self.finish(driver);
        }
        self.postings.push(Box::pin(posting));
        let mut context = Context::from_waker(std::task::Waker::noop());
        // A later wait polls all of them again.
        let _ = self.poll(&mut context);
        driver.run();
    }

    /// Takes the answers that have come. Ready when all have.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let failed = &mut self.failed;
        self.postings
            .retain_mut(|posting| match posting.as_mut().poll(context) {
                Poll::Pending => true,
                Poll::Ready(answer) => {
                    if let Err(error) = answer {
                        failed.get_or_insert(error);
                    }
                    false
                }
            });
        match self.postings.is_empty() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }

    /// Waits for the answer to a later request.
    pub(super) fn wait<F: Future>(&mut self, driver: &mut Driver, request: F) -> F::Output {
        if self.postings.is_empty() {
            return driver.wait(request);
        }
        let mut request = pin!(request);
        driver.wait(poll_fn(|context| {
            // The request is sent even if its answer is the last one to come.
            let _ = self.poll(context);
            request.as_mut().poll(context)
        }))
    }

    fn finish(&mut self, driver: &mut Driver) {
        if !self.postings.is_empty() {
            driver.wait(poll_fn(|context| self.poll(context)));
        }
    }

    /// Waits for all answers. Fails with the first error since the call before.
    pub(super) fn settle(&mut self, driver: &mut Driver) -> Answer<()> {
        self.finish(driver);
        self.failed.take().map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use std::future::ready;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    /// Is ready when it was polled a number of times.
    async fn after(polls: usize, done: Arc<AtomicUsize>) -> Answer<()> {
        let mut polled = 0;
        poll_fn(|context| {
            polled += 1;
            context.waker().wake_by_ref();
            match polled > polls {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
        .await;
        done.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    #[test]
    fn answers_are_taken_while_a_later_one_is_waited_for() {
        let done = Arc::new(AtomicUsize::new(0));
        let mut driver = Driver::new(Duration::from_secs(60)).unwrap();
        let mut posted = Posted::default();
        for polls in 0..4 {
            posted.add(&mut driver, after(polls, Arc::clone(&done)));
        }
        let _ = posted.wait(&mut driver, after(3, Arc::default()));
        assert_eq!(done.load(Ordering::SeqCst), 4);
        for _ in 0..POSTED_MAX + 1 {
            posted.add(&mut driver, after(9, Arc::clone(&done)));
        }
        assert!(posted.postings.len() <= POSTED_MAX);
        posted.settle(&mut driver).unwrap();
        assert_eq!(done.load(Ordering::SeqCst), 4 + POSTED_MAX + 1);
        posted.wait(&mut driver, ready(()));
    }
}
