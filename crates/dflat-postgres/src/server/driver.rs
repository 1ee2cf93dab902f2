//! Waits for answers on the caller's thread, and moves the bytes of the connection meanwhile.

use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use mio::{Events, Registry};

use super::socket::Signs;

type Moving = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Moves the bytes of one connection, on the thread that waits for an answer. Between two waits
/// nobody moves them.
///
/// The caller may be a thread of any runtime: this neither enters nor needs one.
pub(super) struct Driver {
    /// Ready when the connection has ended; then `None`.
    moving: Option<Moving>,
    poll: mio::Poll,
    events: Events,
    woken: Arc<Woken>,
    signs: Arc<Signs>,
    silence_max: Duration,
}

/// How long to wait for an answer.
enum Limit {
    /// Until a time, if there is one.
    Until(Option<Instant>),
    /// Until no byte has moved for the longest silence. Has the time of the last byte, or of the
    /// first wait.
    Silence(Option<Instant>),
}

/// Whether a future was woken while others were polled.
#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Release);
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.store(true, Ordering::Release);
    }
}

/// The longest time in which the server takes a request whose answer is not waited for.
const SENDING_MAX: Duration = Duration::from_secs(10);

/// The longest wait for the last bytes of a connection that is closed.
const CLOSING_MAX: Duration = Duration::from_millis(100);

impl Driver {
    /// If no byte moves for `silence_max` while an answer is awaited, the connection ends.
    pub(super) fn new(silence_max: Duration) -> io::Result<Self> {
        Ok(Self {
            moving: None,
            poll: mio::Poll::new()?,
            events: Events::with_capacity(2),
            woken: Arc::default(),
            signs: Arc::default(),
            silence_max,
        })
    }

    /// To be told of the events of the connection's socket.
    pub(super) fn registry(&self) -> &Registry {
        self.poll.registry()
    }

    /// Moves the bytes of a connection from now on. `signs` are those of its socket.
    pub(super) fn drive(
        &mut self,
        connection: impl Future<Output = ()> + Send + 'static,
        signs: Arc<Signs>,
    ) {
        self.moving = Some(Box::pin(connection));
        self.signs = signs;
    }

    /// Waits for an answer. If the server says nothing for too long, the connection ends, and the
    /// answer is the error of a closed connection.
    pub(super) fn wait<F: Future>(&mut self, answer: F) -> F::Output {
        let mut answer = pin!(answer);
        let mut limit = Limit::Silence(None);
        loop {
            if let Some(answer) = self.wait_within(answer.as_mut(), &mut limit) {
                return answer;
            }
            let silence = self.silence_max;
            tracing::warn!(target: "dflat", ?silence, "the server says nothing: a connection ends");
            self.moving = None;
            limit = Limit::Until(None);
        }
    }

    /// Waits for an answer until a time; `None` if the answer has not come by then.
    pub(super) fn wait_until<F: Future>(
        &mut self,
        end: Option<Instant>,
        answer: F,
    ) -> Option<F::Output> {
        self.wait_within(pin!(answer), &mut Limit::Until(end))
    }

    fn wait_within<F: Future>(
        &mut self,
        mut answer: Pin<&mut F>,
        limit: &mut Limit,
    ) -> Option<F::Output> {
        let waker = Waker::from(Arc::clone(&self.woken));
        let mut context = Context::from_waker(&waker);
        loop {
            self.woken.0.store(false, Ordering::Release);
            if let Poll::Ready(answer) = answer.as_mut().poll(&mut context) {
                return Some(answer);
            }
            self.move_bytes(&mut context);
            if !self.woken.0.load(Ordering::Acquire) {
                let left = self.left(limit);
                if left == Some(Duration::ZERO) {
                    return None;
                }
                self.wait_for_socket(left);
            }
        }
    }

    /// The time that is left, if there is a limit.
    fn left(&self, limit: &mut Limit) -> Option<Duration> {
        let now = Instant::now();
        match limit {
            Limit::Until(end) => end.map(|end| end.saturating_duration_since(now)),
            Limit::Silence(since) => {
                let has_moved = self.signs.has_moved.swap(false, Ordering::Relaxed);
                let since = match since {
                    Some(since) if !has_moved => since,
                    _ => since.insert(now),
                };
                Some(self.silence_max.saturating_sub(now - *since))
            }
        }
    }

    /// Moves the bytes that can be moved now.
    pub(super) fn run(&mut self) {
        self.move_bytes(&mut Context::from_waker(Waker::noop()));
    }

    /// Polls a future once and drops it: a request is sent, and its answer is not waited for.
    pub(super) fn send<F: Future>(&mut self, request: F) {
        self.send_within(request, SENDING_MAX);
    }

    /// Sends a request. If the server does not take it within a time, the connection ends, and with
    /// it whatever the request was to end.
    fn send_within<F: Future>(&mut self, request: F, time_max: Duration) {
        let began = Instant::now();
        let _ = pin!(request).poll(&mut Context::from_waker(Waker::noop()));
        self.run();
        // Order: the server may hold a lock until it gets the request.
        while self.moving.is_some() && self.signs.is_full.load(Ordering::Relaxed) {
            let left = time_max.saturating_sub(began.elapsed());
            if left.is_zero() {
                self.moving = None;
                return;
            }
            self.wait_for_socket(Some(left));
            self.run();
        }
    }

