//! The connections of an engine: a pool, or one that all share.

use crate::door::Connector;
use crate::link::Link;
use bobak_core::{Error, ErrorKind, Result};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

/// Hands connections out, and takes them back.
pub(crate) struct Lines {
    connector: Connector,
    /// The most connections; one where sessions share it.
    most: usize,
    shared: bool,
    patience: Duration,
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Default)]
struct State {
    #[allow(clippy::vec_box, reason = "they go to and fro: a pointer moves, not the link")]
    rested: Vec<Box<Link>>,
    /// How many there are, those at work included.
    open: usize,
    /// Who has a transaction open on the shared one.
    owner: Option<(u64, ThreadId)>,
}

/// What a session wants of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wants {
    /// To run an operation.
    Operation,
    /// To read on from an open cursor, or to close it: that goes in the midst of another
    /// session's transaction too.
    Cursor,
}

impl Lines {
    pub fn new(connector: Connector, most: usize, patience: Duration) -> Self {
        let shared = connector.door.is_shared();
        let most = if shared { 1 } else { most.max(1) };
        let (state, freed) = Default::default();
        Self { connector, most, shared, patience, state, freed }
    }

    /// Whether sessions give their connection back after each operation.
    pub const fn is_shared(&self) -> bool {
        self.shared
    }

    /// A connection; whether it was used before, and may be broken without anybody knowing.
    #[inline]
    pub fn take(&self, session: u64, wants: Wants) -> Result<(Box<Link>, bool)> {
        let mut state = self.lock();
        let mut deadline = None;
        loop {
            if self.may_enter(&state, session, wants)? {
                while let Some(mut link) = state.rested.pop() {
                    if link.is_usable() {
                        return Ok((link, true));
                    }
                    state.open -= 1;
                }
                if state.open < self.most {
                    state.open += 1;
                    drop(state);
                    return self.connect().map(|link| (link, false));
                }
            }
            let now = Instant::now();
            let until = *deadline.get_or_insert(now + self.patience);
            if now >= until {
                let message = format!("all {} connections to the server are in use", self.most);
                return Err(Error::new(ErrorKind::Busy, message));
            }
            let waited = self.freed.wait_timeout(state, until - now);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// A new connection in the place of one that broke.
    pub fn replace(&self) -> Result<Box<Link>> {
        self.connect()
    }

    fn connect(&self) -> Result<Box<Link>> {
        let link = self.connector.connect();
        if link.is_err() {
            self.lose();
        }
        link
    }

    /// Gives a connection back.
    #[inline]
    pub fn give(&self, mut link: Box<Link>) {
        link.rest();
        self.lock().rested.push(link);
        self.freed.notify_one();
    }

    /// Says that a connection that was taken is no more.
    pub fn lose(&self) {
        self.lock().open -= 1;
        self.freed.notify_one();
    }

    /// Says that a session has a transaction open on the shared connection.
    pub fn own(&self, session: u64) {
        if self.shared {
            self.lock().owner = Some((session, std::thread::current().id()));
        }
    }

    /// Says that it has it no more.
    pub fn disown(&self, session: u64) {
        if self.shared {
            self.lock().owner.take_if(|(owner, _)| *owner == session);
            self.freed.notify_all();
        }
    }

    /// On the shared connection a transaction keeps other sessions out.
    fn may_enter(&self, state: &State, session: u64, wants: Wants) -> Result<bool> {
        match state.owner {
            Some((owner, thread)) if owner != session && wants == Wants::Operation => {
                if thread == std::thread::current().id() {
                    let message = "this thread has a transaction open on the one connection that \
                                   there is: it would wait for itself";
                    return Err(Error::new(ErrorKind::Busy, message));
                }
                Ok(false)
            }
            _ => Ok(true),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
