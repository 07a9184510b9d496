//! The connection to a server: a TCP or Unix socket, encrypted or not.

use crate::connection::tls;
use crate::settings::{Host, Settings, SslMode};
use bobak_core::{Error, ErrorKind, Result};
use rustls::{ClientConnection, StreamOwned};
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
#[cfg(unix)]
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

pub(crate) enum ServerStream {
    Tcp(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
    #[cfg(unix)]
    Unix(UnixStream),
}

/// How much longer than a statement may run the connection may be silent: the server's own timeout comes
/// first, and leaves the connection whole.
const TIMEOUT_MARGIN: Duration = Duration::from_secs(2);

impl ServerStream {
    /// Connects, with TLS if the settings request it.
    ///
    /// # Errors
    /// `Unreachable`, `Timeout`, `Denied` for TLS; `Config`.
    pub fn connect(host: &Host, settings: &Settings) -> Result<Self> {
        match host {
            Host::Tcp(name, port) => {
                let socket = tcp(name, *port, settings.connect_timeout)?;
                encrypted(socket, name, settings)
            }
            #[cfg(unix)]
            Host::Unix(folder, port) => {
                let path = folder.join(format!(".s.PGSQL.{port}"));
                let socket = UnixStream::connect(&path).map_err(|error| {
                    unreachable(format!("could not connect to {}: {error}", path.display()), error)
                })?;
                let stream = Self::Unix(socket);
                stream.set_timeout(Some(settings.connect_timeout))?;
                Ok(stream)
            }
            #[cfg(not(unix))]
            Host::Unix(..) => {
                Err(Error::new(ErrorKind::Unsupported, "this system has no Unix sockets"))
            }
        }
    }

    /// How long a read or a write may wait.
    pub fn set_timeout(&self, time: Option<Duration>) -> Result<()> {
        let time = time.filter(|time| !time.is_zero());
        let done = match self {
            Self::Tcp(socket) => both(socket, time),
            Self::Tls(stream) => both(&stream.sock, time),
            #[cfg(unix)]
            Self::Unix(socket) => {
                socket.set_read_timeout(time).and_then(|()| socket.set_write_timeout(time))
            }
        };
        done.map_err(|error| Error::io("set the timeout of a socket", error))
    }

    /// The timeout of normal use.
    pub fn use_timeout(&self, settings: &Settings) -> Result<()> {
        let statement = settings.statement_timeout;
        self.set_timeout((!statement.is_zero()).then(|| statement + TIMEOUT_MARGIN))
    }

    /// Whether the server has closed the connection, or sent something that nobody asked for, such as
    /// its farewell. Nothing is read.
    pub fn has_ended(&self) -> bool {
        let quick = |socket: &TcpStream| {
            socket.set_nonblocking(true)?;
            let mut byte = [0];
            let found = socket.peek(&mut byte);
            socket.set_nonblocking(false)?;
            found
        };
        let found = match self {
            Self::Tcp(socket) => quick(socket),
            Self::Tls(stream) => quick(&stream.sock),
            // There is no peek of a Unix socket: a test query will tell.
            #[cfg(unix)]
            Self::Unix(_) => return false,
        };
        !matches!(found, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
    }
}

fn both(socket: &TcpStream, time: Option<Duration>) -> io::Result<()> {
    socket.set_read_timeout(time)?;
    socket.set_write_timeout(time)
}

/// The first of the name's addresses that answers.
fn tcp(name: &str, port: u16, timeout: Duration) -> Result<TcpStream> {
    let addresses = (name, port).to_socket_addrs().map_err(|error| {
        unreachable(format!("could not resolve the host '{name}': {error}"), error)
    })?;
    let until = Instant::now() + timeout;
    let mut last = None;
    for address in addresses {
        let left = until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        match TcpStream::connect_timeout(&address, left) {
            Ok(socket) => {
                let set = socket.set_nodelay(true).and_then(|()| both(&socket, Some(timeout)));
                set.map_err(|error| Error::io("set up a socket", error))?;
                return Ok(socket);
            }
            Err(error) => last = Some(error),
        }
    }
    let error = last.unwrap_or_else(|| io::Error::other("it has no address"));
    Err(unreachable(format!("could not connect to {name}:{port}: {error}"), error))
}

/// The request for TLS: its length, and the number that stands for it.
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

fn encrypted(mut socket: TcpStream, name: &str, settings: &Settings) -> Result<ServerStream> {
    if settings.sslmode == SslMode::Disable {
        return Ok(ServerStream::Tcp(socket));
    }
    let mut reply = [0];
    let requested = socket.write_all(&SSL_REQUEST).and_then(|()| socket.read_exact(&mut reply));
    requested.map_err(|error| broken("requesting TLS", error))?;
    match (reply[0], settings.sslmode) {
        (b'S', _) => Ok(ServerStream::Tls(Box::new(tls::wrap(socket, name, settings)?))),
        (b'N', SslMode::Prefer) => Ok(ServerStream::Tcp(socket)),
        (b'N', _) => {
            let message = format!("{name} does not support TLS, which sslmode requires");
            Err(Error::new(ErrorKind::Denied, message))
        }
        _ => Err(Error::new(ErrorKind::Unreachable, format!("{name} is not a PostgreSQL server"))),
    }
}

/// The error of a line that broke while something was done.
#[cold]
pub(crate) fn broken(doing: &str, error: io::Error) -> Error {
    let kind = match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => ErrorKind::Timeout,
        _ => ErrorKind::Unreachable,
    };
    let what = match kind {
        ErrorKind::Timeout => "the server did not answer in time",
        _ => "the connection to the server broke",
    };
    Error::new(kind, format!("{what} while {doing}: {error}")).with_source(error)
}

#[cold]
fn unreachable(message: String, error: io::Error) -> Error {
    let kind = match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => ErrorKind::Timeout,
        _ => ErrorKind::Unreachable,
    };
    Error::new(kind, message).with_source(error)
}

impl Read for ServerStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(socket) => socket.read(buffer),
            Self::Tls(stream) => stream.read(buffer),
            #[cfg(unix)]
            Self::Unix(socket) => socket.read(buffer),
        }
    }
}

impl Write for ServerStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(socket) => socket.write(bytes),
            Self::Tls(stream) => stream.write(bytes),
            #[cfg(unix)]
            Self::Unix(socket) => socket.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Tcp(_) => Ok(()),
            Self::Tls(stream) => stream.flush(),
            #[cfg(unix)]
            Self::Unix(_) => Ok(()),
        }
    }
}
