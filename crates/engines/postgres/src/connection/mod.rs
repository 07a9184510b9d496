//! One connection: requests in a buffer, answers as they come, statements that stay prepared.

pub(crate) mod pool;
mod startup;
mod statements;
pub(crate) mod stream;
mod tls;

pub(crate) use self::statements::Prepared;
use crate::connection::stream::{Stream, broken};
use crate::error::ServerError;
use crate::protocol::message::{self, Inbox, Message};
use crate::settings::{Host, Settings};
use bobak_core::{Error, ErrorKind, Interrupt, Interruptible, Result};
use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

/// A line to a server, ready for requests.
pub(crate) struct Connection {
    pub stream: Stream,
    pub inbox: Inbox,
    /// Requests that are not sent yet.
    pub out: Vec<u8>,
    pub cancel_key: [u8; 8],
    /// `I` outside a transaction, `T` inside, `E` inside one that has failed.
    pub status: u8,
    /// Nothing more can be done with it.
    pub is_broken: bool,
    /// Whether what was sent may be committed though no answer comes.
    commit_pending: bool,
    /// How many answers to a `Sync` are still to come.
    waiting: usize,
    statements: HashMap<Box<str>, Arc<Prepared>>,
    utilities: HashMap<&'static str, String>,
    made: u64,
    host: Host,
    settings: Arc<Settings>,
}

/// No message came.
pub(crate) struct ReceiveError {
    pub error: Error,
    /// None came in time: the line itself may be whole.
    pub is_late: bool,
}

/// How long a cancelled statement may take to end.
const CANCEL: Duration = Duration::from_secs(5);

/// How many bytes are sent at once.
pub(crate) const SEND: usize = 64 << 10;

impl Connection {
    /// Connects to a host.
    ///
    /// # Errors
    /// `Unreachable`, `Denied`, `Timeout`, `Config`, `Busy`.
    pub fn open(host: &Host, settings: &Arc<Settings>) -> Result<Self> {
        let stream = Stream::connect(host, settings)?;
        let mut connection = Self {
            stream,
            inbox: Inbox::default(),
            out: Vec::with_capacity(SEND),
            cancel_key: [0; 8],
            status: b'I',
            is_broken: false,
            commit_pending: false,
            waiting: 0,
            statements: HashMap::new(),
            utilities: HashMap::new(),
            made: 0,
            host: host.clone(),
            settings: Arc::clone(settings),
        };
        startup::run(&mut connection, settings)?;
        startup::check_target(&mut connection, settings.target)?;
        connection.stream.use_timeout(settings)?;
        Ok(connection)
    }

    /// Says that what is sent from now on may be committed even if no answer comes; until the
    /// server is ready again.
    pub fn set_commit_pending(&mut self) {
        self.commit_pending = true;
    }

    /// Sends what is in the buffer.
    ///
    /// # Errors
    /// `Unreachable`, `Timeout`, or `Unknown` where something is at stake.
    pub fn send(&mut self, doing: &str) -> Result<()> {
        let sent = self.stream.write_all(&self.out).and_then(|()| self.stream.flush());
        self.out.clear();
        sent.map_err(|error| self.lost(doing, error))
    }

    /// Sends where much has gathered.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    #[inline]
    pub fn send_much(&mut self, doing: &str) -> Result<()> {
        if self.out.len() >= SEND { self.send(doing) } else { Ok(()) }
    }

    /// Appends the end of requests that belong together.
    pub fn sync(&mut self) {
        message::sync(&mut self.out);
        self.waiting += 1;
    }

