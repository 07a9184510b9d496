//! A connection to a server: one request after the other.

use super::bytes::ByteSource;
use super::login::{self, FIRST_PACKET, TdsLogin};
use super::request::{TransactionStep, headers};
use super::status::{MssqlError, TdsError, TdsResult};
use super::stream::{TdsReceiver, TdsSender, kind};
use super::tokens::{ChangeToken, DoneToken, TdsToken, TokenReader};
use bobak_core::{Interrupt, Interruptible};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often a server may name another one to connect to.
const ROUTES: usize = 3;

/// What a caller does with a row: `false` for no more.
pub(crate) type EachTdsRow<'r> = dyn FnMut(&TokenReader) -> bool + 'r;

/// A connection.
#[derive(Debug)]
pub(crate) struct TdsChannel {
    receiver: TdsReceiver,
    sender: TdsSender,
    packet_size: usize,
    /// The collation of the database.
    pub collation: [u8; 5],
    /// The number of the transaction that is open.
    transaction: Option<u64>,
    tokens: TokenReader,
    /// How long a call may take.
    call_timeout: Option<Duration>,
    /// Whether a call took longer, and was cancelled.
    pub timed_out: bool,
}

/// What is known of a response so far.
#[derive(Debug, Default)]
struct ResponseState {
    rows: u64,
    error: Option<MssqlError>,
    /// Whether the caller wants no more rows.
    is_enough: bool,
    /// Whether an attention was acknowledged.
    is_cancelled: bool,
}

impl TdsChannel {
    /// Connects and logs in.
    ///
    /// # Errors
    /// Those of the network, of TLS and the server.
    pub fn open(login: &TdsLogin<'_>) -> TdsResult<Self> {
        let mut place = (login.host.to_owned(), login.port);
        for _ in 0..ROUTES {
            let login = TdsLogin { host: &place.0, port: place.1, ..*login };
            match Self::open_at(&login)? {
                (channel, None) => return Ok(channel),
                (_, Some(route)) => place = route,
            }
        }
        Err(TdsError::Io(io::Error::other("the server names another server again and again")))
    }

    fn open_at(login: &TdsLogin<'_>) -> TdsResult<(Self, Option<(String, u16)>)> {
        let socket = login::connect(login.host, login.port, login.timeout)?;
        let (mut receiver, sender) = TdsReceiver::split(socket)?;
        receiver.limit(Some(login.timeout))?;
        login::prelogin(&mut receiver, &sender, login)?;
        let mut channel = Self {
            receiver,
            sender,
            packet_size: FIRST_PACKET,
            collation: [0; 5],
            transaction: None,
            tokens: TokenReader::default(),
            call_timeout: None,
            timed_out: false,
        };
        channel.sender.send(kind::LOGIN, &login::message(login), FIRST_PACKET)?;
        let route = channel.login_response()?;
        channel.receiver.limit(None)?;
        Ok((channel, route))
    }

    fn login_response(&mut self) -> TdsResult<Option<(String, u16)>> {
        let (mut route, mut failed, mut is_in) = (None, None, false);
        loop {
            match self.tokens.next(&mut self.receiver)? {
                TdsToken::LoggedIn(_) => is_in = true,
                TdsToken::Error(error) => {
                    failed.get_or_insert(error);
                }
                TdsToken::Change(ChangeToken::Route(host, port)) => route = Some((host, port)),
                TdsToken::Change(change) => self.note(change),
                TdsToken::Done(done) if !done.has_more() => break,
                _ => {}
            }
        }
        self.receiver.finish()?;
        match failed {
            Some(error) => Err(TdsError::Server(error)),
            None if is_in => Ok(route),
            None => Err(TdsError::Io(io::Error::other("the server did not response to the login"))),
        }
    }

    fn note(&mut self, change: ChangeToken) {
        match change {
            ChangeToken::PacketSize(size) if size >= 512 => self.packet_size = size,
            ChangeToken::Collation(collation) => self.collation = collation,
            ChangeToken::Transaction(number) => self.transaction = number,
            _ => {}
        }
    }

    /// Whether a transaction is open: the server may have ended it with an error.
    pub const fn in_transaction(&self) -> bool {
        self.transaction.is_some()
    }

    /// Whether the connection seems to be open.
    pub fn seems_open(&self) -> bool {
        self.receiver.seems_open()
    }

    /// How long a call may take before it is cancelled; `None` for no limit.
    pub fn set_call_timeout(&mut self, time: Option<Duration>) -> io::Result<()> {
        self.call_timeout = time;
        self.receiver.limit(time)
    }

