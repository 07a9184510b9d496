//! A connection to a server: buffered requests, replies, cancellation.

pub(crate) mod pool;
mod startup;
mod statements;
pub(crate) mod stream;
mod tls;

pub(crate) use self::statements::PreparedStatement;
use crate::connection::stream::{ServerStream, broken};
use crate::error::ServerError;
use crate::protocol::message::{self, Message, MessageBuffer};
use crate::settings::{Host, Settings};
use bobak_core::{Error, ErrorKind, Interrupt, Interruptible, Result};
use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

/// A connection, ready for requests.
pub(crate) struct Connection {
    pub stream: ServerStream,
    pub inbox: MessageBuffer,
    /// Requests that have not been sent.
    pub out: Vec<u8>,
    /// Statements of the transaction that are sent before the next requests: see [`defer`](Self::defer).
    deferred: Vec<u8>,
    pub cancel_key: [u8; 8],
    /// `I` outside of a transaction, `T` in a transaction, `E` in a failed transaction.
    pub status: u8,
    /// Whether it cannot be used any more.
    pub is_broken: bool,
    /// Whether a caller's SQL may have left something in the server's session, so that no other caller may use it.
    pub session_changed: bool,
    /// Whether the server may commit what was sent even if no reply arrives.
    commit_pending: bool,
    /// How many replies to a `Sync` are outstanding.
    waiting: usize,
    statements: HashMap<Box<str>, Arc<PreparedStatement>>,
    /// Typed statements by the words of their shapes.
    shapes: HashMap<Box<[u64]>, Arc<PreparedStatement>>,
    utilities: HashMap<&'static str, String>,
    made: u64,
    host: Host,
    settings: Arc<Settings>,
}

/// Why no message was received.
pub(crate) struct ReceiveError {
    pub error: Error,
    /// Whether it was a timeout, after which the connection may still work.
    pub is_late: bool,
}

/// How long a cancelled statement may take to end.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);

/// How many bytes are buffered before they are sent.
pub(crate) const SEND: usize = 64 << 10;

impl Connection {
    /// Connects to a host.
    ///
    /// # Errors
    /// `Unreachable`, `Denied`, `Timeout`, `Config`, `Busy`.
    pub fn open(host: &Host, settings: &Arc<Settings>) -> Result<Self> {
        let stream = ServerStream::connect(host, settings)?;
        let mut connection = Self {
            stream,
            inbox: MessageBuffer::default(),
            out: Vec::with_capacity(SEND),
            deferred: Vec::new(),
            cancel_key: [0; 8],
            status: b'I',
            is_broken: false,
            session_changed: false,
            commit_pending: false,
            waiting: 0,
            statements: HashMap::new(),
            shapes: HashMap::new(),
            utilities: HashMap::new(),
            made: 0,
            host: host.clone(),
            settings: Arc::clone(settings),
        };
        startup::run(&mut connection, settings)?;
        startup::check_target(&mut connection, settings.target)?;
        startup::check_schema(&mut connection, settings)?;
        connection.stream.use_timeout(settings)?;
        Ok(connection)
    }

    /// Notes that what is sent from now on may be committed even if no reply arrives, until the server is ready
    /// again.
    pub fn set_commit_pending(&mut self) {
        self.commit_pending = true;
    }

    /// Sends the buffered requests.
    ///
    /// # Errors
    /// `Unreachable`, `Timeout`, or `Unknown` if a commit is pending.
    pub fn send(&mut self, doing: &str) -> Result<()> {
        if !self.deferred.is_empty() {
            self.deferred.append(&mut self.out);
            std::mem::swap(&mut self.deferred, &mut self.out);
        }
        let sent = self.stream.write_all(&self.out).and_then(|()| self.stream.flush());
        self.out.clear();
        sent.map_err(|error| self.lost(doing, error))
    }

    /// Sends the buffered requests if there are many.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    #[inline]
    pub fn send_much(&mut self, doing: &str) -> Result<()> {
        if self.out.len() >= SEND { self.send(doing) } else { Ok(()) }
    }

    /// Appends a `Sync`: it ends requests that succeed or fail together.
    pub fn sync(&mut self) {
        message::sync(&mut self.out);
        self.waiting += 1;
    }

