//! Where connections wait that have nothing to say: all of them on one thread.

use crate::connection::Connection;
use crate::server::Shared;
use crate::transport::Transport;
use bobak_core::{Error, ErrorKind};
use bobak_serving::Listener;
use bobak_wire::encode_response;
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token, Waker};
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often deadlines are looked at, while there are any.
const SLICE: Duration = Duration::from_millis(250);
const WAKE: Token = Token(0);
/// How many are let in at a time: a crowd at the door keeps nobody waiting who is in.
const AT_ONCE: usize = 64;

/// The poller's state.
pub(crate) struct Lobby {
    poll: Poll,
    listeners: Vec<Listener>,
    guests: HashMap<usize, Connection>,
    /// How many of them have not said yet who they are.
    strangers: usize,
    next: usize,
    returned: Receiver<Connection>,
    shared: Arc<Shared>,
    looked: Instant,
    /// Whether accepting failed, so that it must be tried again.
    retry: bool,
    /// The doors at which more may wait.
    crowded: Vec<usize>,
}

/// The way back to it for workers.
pub(crate) struct Return {
    pub waker: Waker,
    pub sender: Mutex<Sender<Connection>>,
}

impl Lobby {
    /// A poller, and the token of its waker.
    pub fn poll() -> io::Result<(Poll, Waker)> {
        let poll = Poll::new()?;
        let waker = Waker::new(poll.registry(), WAKE)?;
        Ok((poll, waker))
    }

    pub fn new(
        poll: Poll,
        listeners: Vec<Listener>,
        returned: Receiver<Connection>,
        shared: Arc<Shared>,
    ) -> io::Result<Self> {
        for (place, listener) in listeners.iter().enumerate() {
            let mut source = SourceFd(&listener.as_raw_fd());
            poll.registry().register(&mut source, Token(place + 1), Interest::READABLE)?;
        }
        let next = listeners.len() + 1;
        let (guests, strangers, looked, retry) = (HashMap::new(), 0, Instant::now(), false);
        Ok(Self {
            poll,
            listeners,
            guests,
            strangers,
            next,
            returned,
            shared,
            looked,
            retry,
            crowded: Vec::new(),
        })
    }

    /// Has a connection wait here again.
    pub fn give_back(connection: Connection, shared: &Shared) {
        let Some(back) = shared.back.get() else { return };
        let sender = back.sender.lock().unwrap_or_else(PoisonError::into_inner);
        // Where nobody receives, the server has stopped, and the connection ends here.
        if sender.send(connection).is_ok() {
            let _ = back.waker.wake();
        }
    }

    /// Runs until the server stops.
    pub fn run(mut self) {
        let mut events = Events::with_capacity(1_024);
        while !self.shared.is_stopping() {
            let polled = self.poll.poll(&mut events, self.patience());
            if let Err(error) = polled
                && error.kind() != io::ErrorKind::Interrupted
            {
                self.shared.log(&format!("the poller failed: {error}"));
                std::thread::sleep(SLICE);
            }
            for event in &events {
                match event.token() {
                    WAKE => {}
                    Token(place) if place <= self.listeners.len() => self.accept(place - 1),
                    Token(guest) => self.call(guest),
                }
            }
            for place in std::mem::take(&mut self.crowded) {
                self.accept(place);
            }
            while let Ok(connection) = self.returned.try_recv() {
                self.seat(connection);
            }
            self.look_at_clock();
        }
        let error = Error::new(ErrorKind::Unreachable, "the server stops");
        self.guests.values_mut().for_each(|connection| connection.dismiss(&error));
    }

    /// How long nothing needs to be looked at.
    fn patience(&self) -> Option<Duration> {
        if !self.crowded.is_empty() {
            return Some(Duration::ZERO);
        }
        let deadlines = self.retry || self.shared.pool.has_queue() || self.strangers > 0;
        deadlines.then_some(SLICE)
    }

