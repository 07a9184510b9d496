//! What carries the bytes.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A second way to write to the other end, for who ends a request whose answer is waited for.
pub(crate) type Second = Arc<Mutex<dyn Write + Send>>;

/// A connected stream, blocking, with its time-outs set.
pub(crate) trait Stream: Read + Write + Send {
    /// Whether the other end is still there and has said nothing unasked. For streams that waited
    /// in the pool.
    fn is_alive(&mut self) -> bool;

    /// Another way to write to the other end, while this one waits in a read; `None` where it can't be had.
    fn second(&self) -> Option<Second>;

    /// Whether reads wait from now on; `false` where they always do.
    fn set_blocking(&mut self, _blocking: bool) -> io::Result<bool> {
        Ok(false)
    }
}

/// Connects to the first of a name's addresses that answers in time.
pub(crate) fn tcp(
    address: &str,
    connect: Duration,
    answer: Option<Duration>,
) -> io::Result<TcpStream> {
    let mut last = None;
    for address in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, connect) {
            Ok(stream) => {
                // Requests are written whole: there is nothing to wait for.
                stream.set_nodelay(true)?;
                stream.set_read_timeout(answer)?;
                stream.set_write_timeout(answer)?;
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
        let quiet = self.set_nonblocking(true).is_ok() && is_quiet(self);
        self.set_nonblocking(false).is_ok() && quiet
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
        let quiet = self.set_nonblocking(true).is_ok() && is_quiet(self);
        self.set_nonblocking(false).is_ok() && quiet
    }

    fn set_blocking(&mut self, blocking: bool) -> io::Result<bool> {
        self.set_nonblocking(!blocking).map(|()| true)
    }
}

/// Connects to a Unix socket.
#[cfg(unix)]
pub(crate) fn unix(
    path: &std::path::Path,
    answer: Option<Duration>,
) -> io::Result<std::os::unix::net::UnixStream> {
    let stream = std::os::unix::net::UnixStream::connect(path)?;
    stream.set_read_timeout(answer)?;
    stream.set_write_timeout(answer)?;
    Ok(stream)
}

/// Whether a stream that does not block has nothing to read, not even its end.
pub(crate) fn is_quiet(stream: &mut impl Read) -> bool {
    matches!(stream.read(&mut [0]), Err(error) if error.kind() == io::ErrorKind::WouldBlock)
}
