//! Connects to one of the hosts of an address, for a thread that waits.

use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
#[cfg(unix)]
use std::path::Path;
#[cfg(unix)]
use std::time::{Duration, Instant};

use dflat_engine::{Error, ErrorKind, Result};
use mio::Registry;
use socket2::{SockRef, TcpKeepalive};
use tokio_postgres::config::{Host, LoadBalanceHosts, SslMode, TargetSessionAttrs};
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{Client, Config, NoTls, SimpleQueryMessage};

use super::address::{deadline, timeout};
use super::driver::Driver;
use super::session::drive;
use super::socket::Socket;
use super::{Server, random_number};
use crate::failure::{not_connected, silent};

/// One host of an address.
struct Target<'a> {
    host: Host,
    port: u16,
    /// The name in the certificate of the server.
    name: &'a str,
}

/// The hosts of an address, in the order of tries.
fn targets(config: &Config) -> Result<Vec<Target<'_>>> {
    let (hosts, addresses, ports) = (
        config.get_hosts(),
        config.get_hostaddrs(),
        config.get_ports(),
    );
    let count = hosts.len().max(addresses.len());
    let is_listed = |listed: usize| listed == 0 || listed == count;
    if count == 0 || !is_listed(hosts.len()) || !is_listed(addresses.len()) {
        return Err(invalid("it has no host, or not as many hosts as addresses"));
    }
    if ports.len() > 1 && ports.len() != count {
        return Err(invalid(
            "it has more than one port, but not one for each host",
        ));
    }
    let mut targets = Vec::new();
    for at in 0..count {
        let host = hosts.get(at);
        let address = addresses
            .get(at)
            .map(|address| Host::Tcp(address.to_string()));
        let Some(connected) = address.or_else(|| host.cloned()) else {
            continue;
        };
        let port = ports.get(at).or_else(|| ports.first());
        targets.push(Target {
            host: connected,
            port: port.copied().unwrap_or(5432),
            name: match host {
                Some(Host::Tcp(name)) => name,
                _ => "",
            },
        });
    }
    if config.get_load_balance_hosts() == LoadBalanceHosts::Random {
        shuffle(&mut targets);
    }
    Ok(targets)
}

fn invalid(what: &str) -> Error {
    let message = format!("cannot connect to the server: its address is invalid: {what}");
    Error::new(ErrorKind::InvalidArgument, message)
}

fn shuffle<T>(items: &mut [T]) {
    for end in (1..items.len()).rev() {
        let at = random_number().cast_unsigned() % (end as u64 + 1);
        items.swap(end, usize::try_from(at).unwrap_or(0));
    }
}

/// Connects to the first host that can be connected to. The driver moves the bytes of the
/// connection from now on.
pub(super) fn connect(server: &Server, driver: &mut Driver) -> Result<Client> {
    let connector = server.connector()?;
    let mut failed = None;
    for target in targets(&server.config)? {
        let connected = match &connector {
            Some(connector) => target.connect(server, driver, connector),
            None => target.connect(server, driver, &NoTls),
        };
        match connected {
            Ok(client) => return Ok(client),
            Err(error) => failed = Some(error),
        }
    }
    Err(failed.unwrap_or_else(|| invalid("it has no host")))
}

