//! What carries a connection's bytes. Nothing here blocks but `wait`.

use crate::early::{Early, Peek, Shared, lock};
use crate::watch::LineKind;
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

/// How large a pipe is made, where the system lets it be.
const PIPE: usize = 1 << 20;

/// A connected stream that does not block.
pub(crate) enum Transport {
    Tcp(TcpStream),
    Unix(UnixStream),
    #[cfg(feature = "tls")]
    Tls {
        sealed: Shared<crate::tls::TlsStream>,
        socket: Arc<TcpStream>,
    },
    Pipes {
        input: Shared<Arc<File>>,
        /// The same: to wait for it.
        end: Arc<File>,
        output: File,
        /// Whether it can be looked at without waiting.
        looked_at: bool,
    },
}

/// What a transport can do now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ready {
    pub readable: bool,
    pub writable: bool,
}

impl Transport {
    /// Accepts the next connection; `WouldBlock` if there is none.
    pub fn accept(listener: &Listener) -> io::Result<Self> {
        match listener {
            Listener::Tcp(listener) => Self::tcp(listener.accept()?.0),
            #[cfg(feature = "tls")]
            Listener::Tls(listener, config) => {
                let stream = listener.accept()?.0;
                Ok(Self::tls(crate::tls::TlsStream::new(Arc::clone(config), stream)?))
            }
            Listener::Unix(listener, _) => Self::unix(listener.accept()?.0),
        }
    }

    pub fn tcp(stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        // Answers are written whole: there is nothing to wait for.
        stream.set_nodelay(true)?;
        // A client whose machine has gone is found out, some day.
        rustix::net::sockopt::set_socket_keepalive(&stream, true)?;
        Ok(Self::Tcp(stream))
    }

    pub fn unix(stream: UnixStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self::Unix(stream))
    }

    /// From two ends of pipes, or of files.
    pub fn pipes(input: OwnedFd, output: OwnedFd) -> io::Result<Self> {
        for end in [&input, &output] {
            let kind = FileType::from_raw_mode(fstat(end)?.st_mode);
            if matches!(kind, FileType::Fifo | FileType::Socket) {
                fcntl_setfl(end, fcntl_getfl(end)? | OFlags::NONBLOCK)?;
            }
            #[cfg(target_os = "linux")]
            if kind == FileType::Fifo {
                // Larger is quicker; where it may not be, smaller does.
                let _ = rustix::pipe::fcntl_setpipe_size(end, PIPE);
            }
        }
        let looked_at = fcntl_getfl(&input)?.contains(OFlags::NONBLOCK);
        let end = Arc::new(File::from(input));
        let input = Early::shared(Arc::clone(&end));
        Ok(Self::Pipes { input, end, output: output.into(), looked_at })
    }

    /// From a stream under TLS.
    #[cfg(feature = "tls")]
    pub fn tls(stream: crate::tls::TlsStream) -> Self {
        let socket = stream.socket();
        Self::Tls { sealed: Early::shared(stream), socket }
    }

    /// Whether the operating system guards the door: who comes through it is known.
    pub const fn is_trusted(&self) -> bool {
        matches!(self, Self::Unix(_) | Self::Pipes { .. })
    }

    /// The address of the other end, where it has one.
    pub fn peer(&self) -> Option<IpAddr> {
        let address = match self {
            Self::Tcp(stream) => stream.peer_addr(),
            #[cfg(feature = "tls")]
            Self::Tls { socket, .. } => socket.peer_addr(),
            Self::Unix(_) | Self::Pipes { .. } => return None,
        };
        // Who is gone already has none.
        address.ok().map(|address| address.ip())
    }

    /// Whether it can wait in the poller.
    pub const fn can_rest(&self) -> bool {
        !matches!(self, Self::Pipes { .. })
    }

    /// What can be seen of the client from outside.
    pub const fn line_kind(&self) -> LineKind {
        match self {
            Self::Tcp(_) | Self::Unix(_) => LineKind::Socket,
            #[cfg(feature = "tls")]
            Self::Tls { .. } => LineKind::Sealed,
            Self::Pipes { .. } => LineKind::Pipe,
        }
    }

    /// What the client has sent, where the system can't tell.
    pub fn early(&self) -> Option<Arc<Mutex<dyn Peek>>> {
        match self {
            #[cfg(feature = "tls")]
            Self::Tls { sealed, .. } => Some(Arc::clone(sealed) as _),
            Self::Pipes { input, looked_at: true, .. } => Some(Arc::clone(input) as _),
            _ => None,
        }
    }

    /// What shows that the client is gone: of pipes, that nobody reads.
    pub fn watched(&self) -> BorrowedFd<'_> {
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
            Self::Tls { sealed, .. } => lock(sealed).read(room),
            Self::Pipes { input, .. } => lock(input).read(room),
        }
    }

    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
            #[cfg(feature = "tls")]
            Self::Tls { sealed, .. } => lock(sealed).source().write(bytes),
            Self::Pipes { output, .. } => output.write(bytes),
        }
    }

    /// Writes what waits inside; `WouldBlock` where that does not go now.
    pub fn flush(&mut self) -> io::Result<()> {
        match self {
            #[cfg(feature = "tls")]
            Self::Tls { sealed, .. } => lock(sealed).source().flush(),
            _ => Ok(()),
        }
    }

    /// Waits until it can be read, or where `write` is set be written, or the time is over.
    pub fn wait(&self, read: bool, write: bool, timeout: Duration) -> io::Result<Ready> {
        if read && self.has_early() {
            return Ok(Ready { readable: true, writable: false });
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
        let happened =
            |place: usize| ends.get(place).map_or(PollFlags::empty(), |end| end.revents());
        // An end that is broken can be read and written: that says what is wrong with it.
        let broken = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
        Ok(Ready {
            readable: read && happened(0).intersects(PollFlags::IN | broken),
            writable: write && happened(count - 1).intersects(PollFlags::OUT | broken),
        })
    }

    /// Whether it can be read though nothing comes.
    fn has_early(&self) -> bool {
        match self {
            #[cfg(feature = "tls")]
            Self::Tls { sealed, .. } => {
                let mut early = lock(sealed);
                early.is_readable() || early.source().is_readable()
            }
            Self::Pipes { input, .. } => lock(input).is_readable(),
            _ => false,
        }
    }
}

impl AsFd for Transport {
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
