//! A socket whose bytes the thread moves that waits for them.

use std::io::{self, ErrorKind, Read, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use mio::event::Source;
use mio::{Interest, Registry, Token};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The most bytes of one read. The buffer of a connection that has read a large object stays large,
/// and the part of it that is offered to a read is set to zero before.
const READ_MAX: usize = 64 << 10;

/// A socket that never waits. The socket keeps no waker: the code that polls it waits for
/// [events](Source), and polls it again.
pub(super) struct Socket {
    stream: Stream,
    signs: Arc<Signs>,
}

/// The signs of life of a socket.
#[derive(Default)]
pub(super) struct Signs {
    /// Whether the socket has taken fewer bytes than it was given.
    pub(super) is_full: AtomicBool,
    /// Whether bytes were read or written. The thread that waits clears this.
    pub(super) has_moved: AtomicBool,
}

enum Stream {
    Tcp(mio::net::TcpStream),
    #[cfg(unix)]
    Unix(mio::net::UnixStream),
}

impl Stream {
    fn source(&mut self) -> &mut dyn Source {
        match self {
            Self::Tcp(stream) => stream,
            #[cfg(unix)]
            Self::Unix(stream) => stream,
        }
    }

    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(bytes),
            #[cfg(unix)]
            Self::Unix(stream) => stream.read(bytes),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            #[cfg(unix)]
            Self::Unix(stream) => stream.write(bytes),
        }
    }

    fn close(&self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.shutdown(std::net::Shutdown::Write),
            #[cfg(unix)]
            Self::Unix(stream) => stream.shutdown(std::net::Shutdown::Write),
        }
    }
}

impl Socket {
    /// The socket of a TCP connection, whose events are those of `registry`.
    pub(super) fn tcp(stream: std::net::TcpStream, registry: &Registry) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Self::new(Stream::Tcp(mio::net::TcpStream::from_std(stream)), registry)
    }

    /// The socket of a connection on this machine.
    #[cfg(unix)]
    pub(super) fn unix(
        stream: std::os::unix::net::UnixStream,
        registry: &Registry,
    ) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Self::new(
            Stream::Unix(mio::net::UnixStream::from_std(stream)),
            registry,
        )
    }

    fn new(mut stream: Stream, registry: &Registry) -> io::Result<Self> {
        let interest = Interest::READABLE | Interest::WRITABLE;
        stream.source().register(registry, Token(0), interest)?;
        Ok(Self {
            stream,
            signs: Arc::default(),
        })
    }

    /// The signs of life of this socket.
    pub(super) fn signs(&self) -> Arc<Signs> {
        Arc::clone(&self.signs)
    }

    fn note_moved(&self, count: usize) {
        if count > 0 {
            self.signs.has_moved.store(true, Ordering::Relaxed);
        }
    }
}

/// Repeats a call that a signal has interrupted.
fn poll<T>(mut call: impl FnMut() -> io::Result<T>) -> Poll<io::Result<T>> {
    loop {
        match call() {
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Poll::Pending,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            done => return Poll::Ready(done),
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let bytes = buffer.initialize_unfilled_to(buffer.remaining().min(READ_MAX));
        let read = poll(|| self.stream.read(bytes));
        read.map_ok(|count| {
            self.note_moved(count);
            buffer.advance(count);
        })
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = poll(|| self.stream.write(bytes));
        let is_full = written.is_pending();
        self.signs.is_full.store(is_full, Ordering::Relaxed);
        written.map_ok(|count| {
            self.note_moved(count);
            count
        })
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.stream.close())
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::mem::MaybeUninit;
    use std::os::unix::net::UnixStream;
    use std::task::Waker;

    use super::*;

    #[test]
    fn one_read_touches_little_of_a_large_buffer() {
        let poll = mio::Poll::new().unwrap();
        let (stream, mut other) = UnixStream::pair().unwrap();
        let mut socket = Socket::unix(stream, poll.registry()).unwrap();
        let mut bytes = vec![MaybeUninit::uninit(); 16 * READ_MAX];
        let mut buffer = ReadBuf::uninit(&mut bytes);
        let mut context = Context::from_waker(Waker::noop());
        for (text, filled) in [("abc", "abc"), ("d", "abcd")] {
            other.write_all(text.as_bytes()).unwrap();
            let read = Pin::new(&mut socket).poll_read(&mut context, &mut buffer);
            assert!(matches!(read, Poll::Ready(Ok(()))), "{read:?}");
            assert_eq!(buffer.filled(), filled.as_bytes());
            assert!(buffer.initialized().len() <= filled.len() + READ_MAX);
        }
    }
}
