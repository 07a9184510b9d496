//! Serving a connection: request by request, in order, until it rests or ends.

use crate::connection::{Connection, FULL, Gone, Guest};
use crate::greet::{Greeting, greet};
use crate::server::Shared;
use bobak_core::codec::EncodedRow;
use bobak_core::{
    Batch, BulkChange, Cursor, Error, ErrorKind, OnError, Outcome, Result, RowBuffer, Session,
    TransactionControl, Value, Write,
};
use bobak_wire::{FrameHeader, FrameKind, OutcomeWriter, OwnedSource, Request, encode_response};
use std::time::{Duration, Instant};

/// How long a worker waits for the next request before the connection goes back to the poller.
const LINGER: Duration = Duration::from_millis(2);
/// How often a worker that waits looks whether the server stops.
const SLICE: Duration = Duration::from_millis(250);

/// How serving ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// The connection has nothing to say for now.
    Rests,
    /// It is known by now: from here on it has its caller's share.
    Greeted,
    /// Its password is to be looked at.
    LogsIn,
    /// It is over.
    Gone(Gone),
}

/// A guest being served.
pub(crate) struct Serving<'s> {
    pub shared: &'s Shared,
    pub guest: &'s Guest,
    pub session: &'s dyn Session,
    pub in_transaction: bool,
    pub cursors: Vec<(u64, Cursor)>,
    pub next_cursor: u64,
    /// Memory that is used again.
    pub batch: Batch,
    pub outcomes: OutcomeWriter,
    pub rows: RowBuffer,
    /// Whether a request was ended since this was looked at.
    pub was_ended: bool,
}

/// What is left to do of a request when its bytes are read.
enum Then {
    /// Nothing.
    Done,
    /// Its rows are to be sent.
    Stream { window: u32, columns: bool, asked: OwnedSource },
    /// The part of the batch that was read is to be run.
    Batch(OnError),
}

/// Serves a connection as long as it has something to say.
pub(crate) fn serve(connection: &mut Connection, shared: &Shared) -> Ended {
    let ended = match greet(connection, shared) {
        Ok(Greeting::Known) => serve_guest(connection, shared),
        Ok(Greeting::Done) => return Ended::Greeted,
        Ok(Greeting::Waits) => return Ended::Rests,
        Ok(Greeting::Claims) => return Ended::LogsIn,
        Err(gone) => Err(gone),
    };
    let gone = match ended {
        Ok(()) => return Ended::Rests,
        Err(gone) => gone,
    };
    if let Gone::Wrong(error) = &gone {
        connection.dismiss(error);
    }
    Ended::Gone(gone)
}

/// Serves until the connection rests. Whatever the end, the session goes, and with it an open
/// transaction.
fn serve_guest(connection: &mut Connection, shared: &Shared) -> Result<(), Gone> {
    let Some(guest) = connection.guest.clone() else { return Ok(()) };
    let session = guest.engine.session()?;
    let mut serving = Serving {
        shared,
        guest: &guest,
        session: &*session,
        in_transaction: false,
        cursors: Vec::new(),
        next_cursor: 1,
        batch: Batch::new(),
        outcomes: OutcomeWriter::default(),
        rows: RowBuffer::default(),
        was_ended: false,
    };
    loop {
        while let Some(turn) = connection.input.next_frame()? {
            if turn.cancelled && !turn.head.kind.has_no_response() {
                encode_response::error(&mut connection.output, turn.head.id, &cancelled());
            } else {
                serving.run(connection, turn.head)?;
            }
            if std::mem::take(&mut serving.was_ended) {
                // What waits behind what the client took back may be taken back too.
                connection.look_ahead(turn.head.id, &shared.settings.limits)?;
            }
            if connection.output.len() >= FULL {
                connection.flush(&shared.settings)?;
            }
        }
        connection.flush(&shared.settings)?;
        if !serving.wait(connection)? {
            return Ok(());
        }
    }
}

