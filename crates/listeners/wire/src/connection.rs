//! One client: its stream, what it sent, what it is to get, and who it is.

use crate::database::Database;
use crate::greet::Claim;
use crate::input::{Input, Said};
use crate::settings::Settings;
use crate::transport::{Ready, Transport};
use crate::watch::{Ahead, Line};
use bobak_core::{Engine, Error};
use bobak_permissions::Caller;
use bobak_serving::{Permit, Principal};
use bobak_wire::{AdaptiveSpin, Handles, Limits, encode_response};
use std::fmt;
use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Bytes of answers that wait before they are written, while more requests are at hand.
pub(crate) const FULL: usize = 64 << 10;

/// A connection.
pub(crate) struct Connection {
    pub transport: Transport,
    pub input: Input,
    pub output: Vec<u8>,
    /// How much of it was written.
    written: usize,
    spin: AdaptiveSpin,
    pub handles: Handles,
    /// What it says of who it is, until its password was looked at.
    pub claim: Option<Claim>,
    /// Who it is and what it wants, once it has said so.
    pub guest: Option<Guest>,
    /// Where it is; `None` on this machine.
    pub peer: Option<IpAddr>,
    /// As whom it is counted.
    pub principal: Principal,
    pub since: Instant,
    /// What is watched while a request runs.
    watched: Option<Arc<OwnedFd>>,
    /// Whether it was seen to be gone while a request ran.
    gone: Arc<AtomicBool>,
    /// Its place among all connections; a child process's client has none.
    _seat: Option<Permit>,
}

/// A client that was let in.
#[derive(Clone)]
pub(crate) struct Guest {
    pub caller: Caller,
    pub database: Arc<Database>,
    /// The database as the client may use it.
    pub engine: Arc<dyn Engine>,
}

/// Why a connection ends.
#[derive(Debug)]
pub(crate) enum Gone {
    /// The client has closed it.
    Left,
    /// The line broke, or the client did not read in time.
    Io(io::Error),
    /// The client does not keep to the protocol: it is told.
    Wrong(Error),
}

impl Gone {
    /// Whether the client has left, in good order or not: its end is closed, or its process killed.
    pub fn has_left(&self) -> bool {
        use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected};
        match self {
            Self::Left => true,
            Self::Io(error) => matches!(
                error.kind(),
                BrokenPipe | ConnectionAborted | ConnectionReset | NotConnected
            ),
            Self::Wrong(_) => false,
        }
    }
}

impl From<io::Error> for Gone {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<Error> for Gone {
    fn from(error: Error) -> Self {
        Self::Wrong(error)
    }
}

impl Connection {
    pub fn new(transport: Transport, limits: &Limits, seat: Option<Permit>) -> Self {
        let peer = transport.peer();
        let principal = match transport.is_trusted() {
            true => Principal::operator(),
            false => Principal::from_address(peer),
        };
        Self {
            transport,
            claim: None,
            peer,
            principal,
            input: Input::new(),
            output: Vec::new(),
            written: 0,
            spin: AdaptiveSpin::default(),
            handles: Handles::new(limits),
            guest: None,
            since: Instant::now(),
            watched: None,
            gone: Arc::default(),
            _seat: seat,
        }
    }

    /// The client is known from now on.
    pub fn let_in(&mut self, guest: Guest) {
        if !(self.transport.is_trusted() && guest.caller.is_operator()) {
            self.principal = Principal::from_address(self.peer).with_name(guest.caller.name());
        }
        self.guest = Some(guest);
    }

    /// Reads what has come; `false` where that is nothing.
    #[inline]
    pub fn fill(&mut self) -> Result<bool, Gone> {
        let transport = &mut self.transport;
        match self.input.inbox.read_from(|room| transport.read(room)) {
            Ok(0) => Err(Gone::Left),
            Ok(_) => Ok(true),
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(false),
                _ => Err(error.into()),
            },
        }
    }

