//! Transports: what carries a connection's bytes. Only [`ClientStream::wait`] blocks.

mod peek_buffer;
#[cfg(feature = "tls")]
mod tls_stream;

#[cfg(feature = "tls")]
use self::tls_stream::TlsStream;
pub(crate) use peek_buffer::{MAX_PEEK, Peek, lock};

use self::peek_buffer::{PeekBuffer, SharedPeekBuffer};
use bobak_serving::Listener;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, OFlags, fcntl_getfl, fcntl_setfl, fstat};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{IpAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The requested capacity of pipes.
const PIPE_CAPACITY: usize = 1 << 20;

/// A connected, non-blocking stream.
pub(crate) enum ClientStream {
    Tcp(TcpStream),
    Unix(UnixStream),
    #[cfg(feature = "tls")]
    Tls {
        stream: SharedPeekBuffer<TlsStream>,
        socket: Arc<TcpStream>,
    },
    Pipes {
        input: SharedPeekBuffer<Arc<File>>,
        /// The same file, to poll it.
        end: Arc<File>,
        output: File,
        /// Whether the input is non-blocking, so that it can be peeked at.
        is_peekable: bool,
    },
}

/// Whether a transport can be read and written without blocking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Readiness {
    pub readable: bool,
    pub writable: bool,
}

/// What a transport's descriptor shows about the client, without reading from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClientSignals {
    /// What it sends, and that it has disconnected.
    DataAndClose,
    /// That it has disconnected. What it sends is encrypted.
    #[cfg(feature = "tls")]
    Close,
    /// That it does not read any more. The end of what it sends means nothing: it may still read.
    StopsReading,
}