    fn move_bytes(&mut self, context: &mut Context<'_>) {
        if let Some(moving) = &mut self.moving
            && moving.as_mut().poll(context).is_ready()
        {
            // The callers that wait for an answer learn of the end.
            self.moving = None;
            context.waker().wake_by_ref();
        }
    }

    /// Waits until the socket can be read or written. Another reason to return does no harm.
    fn wait_for_socket(&mut self, timeout: Option<Duration>) {
        match self.poll.poll(&mut self.events, timeout) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                tracing::debug!(target: "dflat", %error, "a connection cannot be waited for");
                self.moving = None;
            }
        }
    }
}

impl Drop for Driver {
    /// The client of the connection was dropped before, so it says to the server that it ends.
    fn drop(&mut self) {
        let began = Instant::now();
        self.run();
        while self.moving.is_some() && began.elapsed() < CLOSING_MAX {
            self.wait_for_socket(Some(CLOSING_MAX));
            self.run();
        }
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::future::poll_fn;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;
    use std::thread;

    use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

    use super::super::socket::Socket;
    use super::*;

    /// More than a socket holds.
    const BYTES: usize = 4 << 20;

    /// Writes and reads as many bytes at once.
    async fn exchange(mut socket: Socket, ended: Arc<AtomicBool>) {
        let (mut written, mut read) = (0, 0);
        let mut buffer = vec![0; 1 << 16];
        poll_fn(|context| {
            while written < BYTES {
                let piece = vec![1; (BYTES - written).min(1 << 16)];
                match Pin::new(&mut socket).poll_write(context, &piece) {
                    Poll::Ready(count) => written += count.unwrap(),
                    Poll::Pending => break,
                }
            }
            while read < BYTES {
                let mut bytes = ReadBuf::new(&mut buffer);
                match Pin::new(&mut socket).poll_read(context, &mut bytes) {
                    Poll::Ready(done) => done.unwrap(),
                    Poll::Pending => break,
                }
                assert!(bytes.filled().iter().all(|byte| *byte == 2));
                read += bytes.filled().len();
            }
            match written + read < 2 * BYTES {
                true => Poll::Pending,
                false => Poll::Ready(()),
            }
        })
        .await;
        ended.store(true, Ordering::Release);
    }

    #[test]
    fn bytes_move_both_ways_while_an_answer_is_waited_for() {
        let (own, mut peer) = UnixStream::pair().unwrap();
        let peer = thread::spawn(move || {
            // It reads nothing before it has written everything.
            peer.write_all(&vec![2; BYTES]).unwrap();
            let mut bytes = vec![0; BYTES];
            peer.read_exact(&mut bytes).unwrap();
            assert!(bytes.iter().all(|byte| *byte == 1));
        });
        let mut driver = Driver::new(Duration::from_secs(60)).unwrap();
        let socket = Socket::unix(own, driver.registry()).unwrap();
        let (signs, ended) = (socket.signs(), Arc::<AtomicBool>::default());
        driver.drive(exchange(socket, Arc::clone(&ended)), signs);
        driver.wait(poll_fn(|_| match ended.load(Ordering::Acquire) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }));
        peer.join().unwrap();
        // Nothing is left to wait for.
        driver.send(poll_fn(|_| Poll::<()>::Pending));
    }

    #[test]
    fn connection_ends_if_the_server_takes_nothing_more() {
        let (own, mut peer) = UnixStream::pair().unwrap();
        let mut driver = Driver::new(Duration::from_secs(60)).unwrap();
        let socket = Socket::unix(own, driver.registry()).unwrap();
        let signs = socket.signs();
        driver.drive(exchange(socket, Arc::default()), signs);
        driver.send_within(poll_fn(|_| Poll::<()>::Pending), Duration::from_millis(20));
        assert!(driver.moving.is_none());
        let mut bytes = Vec::new();
        peer.read_to_end(&mut bytes).unwrap();
        assert!(!bytes.is_empty() && bytes.len() < BYTES);
    }

    /// An answer that comes when the connection has ended.
    async fn ends(is_ended: tokio::sync::oneshot::Receiver<()>) -> bool {
        is_ended.await.is_err()
    }

    #[test]
    fn connection_ends_if_the_server_says_nothing() {
        let silence = Duration::from_millis(300);
        let (own, mut peer) = UnixStream::pair().unwrap();
        let mut driver = Driver::new(silence).unwrap();
        let socket = Socket::unix(own, driver.registry()).unwrap();
        let (signs, (ended, is_ended)) = (socket.signs(), tokio::sync::oneshot::channel());
        let exchange = exchange(socket, Arc::default());
        driver.drive(
            async move {
                exchange.await;
                drop(ended);
            },
            signs,
        );
        // The peer takes nothing, and says a byte at a time for longer than the silence.
        let began = Instant::now();
        let peer = thread::spawn(move || {
            for _ in 0..10 {
                thread::sleep(silence / 5);
                peer.write_all(&[2]).unwrap();
            }
            peer
        });
        assert!(driver.wait(ends(is_ended)));
        assert!(began.elapsed() >= silence * 3, "{:?}", began.elapsed());
        drop(peer.join().unwrap());
    }

    #[test]
    fn answer_is_awaited_until_a_time() {
        let mut driver = Driver::new(Duration::from_secs(60)).unwrap();
        let end = Instant::now() + Duration::from_millis(20);
        assert!(
            driver
                .wait_until(Some(end), poll_fn(|_| Poll::<()>::Pending))
                .is_none()
        );
        assert!(Instant::now() >= end);
        assert!(driver.wait_until(None, std::future::ready(1)).is_some());
    }
}
