//! Byte streams to a server.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A second writer to the same server, used to cancel a request while a read waits.
pub(crate) type Second = Arc<Mutex<dyn Write + Send>>;

/// A connected, blocking stream, with its timeouts set.
pub(crate) trait Stream: Read + Write + Send {
    /// Whether the peer is still there and has sent nothing without a request. For streams that were idle in the pool.
    fn is_alive(&mut self) -> bool;

    /// A second writer, while this stream waits in a read; `None` if the stream has none.
    fn second(&self) -> Option<Second>;

    /// Sets whether reads block; `false` if the stream always blocks.
    fn set_blocking(&mut self, _blocking: bool) -> io::Result<bool> {
        Ok(false)
    }
}

/// Connects to the first address of a name that responds in time.
pub(crate) fn tcp(
    address: &str,
    connect: Duration,
    read_timeout: Option<Duration>,
) -> io::Result<TcpStream> {
    let mut last = None;
    for address in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, connect) {
            Ok(stream) => {
                // Requests are written at once, so Nagle's algorithm would only delay them.
                stream.set_nodelay(true)?;
                stream.set_read_timeout(read_timeout)?;
                stream.set_write_timeout(read_timeout)?;
                return Ok(stream);
            }
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the name has no address")))
}

impl Stream for TcpStream {
    fn second(&self) -> Option<Second> {
        self.try_clone().ok().map(|stream| Arc::new(Mutex::new(stream)) as _)
    }

    fn is_alive(&mut self) -> bool {
        let idle = self.set_nonblocking(true).is_ok() && is_idle(self);
        self.set_nonblocking(false).is_ok() && idle
    }

    fn set_blocking(&mut self, blocking: bool) -> io::Result<bool> {
        self.set_nonblocking(!blocking).map(|()| true)
    }
}

#[cfg(unix)]
impl Stream for std::os::unix::net::UnixStream {
    fn second(&self) -> Option<Second> {
        self.try_clone().ok().map(|stream| Arc::new(Mutex::new(stream)) as _)
    }

    fn is_alive(&mut self) -> bool {
        let idle = self.set_nonblocking(true).is_ok() && is_idle(self);
        self.set_nonblocking(false).is_ok() && idle
    }

    fn set_blocking(&mut self, blocking: bool) -> io::Result<bool> {
        self.set_nonblocking(!blocking).map(|()| true)
    }
}

/// Connects to a Unix socket.
#[cfg(unix)]
pub(crate) fn unix(
    path: &std::path::Path,
    read_timeout: Option<Duration>,
) -> io::Result<std::os::unix::net::UnixStream> {
    let stream = std::os::unix::net::UnixStream::connect(path)?;
    stream.set_read_timeout(read_timeout)?;
    stream.set_write_timeout(read_timeout)?;
    Ok(stream)
}

/// Whether a non-blocking stream has nothing to read, not even its end.
pub(crate) fn is_idle(stream: &mut impl Read) -> bool {
    matches!(stream.read(&mut [0]), Err(error) if error.kind() == io::ErrorKind::WouldBlock)
}