impl ClientStream {
    /// Accepts the next connection; `WouldBlock` if there is none.
    pub fn accept(listener: &Listener) -> io::Result<Self> {
        match listener {
            Listener::Tcp(listener) => Self::tcp(listener.accept()?.0),
            #[cfg(feature = "tls")]
            Listener::Tls(listener, config) => {
                let stream = listener.accept()?.0;
                Ok(Self::tls(TlsStream::new(Arc::clone(config), stream)?))
            }
            Listener::Unix(listener, _) => Self::unix(listener.accept()?.0),
            // Another crate of the program may bring TLS to `Listener`, without the feature of this one.
            _ => Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "this program's server has no TLS: enable the feature `tls` of bobak-server",
            )),
        }
    }

    pub fn tcp(stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        // Responses are written whole: delaying them to collect more has no use.
        stream.set_nodelay(true)?;
        // Detects clients whose machine has disappeared.
        rustix::net::sockopt::set_socket_keepalive(&stream, true)?;
        Ok(Self::Tcp(stream))
    }

    pub fn unix(stream: UnixStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self::Unix(stream))
    }

    /// A transport over two pipe ends, or files.
    pub fn pipes(input: OwnedFd, output: OwnedFd) -> io::Result<Self> {
        for end in [&input, &output] {
            let kind = FileType::from_raw_mode(fstat(end)?.st_mode);
            if matches!(kind, FileType::Fifo | FileType::Socket) {
                fcntl_setfl(end, fcntl_getfl(end)? | OFlags::NONBLOCK)?;
            }
            #[cfg(target_os = "linux")]
            if kind == FileType::Fifo {
                // Larger is faster; the default works as well.
                let _ = rustix::pipe::fcntl_setpipe_size(end, PIPE_CAPACITY);
            }
        }
        let is_peekable = fcntl_getfl(&input)?.contains(OFlags::NONBLOCK);
        let end = Arc::new(File::from(input));
        let input = PeekBuffer::shared(Arc::clone(&end));
        Ok(Self::Pipes { input, end, output: output.into(), is_peekable })
    }

    /// A transport over a TLS stream.
    #[cfg(feature = "tls")]
    pub fn tls(stream: TlsStream) -> Self {
        let socket = stream.socket();
        Self::Tls { stream: PeekBuffer::shared(stream), socket }
    }

    /// Whether the operating system protects it, so that its clients need no credentials.
    pub const fn is_trusted(&self) -> bool {
        matches!(self, Self::Unix(_) | Self::Pipes { .. })
    }

    /// The client's address; `None` if it is on this machine.
    pub fn peer(&self) -> Option<IpAddr> {
        let address = match self {
            Self::Tcp(stream) => stream.peer_addr(),
            #[cfg(feature = "tls")]
            Self::Tls { socket, .. } => socket.peer_addr(),
            Self::Unix(_) | Self::Pipes { .. } => return None,
        };
        // A client that has disconnected has none.
        address.ok().map(|address| address.ip())
    }

    /// Whether the poller can wait for its requests.
    pub const fn is_pollable(&self) -> bool {
        !matches!(self, Self::Pipes { .. })
    }

    /// What its descriptor shows about the client.
    pub const fn signals(&self) -> ClientSignals {
        match self {
            Self::Tcp(_) | Self::Unix(_) => ClientSignals::DataAndClose,
            #[cfg(feature = "tls")]
            Self::Tls { .. } => ClientSignals::Close,
            Self::Pipes { .. } => ClientSignals::StopsReading,
        }
    }

    /// The buffer in which the received data can be looked at, if the descriptor does not show it.
    pub fn peek_buffer(&self) -> Option<Arc<Mutex<dyn Peek>>> {
        match self {
            #[cfg(feature = "tls")]
            Self::Tls { stream, .. } => Some(Arc::clone(stream) as _),
            Self::Pipes { input, is_peekable: true, .. } => Some(Arc::clone(input) as _),
            _ => None,
        }
    }

    /// The descriptor that shows that the client has disconnected: of pipes, the end it reads from.
    pub fn monitored(&self) -> BorrowedFd<'_> {
        match self {
            Self::Pipes { output, .. } => output.as_fd(),
            other => other.as_fd(),
        }
    }

    pub fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(room),
            Self::Unix(stream) => stream.read(room),
            #[cfg(feature = "tls")]
            Self::Tls { stream, .. } => lock(stream).read(room),
            Self::Pipes { input, .. } => lock(input).read(room),
        }
    }

    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
            #[cfg(feature = "tls")]
            Self::Tls { stream, .. } => lock(stream).source().write(bytes),
            Self::Pipes { output, .. } => output.write(bytes),
        }
    }

    /// Writes buffered data; `WouldBlock` if that is not possible now.
    pub fn flush(&mut self) -> io::Result<()> {
        match self {
            #[cfg(feature = "tls")]
            Self::Tls { stream, .. } => lock(stream).source().flush(),
            _ => Ok(()),
        }
    }

    /// Waits until it can be read, or where `write` is set be written, or the time is over.
    pub fn wait(&self, read: bool, write: bool, timeout: Duration) -> io::Result<Readiness> {
        if read && self.has_buffered() {
            return Ok(Readiness { readable: true, writable: false });
        }
        let wanted = |set: bool, flag| if set { flag } else { PollFlags::empty() };
        let (reads, writes) = (wanted(read, PollFlags::IN), wanted(write, PollFlags::OUT));
        let (input, output) = match self {
            Self::Pipes { end, output, .. } => (end.as_fd(), Some(output.as_fd())),
            other => (other.as_fd(), None),
        };
        let first = if output.is_some() { reads } else { reads | writes };
        let mut ends = [
            PollFd::from_borrowed_fd(input, first),
            PollFd::from_borrowed_fd(output.unwrap_or(input), writes),
        ];
        let count = if output.is_some() { 2 } else { 1 };
        let timeout = Timespec {
            tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: timeout.subsec_nanos().into(),
        };
        match poll(ends.get_mut(..count).unwrap_or_default(), Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let events = |index: usize| ends.get(index).map_or(PollFlags::empty(), |end| end.revents());
        // A broken end counts as ready: reading or writing returns the error.
        let broken = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
        Ok(Readiness {
            readable: read && events(0).intersects(PollFlags::IN | broken),
            writable: write && events(count - 1).intersects(PollFlags::OUT | broken),
        })
    }

    /// Whether there is data in a buffer, which the descriptor does not show.
    fn has_buffered(&self) -> bool {
        match self {
            #[cfg(feature = "tls")]
            Self::Tls { stream, .. } => {
                let mut buffer = lock(stream);
                buffer.is_readable() || buffer.source().is_readable()
            }
            Self::Pipes { input, .. } => lock(input).is_readable(),
            _ => false,
        }
    }
}

impl AsFd for ClientStream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(stream) => stream.as_fd(),
            Self::Unix(stream) => stream.as_fd(),
            #[cfg(feature = "tls")]
            Self::Tls { socket, .. } => socket.as_fd(),
            Self::Pipes { end, .. } => end.as_fd(),
        }
    }
}
