//! One connection: requests in a buffer, answers as they come, statements that stay prepared.

use crate::error::ServerError;
use crate::message::{self, Inbox, Message};
use crate::row::Column;
use crate::settings::{Host, Settings};
use crate::startup;
use crate::stream::{Stream, broken};
use crate::value::{self, Kind, Outside};
use bobak_core::{Error, ErrorKind, Interrupt, Interruptible, Result, ValueRef};
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
    at_stake: bool,
    /// How many answers to a `Sync` are still to come.
    waiting: usize,
    statements: HashMap<Box<str>, Arc<Prepared>>,
    utilities: HashMap<&'static str, String>,
    made: u64,
    host: Host,
    settings: Arc<Settings>,
}

/// A prepared statement.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// Its name on the connection; empty where it is prepared anew each time.
    name: String,
    /// Its text, for the latter.
    sql: Box<str>,
    pub parameters: Vec<u32>,
    pub columns: Vec<Column>,
}

/// No message came.
pub(crate) struct Lost {
    pub error: Error,
    /// None came in time: the line itself may be whole.
    pub is_late: bool,
}

/// How many statements a connection keeps; more are forgotten all at once, which is rare.
const KEPT: usize = 512;

/// The longest text that is kept prepared: long ones hold lists of values, and do not come again.
const LONGEST: usize = 16 << 10;

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
            at_stake: false,
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
    pub fn stake(&mut self) {
        self.at_stake = true;
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
    pub fn next(&mut self) -> Result<Message<'_>, Lost> {
        // The borrow of the message ends before an error is looked at, but the compiler does not
        // see that: so the error is made from parts.
        let Self { stream, inbox, .. } = self;
        match inbox.next(stream) {
            Ok(message) => {
                if let Message::Ready(status) = message {
                    self.status = status;
                    self.waiting = self.waiting.saturating_sub(1);
                    self.at_stake = false;
                }
                Ok(message)
            }
            Err(error) => {
                self.is_broken = true;
                let is_late = matches!(
                    error.kind(),
                    std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
                );
                let error = unknown_if(self.at_stake, broken("it was waited for", error));
                Err(Lost { error, is_late })
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
        let at_stake = self.at_stake;
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
        if at_stake && !stopped {
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
    pub fn stoppable(&self) -> Option<Interruptible> {
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

    /// The statement, prepared on the way to its first use.
    pub fn prepared(&self, sql: &str) -> Option<Arc<Prepared>> {
        self.statements.get(sql).cloned()
    }

    /// Appends the requests that prepare a statement; [`prepare_end`](Self::prepare_end) takes the
    /// answers.
    pub fn prepare_begin(&mut self, sql: &str, types: &[u32]) -> String {
        if self.statements.len() >= KEPT {
            for (_, old) in self.statements.drain() {
                if !old.name.is_empty() {
                    message::close(&mut self.out, b'S', &old.name);
                }
            }
        }
        let mut name = String::new();
        if self.settings.named && sql.len() <= LONGEST {
            self.made += 1;
            name = format!("b{}", self.made);
        }
        message::parse(&mut self.out, &name, sql, types);
        message::describe(&mut self.out, &name);
        name
    }

    /// Reads the answers to [`prepare_begin`](Self::prepare_begin), until the server is ready.
    ///
    /// # Errors
    /// Those of the server and the line.
    pub fn prepare_end(&mut self, sql: &str, name: String) -> Result<Arc<Prepared>> {
        let (mut parameters, mut columns) = (Vec::new(), Vec::new());
        self.finish(|message| {
            match message {
                Message::Parameters(body) => parameters = oids(body),
                Message::Columns(body) => columns = columns_of(body),
                _ => {}
            }
            Ok(())
        })?;
        let sql: Box<str> = sql.into();
        let long = sql.len() > LONGEST;
        let prepared = Arc::new(Prepared { name, sql: sql.clone(), parameters, columns });
        if !long {
            self.statements.insert(sql, Arc::clone(&prepared));
        }
        Ok(prepared)
    }

    /// Forgets all that was prepared: tables have changed.
    pub fn forget_statements(&mut self) {
        self.statements.clear();
    }

    /// Appends a run of a statement: its parameters by `value`, its portal by name, for so many
    /// rows at most (0: all).
    ///
    /// # Errors
    /// Those of a value that can't be sent; nothing is appended then.
    pub fn bind<'v>(
        &mut self,
        prepared: &Prepared,
        portal: &str,
        outside: Outside,
        mut value: impl FnMut(usize) -> ValueRef<'v>,
    ) -> Result<()> {
        let start = self.out.len();
        if prepared.name.is_empty() {
            message::parse(&mut self.out, "", &prepared.sql, &prepared.parameters);
        }
        let mut wrong = None;
        message::write(&mut self.out, b'B', |out| {
            message::push_text(out, portal);
            message::push_text(out, &prepared.name);
            let types = &prepared.parameters;
            let textual = (0..types.len())
                .any(|place| types.get(place).is_some_and(|oid| as_text(value(place), *oid)));
            if textual {
                push_count(out, types.len());
                for (place, oid) in types.iter().enumerate() {
                    let format = u16::from(!as_text(value(place), *oid));
                    out.extend_from_slice(&format.to_be_bytes());
                }
            } else {
                out.extend_from_slice(&[0, 1, 0, 1]);
            }
            push_count(out, types.len());
            for (place, oid) in types.iter().enumerate() {
                let value = value(place);
                let oid = if as_text(value, *oid) { value::oid::TEXT } else { *oid };
                if let Err(error) = value::encode(out, value, oid, outside) {
                    wrong.get_or_insert((place, error));
                }
            }
            push_formats(out, &prepared.columns);
        });
        match wrong {
            None => Ok(()),
            Some((place, error)) => {
                self.out.truncate(start);
                Err(error.at_row(place as u64))
            }
        }
    }

    /// Appends a run of a statement over parameters that are encoded already.
    pub fn bind_raw(&mut self, prepared: &Prepared, parameters: &[Vec<u8>]) {
        if prepared.name.is_empty() {
            message::parse(&mut self.out, "", &prepared.sql, &prepared.parameters);
        }
        message::write(&mut self.out, b'B', |out| {
            out.push(0);
            message::push_text(out, &prepared.name);
            out.extend_from_slice(&[0, 1, 0, 1]);
            push_count(out, parameters.len());
            for parameter in parameters {
                out.extend_from_slice(&(parameter.len() as u32).to_be_bytes());
                out.extend_from_slice(parameter);
            }
            push_formats(out, &prepared.columns);
        });
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
                // Should it fail it is the whole transaction that has: see `trouble`.
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
    pub fn trouble(&mut self) {
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
        unknown_if(self.at_stake, broken(doing, error))
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
fn unknown_if(at_stake: bool, error: Error) -> Error {
    if !at_stake {
        return error;
    }
    let message =
        format!("{}; what was being committed is there wholly or not at all", error.message());
    Error::new(ErrorKind::Unknown, message).with_source(error)
}

/// Whether a value goes in its text form.
fn as_text(value: ValueRef<'_>, oid: u32) -> bool {
    !value::is_binary(oid) || value::goes_as_text(value, oid)
}

fn push_count(out: &mut Vec<u8>, count: usize) {
    out.extend_from_slice(&(count as u16).to_be_bytes());
}

/// Columns come in the binary form where it is known, as text where it is not.
fn push_formats(out: &mut Vec<u8>, columns: &[Column]) {
    if columns.iter().all(|column| value::is_binary(column.oid)) {
        out.extend_from_slice(&[0, 1, 0, 1]);
        return;
    }
    push_count(out, columns.len());
    for column in columns {
        out.extend_from_slice(&u16::from(value::is_binary(column.oid)).to_be_bytes());
    }
}

fn oids(body: &[u8]) -> Vec<u32> {
    let (all, _) = body.get(2..).unwrap_or_default().as_chunks::<4>();
    all.iter().map(|bytes| u32::from_be_bytes(*bytes)).collect()
}

/// The columns of a RowDescription: a name, then table, number, type, length, modifier, format.
fn columns_of(body: &[u8]) -> Vec<Column> {
    let mut rest = body.get(2..).unwrap_or_default();
    let mut columns = Vec::new();
    while let Some(end) = rest.iter().position(|byte| *byte == 0) {
        let name = String::from_utf8_lossy(rest.get(..end).unwrap_or_default()).into_owned();
        let Some(facts) = rest.get(end + 1..end + 19) else { break };
        let number = |at: usize| {
            facts
                .get(at..at + 4)
                .and_then(|bytes| bytes.first_chunk())
                .map_or(0, |b| u32::from_be_bytes(*b))
        };
        let (oid, modifier) = (number(6), number(12).cast_signed());
        columns.push(Column { name, oid, kind: Kind::of(oid, modifier) });
        rest = rest.get(end + 19..).unwrap_or_default();
    }
    columns
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