    /// The next message.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    #[inline]
    pub fn next(&mut self) -> Result<Message<'_>, ReceiveError> {
        // The borrow of the message ends before an error is looked at, but the compiler does not
        // see that: so the error is made from parts.
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
                let error = unknown_if(self.commit_pending, broken("it was waited for", error));
                Err(ReceiveError { error, is_late })
            }
        }
    }

    /// Reads until the server is ready; hands out what comes. The first error that the server, or
    /// `on`, gives comes back at the end.
    ///
    /// # Errors
    /// Those of the line, the server and `on`.
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
                        // Nothing follows: the server has said why before it hung up.
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

    /// Asks the server to stop, and waits for it to have stopped.
    fn cancelled(&mut self, error: Error, first: Option<Error>) -> Error {
        self.is_broken = false;
        let commit_pending = self.commit_pending;
        let mut stopped = false;
        let asked = self.cancel().is_ok() && self.stream.set_timeout(Some(CANCEL)).is_ok();
        if !asked {
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
            // It came to its end before the request to stop did.
            return first.unwrap_or(error);
        }
        let message = "the statement ran longer than it may, and was cancelled";
        first.unwrap_or_else(|| Error::new(ErrorKind::Timeout, message))
    }

    /// A statement that the server stopped because of its time-out is that, not an interruption.
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

    /// Asks, by a connection of its own, for the running statement to be stopped; and waits until the
    /// server hangs up, which it does when it has passed the request on: it would stop the next
    /// statement otherwise, where this one ends by itself meanwhile.
    fn cancel(&self) -> Result<()> {
        cancel(&self.host, &self.settings, self.cancel_key)
    }

    /// Has an [`Interrupt`] of this thread stop the statement under way, for as long as the answer is kept.
    pub fn interruptible(&self) -> Option<Interruptible> {
        if !Interrupt::is_heeded() {
            return None;
        }
        let (host, settings, key) =
            (self.host.clone(), Arc::clone(&self.settings), self.cancel_key);
        // Where the server can't be told, the statement comes to its end.
        Some(Interrupt::stop_by(move || drop(cancel(&host, &settings, key))))
    }

    /// Runs one statement without parameters by the simple protocol.
    ///
    /// # Errors
    /// Those of the server and the line.
    pub fn simple(&mut self, sql: &str, mut on: impl FnMut(Message<'_>)) -> Result<()> {
        message::write(&mut self.out, b'Q', |out| message::push_text(out, sql));
        self.waiting += 1;
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
        if self.settings.named {
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
        message::write(&mut self.out, b'B', |out| {
            out.push(0);
            message::push_text(out, &name);
            out.extend_from_slice(&[0; 6]);
        });
        message::execute(&mut self.out, "", 0);
    }

    /// After an error what was prepared on the way may not be.
    pub fn check_after_error(&mut self) {
        self.utilities.clear();
    }

    /// Whether everything that was asked is answered.
    pub fn is_idle(&self) -> bool {
        self.waiting == 0 && self.out.is_empty() && !self.is_broken
    }

    /// Whether the server is still there, by asking it.
    pub fn answers(&mut self) -> bool {
        if self.stream.has_ended() && self.inbox.is_empty() {
            return false;
        }
        self.sync();
        self.send("asking for a sign of life").and_then(|()| self.finish(|_| Ok(()))).is_ok()
    }

    #[cold]
    fn lost(&mut self, doing: &str, error: std::io::Error) -> Error {
        self.is_broken = true;
        unknown_if(self.commit_pending, broken(doing, error))
    }
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

/// Where something was at stake its fate is unknown.
#[cold]
fn unknown_if(commit_pending: bool, error: Error) -> Error {
    if !commit_pending {
        return error;
    }
    let message =
        format!("{}; what was being committed is there wholly or not at all", error.message());
    Error::new(ErrorKind::Unknown, message).with_source(error)
}

/// See [`Connection::cancel`].
fn cancel(host: &Host, settings: &Arc<Settings>, key: [u8; 8]) -> Result<()> {
    let mut stream = Stream::connect(host, settings)?;
    let mut request = vec![0, 0, 0, 16, 4, 210, 22, 46];
    request.extend_from_slice(&key);
    let sent = stream.write_all(&request).and_then(|()| stream.flush());
    sent.map_err(|error| broken("asking to cancel", error))?;
    // However it hangs up: nothing is said on this line.
    let _ = std::io::copy(&mut stream, &mut std::io::sink());
    Ok(())
}