    /// Lets in who waits at a door, and then looks at those who are in.
    fn accept(&mut self, place: usize) {
        for _ in 0..AT_ONCE {
            let Some(listener) = self.listeners.get(place) else { return };
            match Transport::accept(listener) {
                Ok(transport) => self.welcome(transport),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // The client has gone again, or a signal came.
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::ConnectionAborted | io::ErrorKind::Interrupted
                    ) => {}
                Err(error) => {
                    // As long as there are no more files, say, it is so again and again.
                    let line = format_args!("a connection could not be accepted: {error}");
                    self.shared.audit_log.client_event(None, line);
                    self.retry = true;
                    return;
                }
            }
        }
        if !self.crowded.contains(&place) {
            self.crowded.push(place);
        }
    }

    fn welcome(&mut self, mut transport: Transport) {
        let peer = transport.peer();
        let seat = match self.shared.seats.acquire(peer, transport.is_trusted()) {
            Ok(seat) => Some(seat),
            Err(error) => {
                let mut answer = Vec::new();
                encode_response::error(&mut answer, 0, &error);
                let at = peer.map_or_else(|| "this machine".to_owned(), |peer| peer.to_string());
                let line = format_args!("a stranger at {at} was refused: {error}");
                self.shared.audit_log.client_event(peer, line);
                // Whoever does not listen is not told.
                let _ = transport.write(&answer);
                return;
            }
        };
        self.seat(Connection::new(transport, &self.shared.settings.limits, seat));
    }

    /// Waits for a connection to say something.
    fn seat(&mut self, connection: Connection) {
        let token = self.next;
        self.next = token.wrapping_add(1).max(self.listeners.len() + 1);
        let mut source = SourceFd(&connection.transport.as_fd().as_raw_fd());
        match self.poll.registry().register(&mut source, Token(token), Interest::READABLE) {
            Ok(()) => {
                self.strangers += usize::from(connection.guest.is_none());
                self.guests.insert(token, connection);
            }
            Err(error) => self.shared.log(&format!("a connection could not wait: {error}")),
        }
    }

    /// Sends a connection to the workers.
    fn call(&mut self, token: usize) {
        let Some(connection) = self.guests.remove(&token) else { return };
        self.strangers -= usize::from(connection.guest.is_none());
        let mut source = SourceFd(&connection.transport.as_fd().as_raw_fd());
        if let Err(error) = self.poll.registry().deregister(&mut source) {
            self.shared.log(&format!("a connection could not leave the poller: {error}"));
            return;
        }
        self.shared.pool.submit(connection, &self.shared);
    }

    fn look_at_clock(&mut self) {
        if self.looked.elapsed() < SLICE {
            return;
        }
        self.looked = Instant::now();
        if std::mem::take(&mut self.retry) {
            (0..self.listeners.len()).for_each(|place| self.accept(place));
        }
        let patience = self.shared.settings.hello_timeout;
        if self.strangers > 0 {
            let audit_log = &self.shared.audit_log;
            self.guests.retain(|_, connection| {
                let stays = connection.guest.is_some() || connection.since.elapsed() < patience;
                if !stays {
                    let line =
                        format_args!("{connection} was cut off: no whole hello came in time");
                    audit_log.client_event(connection.peer, line);
                }
                stays
            });
            let strangers = self.guests.values().filter(|connection| connection.guest.is_none());
            self.strangers = strangers.count();
        }
        let overdue = self.shared.pool.take_overdue(self.shared.settings.worker_timeout);
        for (mut connection, error) in overdue {
            let line = format_args!("{connection} was refused: {error}");
            self.shared.audit_log.client_event(connection.peer, line);
            if refuse(&mut connection, &error) {
                self.seat(connection);
            }
        }
    }
}

/// Answers the requests of a connection that no worker could take; `false` where it is no more.
fn refuse(connection: &mut Connection, error: &Error) -> bool {
    if connection.guest.is_none() {
        connection.dismiss(error);
        return false;
    }
    while let Ok(true) = connection.fill() {}
    loop {
        match connection.input.next_frame() {
            // A batch that comes in parts is not told from its next part.
            Ok(Some(turn)) if turn.head.more => {
                connection.dismiss(error);
                return false;
            }
            Ok(Some(turn)) if turn.head.kind.has_no_response() => {
                // A number that was not taken would be missing later.
                connection.dismiss(error);
                return false;
            }
            Ok(Some(turn)) => encode_response::error(&mut connection.output, turn.head.id, error),
            Ok(None) => return matches!(connection.try_flush(), Ok(true)),
            Err(_) => return false,
        }
    }
}