impl Target<'_> {
    fn connect<T>(&self, server: &Server, driver: &mut Driver, tls: &T) -> Result<Client>
    where
        T: MakeTlsConnect<Socket> + Clone,
        T::Stream: Send + 'static,
        T::TlsConnect: Send,
    {
        let config = &server.config;
        match &self.host {
            Host::Tcp(name) => {
                let addresses = (name.as_str(), self.port).to_socket_addrs();
                let mut addresses: Vec<_> = addresses.map_err(unreachable)?.collect();
                if config.get_load_balance_hosts() == LoadBalanceHosts::Random {
                    shuffle(&mut addresses);
                }
                let mut failed = None;
                for address in addresses {
                    let connected = tcp(address, config, driver.registry())
                        .map_err(unreachable)
                        .and_then(|socket| self.start(config, driver, socket, tls.clone()));
                    match connected {
                        Ok(client) => return Ok(client),
                        Err(error) => failed = Some(error),
                    }
                }
                let none = || io::Error::new(io::ErrorKind::NotFound, "the host has no address");
                Err(failed.unwrap_or_else(|| unreachable(none())))
            }
            #[cfg(unix)]
            Host::Unix(directory) => {
                let path = directory.join(format!(".s.PGSQL.{}", self.port));
                let socket = unix(&path, config, driver.registry())?;
                let mut plain = config.clone();
                plain.ssl_mode(SslMode::Disable);
                self.start(&plain, driver, socket, NoTls)
            }
        }
    }

    /// Says to the server who connects. If the server is not of the kind that the address asks for,
    /// the next host is tried.
    fn start<T>(
        &self,
        config: &Config,
        driver: &mut Driver,
        socket: Socket,
        mut tls: T,
    ) -> Result<Client>
    where
        T: MakeTlsConnect<Socket>,
        T::Stream: Send + 'static,
        T::TlsConnect: Send,
    {
        let signs = socket.signs();
        let end = deadline(config);
        let tls = tls.make_tls_connect(self.name).map_err(|error| {
            let message = "cannot connect to the server: its name is invalid for a certificate";
            Error::with_source(ErrorKind::InvalidArgument, message, error.into())
        })?;
        let connected = driver.wait_until(end, config.connect_raw(socket, tls));
        let (client, connection) = connected.ok_or_else(silent)?.map_err(not_connected)?;
        driver.drive(drive(connection, None), signs);
        let wanted = match config.get_target_session_attrs() {
            TargetSessionAttrs::ReadWrite => "off",
            TargetSessionAttrs::ReadOnly => "on",
            _ => return Ok(client),
        };
        let asked = client.simple_query("SHOW transaction_read_only");
        let answer = driver.wait_until(end, asked);
        let answer = answer.ok_or_else(silent)?.map_err(not_connected)?;
        let is_wanted = answer.iter().any(
            |message| matches!(message, SimpleQueryMessage::Row(row) if row.get(0) == Some(wanted)),
        );
        if is_wanted {
            return Ok(client);
        }
        let message = "cannot connect to the server: it is not of the kind that \
                       `target_session_attrs` in the address asks for";
        Err(Error::new(ErrorKind::Io, message))
    }
}

fn unreachable(error: io::Error) -> Error {
    let message = "cannot connect to the server: it cannot be reached";
    Error::with_source(ErrorKind::Io, message, error)
}

/// The time between two tries to connect on this machine.
#[cfg(unix)]
const AGAIN: Duration = Duration::from_millis(10);

/// Connects on this machine. While the queue of the server is full, tries again.
#[cfg(unix)]
fn unix(path: &Path, config: &Config, registry: &Registry) -> Result<Socket> {
    let end = deadline(config);
    let address = socket2::SockAddr::unix(path).map_err(unreachable)?;
    loop {
        let connect = || {
            let socket = socket2::Socket::new(socket2::Domain::UNIX, socket2::Type::STREAM, None)?;
            // A call that waits would do so without a limit.
            socket.set_nonblocking(true)?;
            socket.connect(&address)?;
            Socket::unix(std::os::fd::OwnedFd::from(socket).into(), registry)
        };
        match connect() {
            Ok(socket) => return Ok(socket),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if end.is_some_and(|end| Instant::now() >= end) {
                    return Err(silent());
                }
                std::thread::sleep(AGAIN);
            }
            Err(error) => return Err(unreachable(error)),
        }
    }
}

fn tcp(address: SocketAddr, config: &Config, registry: &Registry) -> io::Result<Socket> {
    let stream = match timeout(config) {
        Some(timeout) => TcpStream::connect_timeout(&address, timeout),
        None => TcpStream::connect(address),
    }?;
    stream.set_nodelay(true)?;
    let socket = SockRef::from(&stream);
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(config.get_tcp_user_timeout().copied())?;
    if config.get_keepalives() {
        let mut keepalive = TcpKeepalive::new().with_time(config.get_keepalives_idle());
        if let Some(interval) = config.get_keepalives_interval() {
            keepalive = keepalive.with_interval(interval);
        }
        #[cfg(not(windows))]
        if let Some(retries) = config.get_keepalives_retries() {
            keepalive = keepalive.with_retries(retries);
        }
        socket.set_tcp_keepalive(&keepalive)?;
    }
    Socket::tcp(stream, registry)
}
