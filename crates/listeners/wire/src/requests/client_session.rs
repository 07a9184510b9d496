//! The session of a client: decodes requests, runs them and encodes the responses.

use super::value_parts::IncomingValue;
use crate::connection::{AuthenticatedClient, Connection, Disconnect};
use crate::state::WireServerState;
use bobak_core::codec::EncodedRow;
use bobak_core::{
    BulkChange, Cursor, Error, ErrorKind, OnError, Outcome, Result, RowBuffer, SchemaDetails,
    SchemaLoss, Session, TransactionControl, Value, ValueAddress, Write, WriteBatch,
};
use bobak_serving::with_cause;
use bobak_wire::{
    FrameHeader, FrameKind, OutcomeWriter, OwnedSource, Request, ResultForm, encode_response,
};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a worker waits for the next request before the connection goes back to the poller.
const KEEP_ALIVE: Duration = Duration::from_millis(2);
/// How often a waiting worker checks for the server's shutdown.
const CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// The session of a client, while a worker serves it.
pub(crate) struct ClientSession<'s> {
    pub shared: &'s WireServerState,
    pub client: &'s AuthenticatedClient,
    pub session: &'s dyn Session,
    /// Whether the client has begun a transaction and not ended it. The engine may have ended it; the
    /// session must stay nonetheless, to report that at the next call.
    pub in_transaction: bool,
    /// The open queries, by the number that the client knows them by.
    pub cursors: Vec<(u64, Cursor)>,
    pub next_cursor: u64,
    /// Reused memory.
    pub batch: WriteBatch,
    pub outcomes: OutcomeWriter,
    pub rows: RowBuffer,
    /// Whether a request was interrupted since this was last reset.
    pub was_interrupted: bool,
}

/// What remains to be done of a decoded request.
enum FollowUp {
    /// Nothing.
    Done,
    /// Send the rows of a query.
    Stream { window: u32, form: ResultForm, source: OwnedSource },
    /// Run the part of a batch that was read.
    Batch(OnError),
    /// Write a value, whose other parts follow.
    Value(IncomingValue),
}

