//! The connection to a peer.

use std::io::{self, Read, Write};
use std::time::Instant;

use dflat_engine::{Error, ErrorKind, Result};

use super::limits::SyncLimits;
use super::message::{Message, Refusal};

/// The bytes of a message beside its object.
const MESSAGE_BYTES: usize = 1 << 20;

/// The bytes that are read or written at once.
const CHUNK: usize = 64 << 10;

/// A connection: bytes in both directions, in order.
pub trait Stream: Read + Write {}

impl<S: Read + Write + ?Sized> Stream for S {}

/// A connection that carries messages, and counts its bytes.
///
/// A message is its kind in a byte, the length of its content in four bytes, the lowest first, and
/// its content.
pub(crate) struct Channel<'s> {
    stream: &'s mut dyn Stream,
    /// Bytes that are not written yet.
    waiting: Vec<u8>,
    pub(crate) limits: SyncLimits,
    began: Instant,
    pub(crate) sent: u64,
    pub(crate) received: u64,
}

impl<'s> Channel<'s> {
    pub(crate) fn new(stream: &'s mut dyn Stream, limits: SyncLimits) -> Self {
        Self {
            stream,
            waiting: Vec::new(),
            limits,
            began: Instant::now(),
            sent: 0,
            received: 0,
        }
    }

    /// Sends a message, at the latest with the next [`flush`](Self::flush).
    ///
    /// # Errors
    /// The error of the connection; or, if the peer has refused the request, that of the refusal.
    pub(crate) fn send(&mut self, message: &Message) -> Result<()> {
        let start = self.waiting.len();
        self.waiting.extend([0; 5]);
        let kind = message.encode(&mut self.waiting);
        let length = self.waiting.len() - start - 5;
        let length = u32::try_from(length).map_err(|_| {
            let message = "cannot sync: an object has more than 4 GiB";
            Error::new(ErrorKind::InvalidArgument, message)
        })?;
        if let Some([first, lengths @ ..]) = self.waiting.get_mut(start..start + 5) {
            *first = kind;
            lengths.copy_from_slice(&length.to_le_bytes());
        }
        match self.waiting.len() >= CHUNK {
            true => self.write(),
            false => Ok(()),
        }
    }

    fn write(&mut self) -> Result<()> {
        let written = self.stream.write_all(&self.waiting);
        self.sent += self.waiting.len() as u64;
        self.waiting.clear();
        written.map_err(|error| self.refusal().unwrap_or_else(|| failed(&error)))
    }

