//! The poller: one thread that accepts connections and waits for requests on all idle ones.

use crate::connection::Connection;
use crate::state::WireServerState;
use crate::transport::ClientStream;
use bobak_core::{Error, ErrorKind};
use bobak_serving::Listener;
use bobak_wire::encode_response;
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token, Waker};
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

/// How often deadlines are checked, while there are any.
const CHECK_INTERVAL: Duration = Duration::from_millis(250);
/// The token of the waker. Tokens from 1 on are listeners, then connections.
const WAKER_TOKEN: Token = Token(0);
/// The most connections to accept from a listener at a time, so that a burst of new clients does not
/// delay connected ones.
const ACCEPT_BATCH: usize = 64;

/// The state of the poller thread.
pub(crate) struct Poller {
    poll: Poll,
    listeners: Vec<Listener>,
    /// The idle connections, by token.
    connections: HashMap<usize, Connection>,
    /// How many of them are unauthenticated.
    unauthenticated: usize,
    next_token: usize,
    returned: Receiver<Connection>,
    shared: Arc<WireServerState>,
    last_check: Instant,
    /// Whether accepting failed and must be tried again.
    retry_accept: bool,
    /// The listeners on which more connections may wait.
    backlog: Vec<usize>,
}

impl Poller {
    /// The system's poller, and its waker.
    pub fn poll() -> io::Result<(Poll, Waker)> {
        let poll = Poll::new()?;
        let waker = Waker::new(poll.registry(), WAKER_TOKEN)?;
        Ok((poll, waker))
    }

    pub fn new(
        poll: Poll,
        listeners: Vec<Listener>,
        returned: Receiver<Connection>,
        shared: Arc<WireServerState>,
    ) -> io::Result<Self> {
        for (index, listener) in listeners.iter().enumerate() {
            let mut source = SourceFd(&listener.as_raw_fd());
            poll.registry().register(&mut source, Token(index + 1), Interest::READABLE)?;
        }
        Ok(Self {
            poll,
            next_token: listeners.len() + 1,
            listeners,
            connections: HashMap::new(),
            unauthenticated: 0,
            returned,
            shared,
            last_check: Instant::now(),
            retry_accept: false,
            backlog: Vec::new(),
        })
    }

    /// Runs until the server shuts down.
    pub fn run(mut self) {
        let mut events = Events::with_capacity(1_024);
        while !self.shared.shutdown.has_started() {
            let polled = self.poll.poll(&mut events, self.timeout());
            if let Err(error) = polled
                && error.kind() != io::ErrorKind::Interrupted
            {
                self.shared.audit_log.server_event(&format!("the poller failed: {error}"));
                std::thread::sleep(CHECK_INTERVAL);
            }
            for event in &events {
                match event.token() {
                    WAKER_TOKEN => {}
                    Token(listener) if listener <= self.listeners.len() => {
                        self.accept(listener - 1);
                    }
                    Token(connection) => self.submit(connection),
                }
            }
            for listener in std::mem::take(&mut self.backlog) {
                self.accept(listener);
            }
            while let Ok(connection) = self.returned.try_recv() {
                self.register(connection);
            }
            self.check_deadlines();
        }
        let error = Error::new(ErrorKind::Unreachable, "the server is shutting down");
        self.connections.values_mut().for_each(|connection| connection.dismiss(&error));
    }

    /// How long to wait for events; `None` for any time.
    fn timeout(&self) -> Option<Duration> {
        if !self.backlog.is_empty() {
            return Some(Duration::ZERO);
        }
        let has_deadlines =
            self.retry_accept || self.shared.workers.has_waiters() || self.unauthenticated > 0;
        has_deadlines.then_some(CHECK_INTERVAL)
    }

