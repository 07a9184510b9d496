//! A connection: its transport, its received frames, its responses, and its client.

use crate::database::ServedDatabase;
use crate::frame_queue::{FlowControl, FrameQueue};
use crate::pipelined::PipelinedFrames;
use crate::request_monitor::MonitoredClient;
use crate::settings::Settings;
use crate::transport::{ClientStream, Readiness};
use bobak_core::{Engine, Error};
use bobak_permissions::Caller;
use bobak_serving::{Permit, Principal};
use bobak_wire::{AdaptiveSpin, Handles, Hello, Limits, encode_response};
use std::fmt;
use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How many bytes of responses are collected before they are written, while there are more requests.
pub(crate) const WRITE_THRESHOLD: usize = 64 << 10;

/// A connection.
pub(crate) struct Connection {
    pub transport: ClientStream,
    pub input: FrameQueue,
    pub output: Vec<u8>,
    /// How much of the output is written.
    written: usize,
    spin: AdaptiveSpin,
    pub handles: Handles,
    /// The hello of a client whose password must be checked.
    pub pending_hello: Option<HelloRequest>,
    /// The client, once it is authenticated.
    pub client: Option<AuthenticatedClient>,
    /// The client's address; `None` on this machine.
    pub peer: Option<IpAddr>,
    /// For quotas.
    pub principal: Principal,
    pub since: Instant,
    /// The descriptor that the request monitor polls.
    monitored: Option<Arc<OwnedFd>>,
    /// Set if the client was found to have disconnected while a request ran.
    disconnected: Arc<AtomicBool>,
    /// Counts it among all connections; pipes are not counted.
    _permit: Option<Permit>,
}

/// The first request of a client, and its id.
pub(crate) type HelloRequest = (u32, Box<Hello>);

/// An authenticated client.
#[derive(Clone)]
pub(crate) struct AuthenticatedClient {
    pub caller: Caller,
    pub database: Arc<ServedDatabase>,
    /// The database, restricted to the client's permissions.
    pub engine: Arc<dyn Engine>,
}

/// Why a connection ends.
#[derive(Debug)]
pub(crate) enum Disconnect {
    /// The client closed it.
    Closed,
    /// The transport failed, or the client did not read in time.
    Io(io::Error),
    /// The client violated the protocol or a timeout. It gets the error.
    Protocol(Error),
}

impl Disconnect {
    /// Whether the client ended it, in good order or not: it closed its end, or its process was killed.
    pub fn is_by_client(&self) -> bool {
        use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected};
        match self {
            Self::Closed => true,
            Self::Io(error) => matches!(
                error.kind(),
                BrokenPipe | ConnectionAborted | ConnectionReset | NotConnected
            ),
            Self::Protocol(_) => false,
        }
    }
}

impl From<io::Error> for Disconnect {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<Error> for Disconnect {
    fn from(error: Error) -> Self {
        Self::Protocol(error)
    }
}

impl Connection {
    pub fn new(transport: ClientStream, limits: &Limits, permit: Option<Permit>) -> Self {
        let peer = transport.peer();
        let principal = match transport.is_trusted() {
            true => Principal::operator(),
            false => Principal::from_address(peer),
        };
        Self {
            transport,
            pending_hello: None,
            peer,
            principal,
            input: FrameQueue::new(),
            output: Vec::new(),
            written: 0,
            spin: AdaptiveSpin::default(),
            handles: Handles::new(limits),
            client: None,
            since: Instant::now(),
            monitored: None,
            disconnected: Arc::default(),
            _permit: permit,
        }
    }

    /// Sets the authenticated client.
    pub fn set_client(&mut self, client: AuthenticatedClient) {
        if !(self.transport.is_trusted() && client.caller.is_operator()) {
            self.principal = Principal::from_address(self.peer).with_name(client.caller.name());
        }
        self.client = Some(client);
    }

    /// Reads what has arrived. Returns `false` if that is nothing.
    #[inline]
    pub fn fill(&mut self) -> Result<bool, Disconnect> {
        let transport = &mut self.transport;
        match self.input.inbox.read_from(|room| transport.read(room)) {
            Ok(0) => Err(Disconnect::Closed),
            Ok(_) => Ok(true),
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(false),
                _ => Err(error.into()),
            },
        }
    }

    /// Reads what has arrived, up to the receive window, and takes what the client sent about this
    /// request.
    pub fn look_ahead(&mut self, id: u32, settings: &Settings) -> Result<FlowControl, Disconnect> {
        while self.input.len() <= settings.receive_window as usize && self.fill()? {}
        Ok(self.input.look_ahead(id, settings)?)
    }

