//! Two requests, one after the other.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use futures_util::future::join;

/// Sends two requests one after the other, and waits for both answers. If the first one can't be
/// sent, the second one is not.
pub(crate) async fn in_order<A, B, E>(
    first: impl Future<Output = Result<A, E>>,
    second: impl Future<Output = Result<B, E>>,
) -> Result<(Result<A, E>, Result<B, E>), E> {
    let mut first = pin!(first);
    let sent = poll_fn(|context| Poll::Ready(first.as_mut().poll(context))).await;
    match sent {
        Poll::Ready(answer) => Ok((Ok(answer?), second.await)),
        Poll::Pending => Ok(join(first, second).await),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::time::Duration;

    use super::super::driver::Driver;
    use super::*;

    #[test]
    fn second_request_is_sent_only_if_the_first_one_was() {
        let mut driver = Driver::new(Duration::from_secs(60)).unwrap();
        let is_sent = Cell::new(false);
        let second = || async {
            is_sent.set(true);
            Ok::<_, &str>(2)
        };
        let refused = driver.wait(in_order(async { Err::<i32, _>("too long") }, second()));
        assert_eq!((refused, is_sent.get()), (Err("too long"), false));
        let is_polled = Cell::new(false);
        let late = poll_fn(|context| {
            context.waker().wake_by_ref();
            match is_polled.replace(true) {
                true => Poll::Ready(Err::<i32, _>("no")),
                false => Poll::Pending,
            }
        });
        assert_eq!(
            driver.wait(in_order(late, second())),
            Ok((Err("no"), Ok(2)))
        );
        assert!(is_sent.get());
    }
}