impl ClientSession<'_> {
    /// Waits for the next request. Returns `false` if the connection is idle and may leave the worker.
    pub fn wait(&mut self, connection: &mut Connection) -> Result<bool, Disconnect> {
        let shared = self.shared;
        let is_busy = self.in_transaction || !self.cursors.is_empty();
        let started = Instant::now();
        loop {
            let timeout = if is_busy {
                shared.settings.transaction_timeout
            } else if !connection.transport.is_pollable() {
                Duration::MAX
            } else if shared.shutdown.has_started() || shared.is_contended(&connection.principal) {
                Duration::ZERO
            } else {
                KEEP_ALIVE
            };
            let rest = timeout.saturating_sub(started.elapsed());
            if connection.wait(rest.min(CHECK_INTERVAL))? {
                return Ok(true);
            }
            if shared.shutdown.has_started() && (!is_busy || shared.shutdown.is_overdue()) {
                return Err(shutting_down().into());
            }
            if started.elapsed() >= timeout {
                return if is_busy { Err(idle_too_long().into()) } else { Ok(false) };
            }
        }
    }

    /// Runs one request and sends its response, which may be an error. Returns an error only if the
    /// connection must end.
    pub fn run(
        &mut self,
        connection: &mut Connection,
        header: FrameHeader,
    ) -> Result<(), Disconnect> {
        let start = connection.output.len();
        // Before a write and before the end of a transaction, engines read open cursors to their end.
        let started = if may_run_long(header.kind) || !self.cursors.is_empty() {
            let client = connection.monitored(header.id, self.shared.settings.request_timeout);
            let shared = self.shared;
            shared.monitor.run(client, || self.start(connection, header))
        } else {
            self.start(connection, header)
        };
        let follow_up = match started {
            Ok(follow_up) => follow_up,
            // There is no response that could report it.
            Err(error) if header.kind.has_no_response() => return Err(error.into()),
            Err(error) => {
                connection.output.truncate(start);
                if header.more {
                    self.skip_parts(connection, header, &error)?;
                } else {
                    self.send_error(connection, header.id, &error);
                }
                return Ok(());
            }
        };
        match follow_up {
            FollowUp::Done => Ok(()),
            FollowUp::Stream { window, form, source } => {
                self.stream(connection, header.id, (window, form), source)
            }
            FollowUp::Batch(on_error) => self.run_batch(connection, header, on_error),
            FollowUp::Value(value) => self.write_value(connection, header, value),
        }
    }

    /// Sends the error of a request. Missing permissions are logged.
    pub fn send_error(&mut self, connection: &mut Connection, id: u32, error: &Error) {
        self.was_interrupted |= error.kind() == ErrorKind::Interrupted;
        if error.kind() == ErrorKind::Denied {
            self.shared.log_client(connection, format_args!("was rejected: {}", with_cause(error)));
        }
        encode_response::error(&mut connection.output, id, error);
    }

    /// Decodes a request and does what needs no waiting for the client.
    #[inline]
    fn start(&mut self, connection: &mut Connection, header: FrameHeader) -> Result<FollowUp> {
        let Connection { input, output, handles, .. } = connection;
        let (id, session) = (header.id, self.session);
        let request = Request::decode(header, input.body(), handles)?;
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
                table.check_has_key()?;
                if !session.get(&table, &values(&key), &mut put)? {
                    encode_response::row(output, id, None)?;
                }
            }
            Request::Control(step) => {
                self.control(step)?;
                encode_response::ok(output, id);
            }
            Request::Change { table, condition, assign } => {
                let condition = self.with_values(condition)?;
                let (condition, assign) = (condition.as_ref(), assign.as_deref());
                let rows = session.change(&BulkChange { table: &table, condition, assign })?;
                encode_response::count(output, id, rows);
            }
            Request::Execute(OwnedSource::Sql { text, parameters }) => {
                encode_response::count(output, id, session.execute(&text, &parameters)?);
            }
            Request::Query { window, form, source } => {
                return Ok(FollowUp::Stream { window, form, source });
            }
            Request::Batch(part) => {
                self.batch.clear();
                let on_error = part.on_error;
                part.read_into(&mut self.batch, handles)?;
                return Ok(FollowUp::Batch(on_error));
            }
            Request::Open(source) => self.open(output, id, source)?,
            Request::Fetch(cursor) => {
                self.fetch(cursor)?;
                encode_response::rows(output, id, false, self.rows.as_bytes())?;
            }
            Request::Close(cursor) => self.close(cursor),
            Request::ReadPart { table, column, key, range } => {
                let value = ValueAddress { table: &table, key: &values(&key), column };
                let rows = self.read_part(&value, range)?;
                encode_response::rows(output, id, false, rows.as_bytes())?;
            }
            Request::WriteValue { table, column, key, length, bytes } => {
                return Ok(FollowUp::Value(IncomingValue::new(
                    table,
                    column,
                    &values(&key),
                    length,
                    bytes,
                )));
            }
            Request::Explain(source) => match self.explain(source)? {
                Some(rows) => encode_response::rows(output, id, false, rows.as_bytes())?,
                None => encode_response::declined(output, id),
            },
            Request::Define { handle, schema } => {
                handles.define(handle, self.client.database.table(schema));
            }
            Request::Prepare { handle, text } => handles.prepare(handle, text),
            Request::Forget { table, handle } => handles.forget(table, handle),
            Request::Tables => encode_response::schemas(output, id, &session.tables_and_views()?)?,
            Request::Losses => {
                let rows = loss_rows(session.schema_details()?)?;
                encode_response::rows(output, id, false, rows.as_bytes())?;
            }
            Request::Alter(changes) => {
                changes.iter().try_for_each(|change| change.table().check_writable())?;
                session.alter(&changes)?;
                encode_response::ok(output, id);
            }
            Request::Flush => {
                self.client.engine.flush()?;
                encode_response::ok(output, id);
            }
            Request::Ping => encode_response::ok(output, id),
            other => check_ignored(&other)?,
        }
        Ok(FollowUp::Done)
    }

    fn control(&mut self, step: TransactionControl<'_>) -> Result<()> {
        let done = self.session.control(step);
        match step {
            TransactionControl::Begin => self.in_transaction |= done.is_ok(),
            // Whatever the result, the transaction is over.
            TransactionControl::Commit | TransactionControl::Rollback => {
                self.in_transaction = false
            }
            _ => {}
        }
        done
    }

    fn open(&mut self, output: &mut Vec<u8>, id: u32, source: OwnedSource) -> Result<()> {
        if self.cursors.len() >= self.shared.settings.max_requests as usize {
            let message = format!("too many open queries ({}): close some", self.cursors.len());
            return Err(Error::new(ErrorKind::Misuse, message));
        }
        let Some(cursor) = self.open_query(source)? else {
            encode_response::declined(output, id);
            return Ok(());
        };
        let (number, columns) = (self.next_cursor, Arc::clone(&cursor.columns));
        self.next_cursor += 1;
        self.cursors.push((number, cursor));
        encode_response::columns(output, id, false, number, &columns)
    }

    /// Fetches the next rows of an open query.
    fn fetch(&mut self, cursor: u64) -> Result<()> {
        let open = self.cursors.iter_mut().find(|(number, _)| *number == cursor);
        let (_, cursor) = open.ok_or_else(Cursor::not_open)?;
        self.session.fetch(cursor, &mut self.rows)
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
        let limit = self.shared.settings.max_row;
        if row.as_bytes().len() > limit as usize {
            let message = format!("the row exceeds the server's limit of {limit} bytes");
            return Err(Error::new(ErrorKind::OutOfRange, message));
        }
        Ok(())
    }
}