    /// Receives the next message.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    #[inline]
    pub fn next(&mut self) -> Result<Message<'_>, ReceiveError> {
        // The borrow checker does not see that the message's borrow ends in case of an error, so the fields are borrowed
        // one by one.
        let Self { stream, inbox, .. } = self;
        match inbox.next(stream) {
            Ok(message) => {
                if let Message::Ready(status) = message {
                    self.status = status;
                    self.waiting = self.waiting.saturating_sub(1);
                    self.commit_pending = false;
                }
                Ok(message)
            }
            Err(error) => {
                self.is_broken = true;
                let is_late = matches!(
                    error.kind(),
                    std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
                );
                let error =
                    unknown_if(self.commit_pending, broken("waiting for a response", error));
                Err(ReceiveError { error, is_late })
            }
        }
    }

    /// Receives messages until the server is ready, and passes them to `on`. Returns the first error of the server or
    /// of `on`.
    ///
    /// # Errors
    /// Those of the connection, the server and `on`.
    pub fn finish(&mut self, mut on: impl FnMut(Message<'_>) -> Result<()>) -> Result<()> {
        let mut first: Option<Error> = None;
        loop {
            let message = match self.next() {
                Ok(message) => message,
                Err(lost) if lost.is_late => return Err(self.cancelled(lost.error, first)),
                Err(lost) => return Err(first.unwrap_or(lost.error)),
            };
            if let Message::Ready(_) = message {
                if self.waiting == 0 {
                    break;
                }
                continue;
            }
            match message {
                Message::Error(body) => {
                    let error = ServerError::parse(body).into_error();
                    let fatal = matches!(error.kind(), ErrorKind::Unreachable);
                    first.get_or_insert(error);
                    if fatal {
                        // The server closes the connection after this error.
                        self.is_broken = true;
                        break;
                    }
                }
                message if first.is_none() => {
                    if let Err(error) = on(message) {
                        first = Some(error);
                    }
                }
                _ => {}
            }
        }
        first.map_or(Ok(()), |error| Err(self.explained(error)))
    }

    /// Cancels the running statement after a timeout, and waits for it to end.
    fn cancelled(&mut self, error: Error, first: Option<Error>) -> Error {
        self.is_broken = false;
        let commit_pending = self.commit_pending;
        let mut stopped = false;
        let sent = self.cancel().is_ok() && self.stream.set_timeout(Some(CANCEL_TIMEOUT)).is_ok();
        if !sent {
            self.is_broken = true;
            return first.unwrap_or(error);
        }
        loop {
            match self.next() {
                Ok(Message::Ready(_)) => break,
                Ok(Message::Error(_)) => stopped = true,
                Ok(_) => {}
                Err(_) => {
                    self.is_broken = true;
                    return first.unwrap_or(error);
                }
            }
        }
        self.is_broken |= self.stream.use_timeout(&self.settings).is_err() || self.waiting > 0;
        if commit_pending && !stopped {
            // The statement ended before the cancel request arrived.
            return first.unwrap_or(error);
        }
        let message = "the statement exceeded its time limit and was cancelled";
        first.unwrap_or_else(|| Error::new(ErrorKind::Timeout, message))
    }

    /// Turns the server's error for its statement timeout into `Timeout`; as a cancellation it is `Interrupted`.
    fn explained(&self, error: Error) -> Error {
        let timed = error.kind() == ErrorKind::Interrupted && error.message().contains("timeout");
        if !timed {
            return error;
        }
        let message = error.message().to_owned();
        let said = crate::error::server(&error).cloned();
        let error = Error::new(ErrorKind::Timeout, message);
        match said {
            Some(said) => error.with_source(said),
            None => error,
        }
    }

    /// Sends a cancel request over a connection of its own, and waits until the server closes that. The server does so
    /// after it has delivered the request. Without waiting, the request could cancel the next statement instead.
    fn cancel(&self) -> Result<()> {
        cancel(&self.host, &self.settings, self.cancel_key)
    }

    /// Lets an [`Interrupt`] of this thread cancel the running statement, until the returned guard is dropped.
    pub fn interruptible(&self) -> Option<Interruptible> {
        if !Interrupt::is_enabled() {
            return None;
        }
        let (host, settings, key) =
            (self.host.clone(), Arc::clone(&self.settings), self.cancel_key);
        // If the server cannot be reached, the statement runs to its end.
        Some(Interrupt::stop_by(move || drop(cancel(&host, &settings, key))))
    }

    /// Runs a text of the engine's own by the simple protocol.
    ///
    /// # Errors
    /// Those of the server and the connection.
    pub fn simple(&mut self, sql: &str, mut on: impl FnMut(Message<'_>)) -> Result<()> {
        message::write(&mut self.out, b'Q', |out| message::push_text(out, sql));
        self.waiting += 1;
        self.send("asking")?;
        self.finish(|message| {
            on(message);
            Ok(())
        })
    }

    /// Runs one statement without parameters by the extended protocol, in which the server rejects a
    /// text with more than one: names and expressions in it may come from a client or another database.
    ///
    /// # Errors
    /// Those of the server and the connection.
    pub fn statement(&mut self, sql: &str, mut on: impl FnMut(Message<'_>)) -> Result<()> {
        self.append(sql);
        self.sync();
        self.send("asking")?;
        self.finish(|message| {
            on(message);
            Ok(())
        })
    }

    /// Appends the run of a bound portal.
    pub fn execute(&mut self, portal: &str, rows: u32) {
        message::execute(&mut self.out, portal, rows);
    }

    /// Appends a statement of a transaction: `BEGIN`, `SAVEPOINT x`, …
    pub fn utility(&mut self, sql: &'static str) {
        let mut name = String::new();
        if self.settings.prepared {
            if let Some(known) = self.utilities.get(sql) {
                name.clone_from(known);
            } else {
                self.made += 1;
                name = format!("b{}", self.made);
                message::parse(&mut self.out, &name, sql, &[]);
                // Should it fail it is the whole transaction that has: see `check_after_error`.
                self.utilities.insert(sql, name.clone());
            }
        } else {
            message::parse(&mut self.out, "", sql, &[]);
        }
        push_binding(&mut self.out, &name);
        message::execute(&mut self.out, "", 0);
    }

    /// As [`utility`](Self::utility), of a statement that is not used again.
    pub fn append(&mut self, sql: &str) {
        push_statement(&mut self.out, sql);
    }

    /// Keeps a statement that begins a transaction, or sets or releases a savepoint, until the next request: it needs no
    /// round trip of its own, since it cannot fail in a transaction that is in order.
    pub fn defer(&mut self, sql: &str) {
        push_statement(&mut self.deferred, sql);
    }

    /// As [`defer`](Self::defer), of a statement that is used often.
    pub fn defer_utility(&mut self, sql: &'static str) {
        // Behind what has not been sent.
        self.deferred.append(&mut self.out);
        std::mem::swap(&mut self.deferred, &mut self.out);
        self.utility(sql);
        std::mem::swap(&mut self.deferred, &mut self.out);
    }

    /// Drops the deferred statements. Returns whether the server knows of no transaction.
    pub fn drop_deferred(&mut self) -> bool {
        if !self.deferred.is_empty() {
            self.deferred.clear();
            // What was prepared on the way is not.
            self.check_after_error();
        }
        self.status == b'I'
    }

    /// After an error what was prepared on the way may not be.
    pub fn check_after_error(&mut self) {
        self.utilities.clear();
    }

    /// Whether every request has its complete reply.
    pub fn is_idle(&self) -> bool {
        let is_sent = self.out.is_empty() && self.deferred.is_empty();
        self.waiting == 0 && is_sent && !self.is_broken
    }

    /// Whether the server is still there, by asking it.
    pub fn is_responsive(&mut self) -> bool {
        if self.stream.has_ended() && self.inbox.is_empty() {
            return false;
        }
        self.sync();
        self.send("checking the connection").and_then(|()| self.finish(|_| Ok(()))).is_ok()
    }

    #[cold]
    fn lost(&mut self, doing: &str, error: std::io::Error) -> Error {
        self.is_broken = true;
        unknown_if(self.commit_pending, broken(doing, error))
    }
}

/// Appends the run of a statement without parameters.
fn push_statement(out: &mut Vec<u8>, sql: &str) {
    message::parse(out, "", sql, &[]);
    push_binding(out, "");
    message::execute(out, "", 0);
}

/// Appends the binding of a statement without parameters to the unnamed portal.
fn push_binding(out: &mut Vec<u8>, statement: &str) {
    message::write(out, b'B', |out| {
        out.push(0);
        message::push_text(out, statement);
        out.extend_from_slice(&[0; 6]);
    });
}

impl Drop for Connection {
    fn drop(&mut self) {
        if !self.is_broken {
            // A farewell spares the server a line in its log. Nobody waits for it.
            self.out.clear();
            message::write(&mut self.out, b'X', |_| {});
            let _ = self.stream.set_timeout(Some(Duration::from_millis(100)));
            let _ = self.stream.write_all(&self.out).and_then(|()| self.stream.flush());
        }
    }
}

/// The outcome is unknown if a commit was pending.
#[cold]
fn unknown_if(commit_pending: bool, error: Error) -> Error {
    if !commit_pending {
        return error;
    }
    let message =
        format!("{}; the transaction was committed completely or not at all", error.message());
    Error::new(ErrorKind::Unknown, message).with_source(error)
}

/// See [`Connection::cancel`].
fn cancel(host: &Host, settings: &Arc<Settings>, key: [u8; 8]) -> Result<()> {
    let mut stream = ServerStream::connect(host, settings)?;
    let mut request = vec![0, 0, 0, 16, 4, 210, 22, 46];
    request.extend_from_slice(&key);
    let sent = stream.write_all(&request).and_then(|()| stream.flush());
    sent.map_err(|error| broken("cancelling a statement", error))?;
    // The server closes this connection without a reply.
    let _ = std::io::copy(&mut stream, &mut std::io::sink());
    Ok(())
}