    /// Runs SQL text; returns how many rows its statements wrote.
    pub fn run_text(&mut self, sql: &str, row: &mut EachTdsRow<'_>) -> TdsResult<u64> {
        let mut message = headers(self.transaction.unwrap_or(0));
        super::bytes::push_text(&mut message, sql);
        self.exchange(kind::BATCH, &message, row)
    }

    /// Calls a procedure; `push` writes which, and the parameters.
    pub fn call(
        &mut self,
        push: impl FnOnce(&mut Vec<u8>),
        row: &mut EachTdsRow<'_>,
    ) -> TdsResult<u64> {
        let mut message = headers(self.transaction.unwrap_or(0));
        push(&mut message);
        self.exchange(kind::CALL, &message, row)
    }

    /// Begins a transaction, ends it or marks a savepoint.
    pub fn transact(&mut self, step: TransactionStep<'_>) -> TdsResult<()> {
        let mut message = headers(self.transaction.unwrap_or(0));
        step.push(&mut message);
        let before = self.transaction;
        self.exchange(kind::TRANSACTION, &message, &mut |_| true)?;
        if matches!(step, TransactionStep::Rollback(name) if !name.is_empty()) {
            // Babelfish reports the end of the transaction, too, if nothing was written in it.
            self.transaction = before;
        }
        Ok(())
    }

    /// Sends the rows of a bulk load.
    pub fn load(&mut self, message: &[u8]) -> TdsResult<u64> {
        self.exchange(kind::BULK, message, &mut |_| true)
    }

    fn exchange(&mut self, kind: u8, message: &[u8], row: &mut EachTdsRow<'_>) -> TdsResult<u64> {
        self.tokens.columns.clear();
        self.sender.send(kind, message, self.packet_size)?;
        let requested = Arc::new(AtomicBool::new(false));
        let stoppable = stoppable(&self.sender, &requested);
        let mut state = ResponseState::default();
        self.response(&requested, &mut state, row)?;
        // From here on no other thread sends an attention; one that was sent has a response of its own.
        drop(stoppable);
        while requested.load(Ordering::Acquire) && !state.is_cancelled {
            self.response(&requested, &mut state, &mut |_| true)?;
        }
        match (state.error, state.is_cancelled && !state.is_enough) {
            (_, true) => Err(TdsError::Cancelled),
            (Some(error), false) if !state.is_enough => Err(TdsError::Server(error)),
            _ => Ok(state.rows),
        }
    }

    /// Reads to the end of a response.
    fn response(
        &mut self,
        requested: &AtomicBool,
        state: &mut ResponseState,
        row: &mut EachTdsRow<'_>,
    ) -> TdsResult<()> {
        loop {
            match self.token(requested)? {
                TdsToken::Row if !state.is_enough && !row(&self.tokens) => {
                    state.is_enough = true;
                    self.attention(requested);
                }
                TdsToken::Error(error) => {
                    state.error.get_or_insert(error);
                }
                TdsToken::Change(change) => self.note(change),
                TdsToken::Done(done) if self.is_last(done, state) => {
                    return Ok(self.receiver.finish()?);
                }
                _ => {}
            }
        }
    }

    fn is_last(&self, done: DoneToken, state: &mut ResponseState) -> bool {
        state.rows += done.count().unwrap_or(0);
        state.is_cancelled |= done.is_attention();
        !done.has_more()
    }

    fn attention(&self, requested: &AtomicBool) {
        if !requested.swap(true, Ordering::AcqRel) {
            self.sender.attention();
        }
    }

    /// The next token. If the server says nothing for longer than a call may take, the call is cancelled.
    fn token(&mut self, requested: &AtomicBool) -> TdsResult<TdsToken> {
        while let Err(error) = self.receiver.fill() {
            let is_late =
                matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut);
            if !is_late || self.timed_out {
                return Err(error.into());
            }
            self.timed_out = true;
            self.attention(requested);
        }
        Ok(self.tokens.next(&mut self.receiver)?)
    }

    /// The columns of the last result.
    pub fn columns(&self) -> &[super::types::TdsColumn] {
        &self.tokens.columns
    }
}

impl Drop for TdsChannel {
    fn drop(&mut self) {
        self.sender.shut_down();
    }
}

/// Lets an [`Interrupt`] of this thread cancel the request, until the returned guard is dropped.
fn stoppable(sender: &TdsSender, requested: &Arc<AtomicBool>) -> Option<Interruptible> {
    Interrupt::is_enabled().then(|| {
        let (sender, requested) = (sender.clone(), Arc::clone(requested));
        Interrupt::stop_by(move || {
            if !requested.swap(true, Ordering::AcqRel) {
                sender.attention();
            }
        })
    })
}