/// Checks that a request can be ignored.
fn check_ignored(request: &Request<'_>) -> Result<()> {
    match request {
        // The request that they refer to has ended.
        Request::Cancel | Request::Credit(_) => Ok(()),
        Request::Hello(_) => Err(Error::new(ErrorKind::Misuse, "the handshake is already done")),
        _ => {
            let message = "the server does not support this request";
            Err(Error::new(ErrorKind::Unsupported, message))
        }
    }
}

/// Whether a request may run for long, and is monitored. Streams and batches are monitored part by part.
const fn may_run_long(kind: FrameKind) -> bool {
    matches!(
        kind,
        FrameKind::Change
            | FrameKind::Execute
            | FrameKind::Open
            | FrameKind::Fetch
            | FrameKind::ReadPart
            | FrameKind::Explain
    )
}

#[inline]
fn values<'a>(row: &EncodedRow<'a>) -> Vec<Value<'a>> {
    (0..bobak_core::Row::len(row)).map(|column| row.value(column).into()).collect()
}

fn shutting_down() -> Error {
    Error::new(ErrorKind::Unreachable, "the server is shutting down")
}

fn idle_too_long() -> Error {
    let message = "the transaction or open query was idle for too long and was rolled back";
    Error::new(ErrorKind::Timeout, message)
}

/// What the schemas lack, the foreign keys that rows break, and the dates that do not exist, as rows.
fn loss_rows(details: SchemaDetails) -> Result<RowBuffer> {
    let mut rows = RowBuffer::default();
    for SchemaLoss { table, what } in details.losses {
        rows.push(&[Value::Text(table), Value::Text(what)].as_slice())?;
    }
    for key in details.broken_keys {
        let [table, columns, parent] = [key.table, key.columns, key.parent].map(Value::from);
        let count = Value::Int(key.rows.cast_signed());
        rows.push(&[table, columns, parent, count].as_slice())?;
    }
    for dates in details.invalid_dates {
        let [table, column] = [dates.table, dates.column].map(Value::from);
        let count = Value::Int(dates.rows.cast_signed());
        rows.push(&[table, column, Value::Null, count].as_slice())?;
    }
    Ok(rows)
}