    /// Whether there is received data that was not handled yet.
    pub fn has_input(&mut self) -> Result<bool, Disconnect> {
        Ok(self.input.len() > 0 || self.fill()?)
    }

    /// Writes as much as is possible at once. Returns whether that was all.
    #[inline]
    pub fn try_flush(&mut self) -> Result<bool, Disconnect> {
        while let Some(rest) = self.output.get(self.written..).filter(|rest| !rest.is_empty()) {
            match self.transport.write(rest) {
                Ok(0) => return Err(io::Error::from(io::ErrorKind::WriteZero).into()),
                Ok(count) => self.written += count,
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock => return Ok(false),
                    io::ErrorKind::Interrupted => {}
                    _ => return Err(error.into()),
                },
            }
        }
        self.output.clear();
        self.written = 0;
        match self.transport.flush() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            other => other.map(|()| true).map_err(Disconnect::from),
        }
    }

    /// Writes all responses. Meanwhile it receives what the client sends, up to the receive window, so
    /// that a client that writes before it reads does not deadlock.
    #[inline]
    pub fn flush(&mut self, settings: &Settings) -> Result<(), Disconnect> {
        if self.try_flush()? { Ok(()) } else { self.flush_slowly(settings) }
    }

    #[cold]
    fn flush_slowly(&mut self, settings: &Settings) -> Result<(), Disconnect> {
        let window = settings.receive_window as usize;
        let mut is_closed = false;
        let mut deadline = Instant::now() + settings.write_timeout;
        loop {
            let Some(rest) = deadline.checked_duration_since(Instant::now()) else {
                let message = "the client does not read its responses";
                return Err(io::Error::new(io::ErrorKind::TimedOut, message).into());
            };
            let reads = !is_closed && self.input.len() < window;
            let Readiness { readable, writable } = self.transport.wait(reads, true, rest)?;
            if readable {
                match self.fill() {
                    // It may still read, over another pipe.
                    Err(Disconnect::Closed) => is_closed = true,
                    other => drop(other?),
                }
            }
            if writable {
                let before = self.written;
                if self.try_flush()? {
                    return Ok(());
                }
                if self.written > before {
                    deadline = Instant::now() + settings.write_timeout;
                }
            }
        }
    }

    /// Waits for data. Returns `false` if the timeout ended first.
    #[inline]
    pub fn wait(&mut self, timeout: Duration) -> Result<bool, Disconnect> {
        let started = Instant::now();
        let mut spin = std::mem::take(&mut self.spin);
        let spun = spin.spin_until(|| Ok::<_, Disconnect>(self.fill()?.then_some(())))?.is_some();
        let has_data =
            spun || self.transport.wait(true, false, timeout)?.readable && self.fill()?;
        if has_data {
            spin.record_wait(started.elapsed());
        }
        self.spin = spin;
        Ok(has_data)
    }

    /// What the request monitor needs to notice that the client cancels a request or disconnects.
    pub fn monitored(&mut self, id: u32, timeout: Duration) -> MonitoredClient {
        let (signals, transport) = (self.transport.signals(), &self.transport);
        if self.monitored.is_none() {
            // Without a descriptor, only the timeout is monitored.
            self.monitored = transport.monitored().try_clone_to_owned().map(Arc::new).ok();
        }
        let pipelined = PipelinedFrames::of(self.input.inbox.waiting(), id);
        let peek_buffer = self.transport.peek_buffer();
        let (descriptor, disconnected) = (self.monitored.clone(), Arc::clone(&self.disconnected));
        MonitoredClient { signals, descriptor, peek_buffer, id, pipelined, disconnected, timeout }
    }

    /// Sends the client the error that ends the connection.
    pub fn dismiss(&mut self, error: &Error) {
        encode_response::error(&mut self.output, 0, error);
        // A client that does not read misses it.
        let _ = self.try_flush();
    }

    /// Whether there are responses that the client did not wait for.
    pub fn has_unread_responses(&self) -> bool {
        self.written < self.output.len() || self.disconnected.load(Ordering::Relaxed)
    }

    /// Releases memory that an idle connection does not need.
    pub fn release_memory(&mut self) {
        self.input.release_memory();
        self.monitored = None;
        if self.output.is_empty() {
            self.output = Vec::new();
        }
    }
}

/// `ada at 192.0.2.7`, as far as that is known.
impl fmt::Display for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            self.client.as_ref().map_or("an unauthenticated client", |client| client.caller.name()),
        )?;
        match self.peer {
            Some(peer) => write!(f, " at {peer}"),
            None => f.write_str(" at this machine"),
        }
    }
}
