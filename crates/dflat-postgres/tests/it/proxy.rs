//! A proxy between the library and the server, which cuts a connection at a message.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// When the connection is cut: before the message reaches the server, or after it did and before
/// its answer comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    Before,
    After,
    /// As `After`, and no later connection is accepted, as if the server were away.
    AfterAndAway,
    /// As `After`, at the first message that commits instead of at a number.
    AfterCommit,
    /// As `AfterCommit`, with the error that a pool gives if its connection to the server fails.
    AfterCommitWithError,
}

struct Shared {
    /// The messages that clients have sent so far.
    sent: AtomicU64,
    /// The messages that a client has sent after it got an answer to an earlier one.
    turns: AtomicU64,
    /// Whether an answer went to a client after its latest message.
    is_answered: AtomicBool,
    at: u64,
    cut: Cut,
    /// The time by which every answer is late.
    delay: Duration,
    /// The socket of the server that takes the place of the first one after the cut.
    next: Option<PathBuf>,
    is_cut: AtomicBool,
    /// Whether no answer is forwarded, as if the server stood still.
    is_silent: AtomicBool,
}

impl Shared {
    /// Whether the server is away.
    fn is_away(&self) -> bool {
        self.cut == Cut::AfterAndAway && self.sent.load(Ordering::SeqCst) >= self.at
    }
}

/// A proxy on a port of this machine.
pub(crate) struct Proxy {
    port: u16,
    shared: Arc<Shared>,
}

impl Proxy {
    /// A proxy to the server's socket, which cuts the connection of the message number `at`,
    /// counted from 1 over all connections; 0 cuts none.
    pub(crate) fn start(socket: &Path, at: u64, cut: Cut) -> Self {
        Self::new(socket, at, cut, Duration::ZERO, None)
    }

    /// A proxy that cuts no connection, and delays all answers as a long way does.
    pub(crate) fn slow(socket: &Path, delay: Duration) -> Self {
        Self::new(socket, 0, Cut::Before, delay, None)
    }

    /// A proxy that cuts the connection of the first message that commits, after the server has
    /// got it. Later connections are to the server at `next`.
    pub(crate) fn at_commit(socket: &Path, next: &Path) -> Self {
        let next = Some(next.to_owned());
        Self::new(socket, 0, Cut::AfterCommit, Duration::ZERO, next)
    }

    /// As [`at_commit`](Self::at_commit), with the error that a pool gives if its connection to the
    /// server fails. Later connections are to the same server.
    pub(crate) fn pool_at_commit(socket: &Path) -> Self {
        // The answers come after the error.
        let delay = Duration::from_millis(50);
        Self::new(socket, 0, Cut::AfterCommitWithError, delay, None)
    }

    fn new(socket: &Path, at: u64, cut: Cut, delay: Duration, next: Option<PathBuf>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let sent = AtomicU64::new(0);
        let shared = Arc::new(Shared {
            sent,
            turns: AtomicU64::new(0),
            is_answered: AtomicBool::new(true),
            at,
            cut,
            delay,
            next,
            is_cut: AtomicBool::new(false),
            is_silent: AtomicBool::new(false),
        });
        let (of_thread, socket) = (Arc::clone(&shared), socket.to_owned());
        // The thread ends with the process.
        thread::spawn(move || {
            let mut held = Vec::new();
            for client in listener.incoming() {
                let Ok(client) = client else { return };
                if of_thread.is_silent.load(Ordering::SeqCst) {
                    // The connection is accepted, and stays open.
                    held.push(client);
                    continue;
                }
                if of_thread.is_away() {
                    continue;
                }
                let is_cut = of_thread.is_cut.load(Ordering::SeqCst);
                let next = of_thread.next.as_ref().filter(|_| is_cut);
                let Ok(server) = UnixStream::connect(next.unwrap_or(&socket)) else {
                    continue;
                };
                forward(client, server, &of_thread);
            }
        });
        Self { port, shared }
    }

    /// The address of the proxy.
    pub(crate) fn address(&self) -> String {
        format!(
            "host=127.0.0.1 port={} user=dflat dbname=postgres sslmode=disable",
            self.port
        )
    }