impl Serving<'_> {
    /// Waits for the next request; `false` where the connection may rest.
    fn wait(&mut self, connection: &mut Connection) -> Result<bool, Gone> {
        let shared = self.shared;
        let is_busy = self.in_transaction || !self.cursors.is_empty();
        let begun = Instant::now();
        loop {
            let patience = if is_busy {
                shared.settings.transaction_timeout
            } else if !connection.transport.can_rest() {
                Duration::MAX
            } else if shared.is_stopping() || shared.others_wait(&connection.principal) {
                Duration::ZERO
            } else {
                LINGER
            };
            let rest = patience.saturating_sub(begun.elapsed());
            if connection.wait(rest.min(SLICE))? {
                return Ok(true);
            }
            if shared.is_stopping() && (!is_busy || shared.is_out_of_grace()) {
                return Err(stopping().into());
            }
            if begun.elapsed() >= patience {
                return if is_busy { Err(forgotten().into()) } else { Ok(false) };
            }
        }
    }

    /// Runs one request. What is wrong with it goes to the client; what is wrong with the client
    /// comes back.
    fn run(&mut self, connection: &mut Connection, head: FrameHeader) -> Result<(), Gone> {
        let start = connection.output.len();
        // Before a write, and before a transaction's end, open cursors are read to theirs.
        let started = if may_last(head.kind) || !self.cursors.is_empty() {
            let line = connection.line(head.id, self.shared.settings.request_timeout);
            let shared = self.shared;
            shared.watch.over(line, || self.start(connection, head))
        } else {
            self.start(connection, head)
        };
        let then = match started {
            Ok(then) => then,
            // Nobody would hear of it otherwise.
            Err(error) if head.kind.has_no_response() => return Err(error.into()),
            Err(error) => {
                connection.output.truncate(start);
                if head.kind == FrameKind::Batch && head.more {
                    self.skip_batch(connection, head.id, &error)?;
                } else {
                    self.refuse(connection, head.id, &error);
                }
                return Ok(());
            }
        };
        match then {
            Then::Done => Ok(()),
            Then::Stream { window, columns, asked } => {
                self.stream(connection, head.id, (window, columns), &asked)
            }
            Then::Batch(on_error) => self.run_batch(connection, head, on_error),
        }
    }

    /// Tells the client what went wrong; the log hears of what it was not allowed to do.
    pub fn refuse(&mut self, connection: &mut Connection, id: u32, error: &Error) {
        self.was_ended |= error.kind() == ErrorKind::Interrupted;
        if error.kind() == ErrorKind::Denied {
            let line = format_args!("{connection} was refused: {error}");
            self.shared.audit_log.client_event(connection.peer, line);
        }
        encode_response::error(&mut connection.output, id, error);
    }

    /// Does what can be done at once.
    #[inline]
    fn start(&mut self, connection: &mut Connection, head: FrameHeader) -> Result<Then> {
        let Connection { input, output, handles, .. } = connection;
        let (id, session) = (head.id, self.session);
        let request = Request::decode(head, input.body(), handles)?;
        match request {
            Request::Write { table, verb, fields, row } => {
                self.check_size(row)?;
                let values = values(&row);
                let write = Write { table: &table, verb, fields, values: &values };
                let outcome = session.write(&write)?;
                self.put_outcome(output, id, outcome)?;
            }
            Request::Get { table, key } => {
                let mut put =
                    |row: &dyn bobak_core::Row| encode_response::row(output, id, Some(row));
                if !session.get(&table, &values(&key), &mut put)? {
                    encode_response::row(output, id, None)?;
                }
            }
            Request::Control(step) => {
                self.control(step)?;
                encode_response::ok(output, id);
            }
            Request::Change { table, condition, assign } => {
                let (condition, assign) = (condition.as_ref(), assign.as_deref());
                let rows = session.change(&BulkChange { table: &table, condition, assign })?;
                encode_response::count(output, id, rows);
            }
            Request::Execute(OwnedSource::Sql { text, parameters }) => {
                encode_response::count(output, id, session.execute(&text, &parameters)?);
            }
            Request::Query { window, columns, source: asked } => {
                return Ok(Then::Stream { window, columns, asked });
            }
            Request::Batch(part) => {
                self.batch.clear();
                let on_error = part.on_error;
                part.read_into(&mut self.batch, handles)?;
                return Ok(Then::Batch(on_error));
            }
            Request::Open(asked) => self.open(output, id, &asked)?,
            Request::Fetch(cursor) => {
                let open = self.cursors.iter_mut().find(|(number, _)| *number == cursor);
                let (_, cursor) = open.ok_or_else(Cursor::not_open)?;
                session.fetch(cursor, &mut self.rows)?;
                encode_response::rows(output, id, false, self.rows.as_bytes())?;
            }
            Request::Close(cursor) => self.close(cursor),
            Request::Define { handle, schema } => {
                handles.define(handle, self.guest.database.table(schema));
            }
            Request::Prepare { handle, text } => handles.prepare(handle, text),
            Request::Forget { table, handle } => handles.forget(table, handle),
            Request::Tables => encode_response::schemas(output, id, &session.tables()?)?,
            Request::Alter(changes) => {
                session.alter(&changes)?;
                encode_response::ok(output, id);
            }
            Request::Flush => {
                self.guest.engine.flush()?;
                encode_response::ok(output, id);
            }
            Request::Ping => encode_response::ok(output, id),
            // What they were about is answered already.
            Request::Cancel | Request::Credit(_) => {}
            Request::Hello(_) => {
                return Err(Error::new(ErrorKind::Misuse, "a hello was said before"));
            }
            _ => return Err(Error::new(ErrorKind::Unsupported, "the server can't do this")),
        }
        Ok(Then::Done)
    }

    fn control(&mut self, step: TransactionControl<'_>) -> Result<()> {
        let done = self.session.control(step);
        match step {
            TransactionControl::Begin => self.in_transaction |= done.is_ok(),
            // Whatever came, the transaction is over.
            TransactionControl::Commit | TransactionControl::Rollback => {
                self.in_transaction = false
            }
            _ => {}
        }
        done
    }

    fn open(&mut self, output: &mut Vec<u8>, id: u32, asked: &OwnedSource) -> Result<()> {
        if self.cursors.len() >= self.shared.settings.limits.requests as usize {
            let message = format!("{} queries are open: close some", self.cursors.len());
            return Err(Error::new(ErrorKind::Misuse, message));
        }
        let cursor = self.session.open(&asked.as_source())?;
        let (number, columns) = (self.next_cursor, std::sync::Arc::clone(&cursor.columns));
        self.next_cursor += 1;
        self.cursors.push((number, cursor));
        encode_response::columns(output, id, false, number, (asked, &columns))
    }

    fn close(&mut self, cursor: u64) {
        let found = self.cursors.iter().position(|(number, _)| *number == cursor);
        if let Some(found) = found {
            let (_, mut cursor) = self.cursors.swap_remove(found);
            self.session.close(&mut cursor);
        }
    }

    #[inline]
    fn put_outcome(&mut self, output: &mut Vec<u8>, id: u32, outcome: Outcome) -> Result<()> {
        self.outcomes.push(Ok(outcome))?;
        self.outcomes.write_frame(output, id, false)
    }

    #[inline]
    fn check_size(&self, row: EncodedRow<'_>) -> Result<()> {
        let limit = self.shared.settings.limits.row;
        if row.as_bytes().len() > limit as usize {
            let message = format!("the row is larger than the {limit} bytes that the server takes");
            return Err(Error::new(ErrorKind::OutOfRange, message));
        }
        Ok(())
    }
}

/// Whether a request may run for long, and is then looked after. Of those that send rows, and of batches, each part is.
const fn may_last(kind: FrameKind) -> bool {
    matches!(kind, FrameKind::Change | FrameKind::Execute | FrameKind::Open | FrameKind::Fetch)
}

#[inline]
fn values<'a>(row: &EncodedRow<'a>) -> Vec<Value<'a>> {
    (0..bobak_core::Row::len(row)).map(|place| row.value(place).into()).collect()
}

/// The answer to a request that the client took back.
pub(crate) fn cancelled() -> Error {
    Error::new(ErrorKind::Interrupted, "the client took the request back")
}

fn stopping() -> Error {
    Error::new(ErrorKind::Unreachable, "the server stops")
}

fn forgotten() -> Error {
    let message = "the transaction, or the open query, was not used for too long: it is undone";
    Error::new(ErrorKind::Timeout, message)
}