    /// Accepts connections of a listener, up to a limit.
    fn accept(&mut self, index: usize) {
        for _ in 0..ACCEPT_BATCH {
            let Some(listener) = self.listeners.get(index) else { return };
            match ClientStream::accept(listener) {
                Ok(transport) => self.add(transport),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // The client has disconnected already, or a signal arrived.
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::ConnectionAborted | io::ErrorKind::Interrupted
                    ) => {}
                Err(error) => {
                    // Repeats as long as, for example, there are no file descriptors left.
                    let line = format_args!("a connection could not be accepted: {error}");
                    self.shared.audit_log.client_event(None, line);
                    self.retry_accept = true;
                    return;
                }
            }
        }
        if !self.backlog.contains(&index) {
            self.backlog.push(index);
        }
    }

    /// Adds an accepted connection, if the limits allow it.
    fn add(&mut self, mut transport: ClientStream) {
        let peer = transport.peer();
        let permit = match self.shared.connections.acquire(peer, transport.is_trusted()) {
            Ok(permit) => Some(permit),
            Err(error) => {
                let mut response = Vec::new();
                encode_response::error(&mut response, 0, &error);
                let at = peer.map_or_else(|| "this machine".to_owned(), |peer| peer.to_string());
                let line = format_args!("an unauthenticated client at {at} was rejected: {error}");
                self.shared.audit_log.client_event(peer, line);
                // A client that does not read misses the error.
                let _ = transport.write(&response);
                return;
            }
        };
        self.register(Connection::new(transport, &self.shared.settings.limits(), permit));
    }

    /// Waits for requests on a connection.
    fn register(&mut self, connection: Connection) {
        let token = self.next_token;
        self.next_token = token.wrapping_add(1).max(self.listeners.len() + 1);
        let mut source = SourceFd(&connection.transport.as_fd().as_raw_fd());
        match self.poll.registry().register(&mut source, Token(token), Interest::READABLE) {
            Ok(()) => {
                self.unauthenticated += usize::from(connection.client.is_none());
                self.connections.insert(token, connection);
            }
            Err(error) => {
                let line = format!("a connection could not be added to the poller: {error}");
                self.shared.audit_log.server_event(&line);
            }
        }
    }

    /// Passes a connection with a request to the workers.
    fn submit(&mut self, token: usize) {
        let Some(connection) = self.connections.remove(&token) else { return };
        self.unauthenticated -= usize::from(connection.client.is_none());
        let mut source = SourceFd(&connection.transport.as_fd().as_raw_fd());
        if let Err(error) = self.poll.registry().deregister(&mut source) {
            let line = format!("a connection could not be removed from the poller: {error}");
            self.shared.audit_log.server_event(&line);
            return;
        }
        self.shared.workers.submit(connection);
    }

    fn check_deadlines(&mut self) {
        if self.last_check.elapsed() < CHECK_INTERVAL {
            return;
        }
        self.last_check = Instant::now();
        if std::mem::take(&mut self.retry_accept) {
            (0..self.listeners.len()).for_each(|index| self.accept(index));
        }
        if self.unauthenticated > 0 {
            self.disconnect_unauthenticated();
        }
        let overdue = self.shared.workers.take_overdue(self.shared.settings.worker_timeout);
        for (mut connection, error) in overdue {
            self.shared.log_client(&connection, format_args!("was rejected: {error}"));
            if reject_requests(&mut connection, &error) {
                self.register(connection);
            }
        }
    }

    /// Disconnects clients that did not authenticate in time.
    fn disconnect_unauthenticated(&mut self) {
        let timeout = self.shared.settings.handshake_timeout;
        let shared = &self.shared;
        self.connections.retain(|_, connection| {
            let stays = connection.client.is_some() || connection.since.elapsed() < timeout;
            if !stays {
                shared.log_client(connection, "was disconnected: the handshake timed out");
            }
            stays
        });
        let remaining = self.connections.values().filter(|c| c.client.is_none());
        self.unauthenticated = remaining.count();
    }
}

/// Responds to the requests of a connection that no worker could take. Returns whether the connection
/// goes on.
fn reject_requests(connection: &mut Connection, error: &Error) -> bool {
    if connection.client.is_none() {
        connection.dismiss(error);
        return false;
    }
    while let Ok(true) = connection.fill() {}
    loop {
        match connection.input.next_frame() {
            // The next part of a batch would look like a new batch.
            Ok(Some(frame)) if frame.header.more => {
                connection.dismiss(error);
                return false;
            }
            // A handle that was not defined would be missing later.
            Ok(Some(frame)) if frame.header.kind.has_no_response() => {
                connection.dismiss(error);
                return false;
            }
            Ok(Some(frame)) => {
                encode_response::error(&mut connection.output, frame.header.id, error);
            }
            Ok(None) => return matches!(connection.try_flush(), Ok(true)),
            Err(_) => return false,
        }
    }
}