    /// Reads what has come, as far as the window goes, and takes out what it says about this request
    /// and about those that wait.
    pub fn look_ahead(&mut self, id: u32, limits: &Limits) -> Result<Said, Gone> {
        while self.input.len() <= limits.window as usize && self.fill()? {}
        Ok(self.input.look_ahead(id, limits)?)
    }

    /// Whether something is there that was not answered yet.
    pub fn has_more(&mut self) -> Result<bool, Gone> {
        Ok(self.input.len() > 0 || self.fill()?)
    }

    /// Writes as much as goes at once; whether that was all.
    #[inline]
    pub fn try_flush(&mut self) -> Result<bool, Gone> {
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
            other => other.map(|()| true).map_err(Gone::from),
        }
    }

    /// Writes all answers. Meanwhile it takes in what the client sends, up to the window: so a
    /// client that writes before it reads is not stuck.
    #[inline]
    pub fn flush(&mut self, settings: &Settings) -> Result<(), Gone> {
        if self.try_flush()? { Ok(()) } else { self.flush_slowly(settings) }
    }

    #[cold]
    fn flush_slowly(&mut self, settings: &Settings) -> Result<(), Gone> {
        let window = settings.limits.window as usize;
        let mut left = false;
        let mut deadline = Instant::now() + settings.write_timeout;
        loop {
            let Some(rest) = deadline.checked_duration_since(Instant::now()) else {
                let what = "the client does not read its answers";
                return Err(io::Error::new(io::ErrorKind::TimedOut, what).into());
            };
            let reads = !left && self.input.len() < window;
            let Ready { readable, writable } = self.transport.wait(reads, true, rest)?;
            if readable {
                match self.fill() {
                    // It may still read: a pipe has two ends.
                    Err(Gone::Left) => left = true,
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

    /// Waits for the client to say something; `false` where the time is over.
    #[inline]
    pub fn wait(&mut self, timeout: Duration) -> Result<bool, Gone> {
        let begun = Instant::now();
        let mut spin = std::mem::take(&mut self.spin);
        let seen = spin.spin_until(|| Ok::<_, Gone>(self.fill()?.then_some(())))?.is_some();
        let came = seen || self.transport.wait(true, false, timeout)?.readable && self.fill()?;
        if came {
            spin.record_wait(begun.elapsed());
        }
        self.spin = spin;
        Ok(came)
    }

    /// Where it would be seen that the client does not want a request's answer any more.
    pub fn line(&mut self, id: u32, patience: Duration) -> Line {
        let (kind, transport) = (self.transport.line_kind(), &self.transport);
        if self.watched.is_none() {
            // Without it, nothing is seen.
            self.watched = transport.watched().try_clone_to_owned().map(Arc::new).ok();
        }
        let ahead = Ahead::of(self.input.inbox.waiting(), id);
        let early = self.transport.early();
        let (end, gone) = (self.watched.clone(), Arc::clone(&self.gone));
        Line { kind, end, early, id, ahead, gone, patience }
    }

    /// Tells the client why the connection ends, if it listens.
    pub fn dismiss(&mut self, error: &Error) {
        encode_response::error(&mut self.output, 0, error);
        // Nobody waits for those who don't.
        let _ = self.try_flush();
    }

    /// Whether there are answers that the client did not wait for.
    pub fn owes(&self) -> bool {
        self.written < self.output.len() || self.gone.load(Ordering::Relaxed)
    }

    /// Gives memory back that is not needed while nothing comes.
    pub fn rest(&mut self) {
        self.input.release();
        self.watched = None;
        if self.output.is_empty() {
            self.output = Vec::new();
        }
    }
}

/// `ada at 192.0.2.7`, or what is known of it.
impl fmt::Display for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.guest.as_ref().map_or("a stranger", |guest| guest.caller.name()))?;
        match self.peer {
            Some(peer) => write!(f, " at {peer}"),
            None => f.write_str(" at this machine"),
        }
    }
}