    /// Sends all messages so far.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub(crate) fn flush(&mut self) -> Result<()> {
        if !self.waiting.is_empty() {
            self.write()?;
        }
        self.stream.flush().map_err(|error| failed(&error))
    }

    /// The refusal of a peer that has closed the connection.
    fn refusal(&mut self) -> Option<Error> {
        match self.next() {
            Ok(Some(Message::Refused { kind, message })) => Some(refused(kind, &message)),
            _ => None,
        }
    }

    /// The next message; `None` if the peer has closed the connection before it.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] for a malformed message; [`ErrorKind::InvalidArgument`] beyond the
    /// limits; [`ErrorKind::DeadlineExceeded`] beyond the limit of time; otherwise the error of the
    /// connection.
    fn next(&mut self) -> Result<Option<Message>> {
        match self.kind()? {
            Some(kind) => self.message(kind).map(Some),
            None => Ok(None),
        }
    }

    /// As [`next`](Self::next), for the first message of an exchange: bytes and time are counted
    /// from its first byte on.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub(crate) fn request(&mut self) -> Result<Option<Message>> {
        let Some(kind) = self.kind()? else {
            return Ok(None);
        };
        (self.began, self.sent, self.received) = (Instant::now(), 0, 1);
        self.message(kind).map(Some)
    }

    /// The kind of the next message; `None` if the peer has closed the connection before it.
    fn kind(&mut self) -> Result<Option<u8>> {
        let mut kind = [0];
        match self.read(&mut kind) {
            Ok(()) => Ok(Some(kind[0])),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(failed(&error)),
        }
    }

    /// The rest of a message of a kind.
    fn message(&mut self, kind: u8) -> Result<Message> {
        let mut length = [0; 4];
        self.read(&mut length).map_err(|error| failed(&error))?;
        let length = usize::try_from(u32::from_le_bytes(length)).unwrap_or(usize::MAX);
        if length > MESSAGE_BYTES.saturating_add(self.limits.object_bytes) {
            let why = format!("a message of {length} bytes");
            return Err(too_much(&why));
        }
        // The memory grows with the bytes that are there, whatever the length says.
        let mut content = Vec::new();
        while content.len() < length {
            let start = content.len();
            content.resize(length.min(start + CHUNK), 0);
            let more = content.get_mut(start..).unwrap_or_default();
            self.read(more).map_err(|error| failed(&error))?;
        }
        self.check_time()?;
        if self.received > self.limits.bytes {
            return Err(too_much(&format!("more than {} bytes", self.limits.bytes)));
        }
        Message::decode(kind, &content)
    }

    /// Checks the limit of time.
    ///
    /// # Errors
    /// [`ErrorKind::DeadlineExceeded`] beyond it.
    pub(crate) fn check_time(&self) -> Result<()> {
        if self.began.elapsed() <= self.limits.time {
            return Ok(());
        }
        let message = format!(
            "cannot sync: the exchange has taken more than {} seconds",
            self.limits.time.as_secs()
        );
        Err(Error::new(ErrorKind::DeadlineExceeded, message))
    }

    /// The next message of an exchange that goes on.
    ///
    /// # Errors
    /// As [`next`](Self::next); the error of the refusal if the peer refuses the request.
    pub(crate) fn expect(&mut self) -> Result<Message> {
        match self.next()? {
            Some(Message::Refused { kind, message }) => Err(refused(kind, &message)),
            Some(message) => Ok(message),
            None => {
                let message = "cannot sync: the other side has closed the connection";
                Err(Error::new(ErrorKind::Io, message))
            }
        }
    }

    fn read(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        self.stream.read_exact(bytes)?;
        self.received += bytes.len() as u64;
        Ok(())
    }
}

/// The error of a limit that the peer exceeds.
pub(crate) fn too_much(what: &str) -> Error {
    let message = format!("cannot sync: the other side sends {what}, which is beyond the limits");
    Error::new(ErrorKind::InvalidArgument, message)
}

fn failed(error: &io::Error) -> Error {
    let kind = match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => ErrorKind::DeadlineExceeded,
        _ => ErrorKind::Io,
    };
    let message = match error.kind() {
        io::ErrorKind::UnexpectedEof => {
            "cannot sync: the connection ended in the middle of a message".to_owned()
        }
        _ => format!("cannot sync: the connection failed: {error}"),
    };
    Error::new(kind, message)
}

/// The error of a request that the peer has refused.
fn refused(kind: Refusal, message: &str) -> Error {
    let kind = match kind {
        Refusal::NoBranch => ErrorKind::NotFound,
        Refusal::Behind => ErrorKind::OutOfDate,
        Refusal::Types => ErrorKind::InvalidArgument,
        Refusal::ReadOnly => ErrorKind::ReadOnly,
        Refusal::Other => ErrorKind::Backend,
    };
    // The text is from the peer: bounded, and without control characters.
    let text: String = message
        .chars()
        .filter(|character| !character.is_control())
        .take(500)
        .collect();
    Error::new(kind, format!("the other side refuses to sync: {text}"))
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::*;

    /// A peer that is silent before its bytes.
    struct Late(Duration, &'static [u8]);

    impl Read for Late {
        fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
            thread::sleep(std::mem::take(&mut self.0));
            self.1.read(bytes)
        }
    }

    impl Write for Late {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn time_of_an_exchange_begins_with_its_request() {
        let time = Duration::from_secs(1);
        let limits = SyncLimits {
            time,
            ..SyncLimits::default()
        };
        let done = &[9, 0, 0, 0, 0];
        let mut peer = Late(time + Duration::from_millis(100), done);
        let request = Channel::new(&mut peer, limits).request();
        assert_eq!(request.unwrap(), Some(Message::Done));
        let mut peer = Late(time + Duration::from_millis(100), done);
        let late = Channel::new(&mut peer, limits).expect().unwrap_err();
        assert_eq!(late.kind(), ErrorKind::DeadlineExceeded);
    }
}