    /// Forwards no answer from now on, and accepts connections, or goes on with new ones.
    pub(crate) fn set_silent(&self, is_silent: bool) {
        self.shared.is_silent.store(is_silent, Ordering::SeqCst);
    }

    /// The round trips so far: how often a client has waited for an answer before it sent more. The
    /// proxy must have one client at a time, and be slow, so that messages which are sent without
    /// waiting come before the answer to the first of them.
    pub(crate) fn round_trips(&self) -> u64 {
        self.shared.turns.load(Ordering::SeqCst)
    }

    /// The messages that clients have sent so far.
    pub(crate) fn sent(&self) -> u64 {
        self.shared.sent.load(Ordering::SeqCst)
    }
}

fn forward(client: TcpStream, server: UnixStream, shared: &Arc<Shared>) {
    let (mut from_server, mut to_client) =
        (server.try_clone().unwrap(), client.try_clone().unwrap());
    let delay = shared.delay;
    // Parts of an answer do not wait for one another.
    to_client.set_nodelay(true).unwrap();
    let answered = Arc::clone(shared);
    let (answers, arriving) = mpsc::channel::<(Instant, Vec<u8>)>();
    thread::spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(count @ 1..) = from_server.read(&mut buffer) {
            let answer = (Instant::now() + delay, buffer[..count].to_vec());
            if answers.send(answer).is_err() {
                break;
            }
        }
    });
    thread::spawn(move || {
        for (at, bytes) in arriving {
            thread::sleep(at.saturating_duration_since(Instant::now()));
            if answered.is_silent.load(Ordering::SeqCst) {
                continue;
            }
            answered.is_answered.store(true, Ordering::SeqCst);
            if to_client.write_all(&bytes).is_err() {
                break;
            }
        }
        let _ = to_client.shutdown(Shutdown::Both);
    });
    let shared = Arc::clone(shared);
    thread::spawn(move || {
        let _ = forward_messages(&client, &server, &shared);
        let _ = client.shutdown(Shutdown::Both);
        let _ = server.shutdown(Shutdown::Both);
    });
}

/// Forwards the client's messages until one is cut.
fn forward_messages(
    mut client: &TcpStream,
    mut server: &UnixStream,
    shared: &Shared,
) -> std::io::Result<()> {
    let mut is_startup = true;
    loop {
        // The first message has no type.
        let mut head = vec![0; if is_startup { 4 } else { 5 }];
        client.read_exact(&mut head)?;
        let length: [u8; 4] = head[head.len() - 4..].try_into().unwrap();
        let mut body = vec![0; u32::from_be_bytes(length) as usize - 4];
        client.read_exact(&mut body)?;
        is_startup = false;
        let number = shared.sent.fetch_add(1, Ordering::SeqCst) + 1;
        if shared.is_answered.swap(false, Ordering::SeqCst) {
            shared.turns.fetch_add(1, Ordering::SeqCst);
        }
        let is_at_commit = matches!(shared.cut, Cut::AfterCommit | Cut::AfterCommitWithError);
        let commits = is_at_commit && body.starts_with(b"COMMIT");
        let is_cut = number == shared.at || commits && !shared.is_cut.swap(true, Ordering::SeqCst);
        if number > shared.at && shared.cut == Cut::AfterAndAway {
            return Ok(());
        }
        if is_cut && shared.cut == Cut::Before {
            return Ok(());
        }
        server.write_all(&head)?;
        server.write_all(&body)?;
        if is_cut {
            if shared.cut == Cut::AfterCommitWithError {
                client.write_all(&pool_error())?;
            }
            // The server executes the message; its answer is not forwarded.
            let _ = client.shutdown(Shutdown::Both);
            let mut rest = Vec::new();
            server.shutdown(Shutdown::Write)?;
            let _ = server.read_to_end(&mut rest);
            return Ok(());
        }
    }
}

/// The message of PgBouncer whose connection to the server has failed.
fn pool_error() -> Vec<u8> {
    let fields = b"SFATAL\0C08P01\0Mserver conn crashed?\0\0";
    let length = u32::try_from(fields.len() + 4).unwrap();
    [b"E", &length.to_be_bytes()[..], fields].concat()
}
