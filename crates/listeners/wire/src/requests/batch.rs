//! Batches: whole in one frame, or in parts under one transaction.

use super::client_session::ClientSession;
use crate::connection::{Connection, Disconnect, WRITE_THRESHOLD};
use crate::request_monitor::cancelled;
use bobak_core::{Error, ErrorKind, OnError, Outcome, Result, TransactionControl};
use bobak_wire::{FrameHeader, FrameKind, Request};
use std::time::Instant;

/// The savepoint of a batch inside a transaction.
const SAVEPOINT: &str = "bobak_batch";

/// The next part of a batch.
enum NextPart {
    /// It was read; the flag says whether others follow.
    Read(bool),
    /// It is invalid; the flag says whether others follow.
    Invalid(Error, bool),
    /// The client has cancelled the batch; more parts follow.
    Cancelled,
}

impl ClientSession<'_> {
    /// Runs the part that was read, and those that follow.
    pub fn run_batch(
        &mut self,
        connection: &mut Connection,
        header: FrameHeader,
        on_error: OnError,
    ) -> Result<(), Disconnect> {
        if header.more {
            return self.run_parts(connection, header, on_error);
        }
        match self.run_part(connection, header.id, on_error, 0) {
            Ok(()) => self.outcomes.write_frame(&mut connection.output, header.id, false)?,
            Err(error) => self.fail(connection, header.id, &error),
        }
        self.batch.clear();
        Ok(())
    }

    fn run_parts(
        &mut self,
        connection: &mut Connection,
        header: FrameHeader,
        on_error: OnError,
    ) -> Result<(), Disconnect> {
        let id = header.id;
        let nested = self.in_transaction;
        if let Err(error) = self.session.control(step(nested, true)) {
            return self.skip_parts(connection, header, &error);
        }
        // If the client disconnects now, the transaction ends with the session.
        self.in_transaction = true;
        let (mut first, mut more) = (0, true);
        let result = loop {
            let rows = self.batch.rows();
            if let Err(error) = self.run_part(connection, id, on_error, first) {
                break Err(error);
            }
            first += rows;
            self.outcomes.write_frame(&mut connection.output, id, true)?;
            if connection.output.len() >= WRITE_THRESHOLD {
                connection.flush(&self.shared.settings)?;
            }
            if !more {
                break Ok(());
            }
            match self.next_part(connection, id)? {
                NextPart::Read(others) => more = others,
                NextPart::Invalid(error, others) => {
                    more = others;
                    let row = first + error.row().unwrap_or(0);
                    break Err(error.at_row(row));
                }
                NextPart::Cancelled => break Err(cancelled()),
            }
        };
        self.batch.clear();
        let result = result.and_then(|()| self.session.control(step(nested, false)));
        if result.is_err() {
            self.undo(nested);
        }
        self.in_transaction = nested;
        match result {
            Ok(()) => self.outcomes.write_frame(&mut connection.output, id, false)?,
            Err(error) if more => return self.skip_parts(connection, header, &error),
            Err(error) => self.fail(connection, id, &error),
        }
        Ok(())
    }

    /// Undoes a failed batch. If that fails, the engine has ended the transaction and says so at the
    /// next call.
    fn undo(&self, nested: bool) {
        if nested {
            let _ = self.session.control(TransactionControl::RollbackTo(SAVEPOINT));
            let _ = self.session.control(TransactionControl::Release(SAVEPOINT));
        } else {
            let _ = self.session.control(TransactionControl::Rollback);
        }
    }

    /// Runs the part that was read, under the request monitor.
    fn run_part(
        &mut self,
        connection: &mut Connection,
        id: u32,
        on_error: OnError,
        first: u64,
    ) -> Result<()> {
        self.check_rows()?;
        let client = connection.monitored(id, self.shared.settings.request_timeout);
        let shared = self.shared;
        shared.monitor.run(client, || self.send_part(on_error, first))
    }

    fn send_part(&mut self, on_error: OnError, first: u64) -> Result<()> {
        let (mut row, mut collected) = (first, Ok(()));
        let outcomes = &mut self.outcomes;
        let mut each = |outcome: Result<Outcome>| {
            let pushed = match outcome {
                Ok(outcome) => outcomes.push(Ok(outcome)),
                Err(error) => outcomes.push(Err(&error.at_row(row))),
            };
            row += 1;
            if pushed.is_err() {
                collected = pushed;
            }
        };
        let result = self.session.batch(&self.batch, on_error, &mut each);
        result.map_err(|error| match error.row() {
            Some(row) => error.at_row(first + row),
            None => error,
        })?;
        collected
    }

    fn check_rows(&self) -> Result<()> {
        let limit = self.shared.settings.max_row as usize;
        if self.batch.bytes() <= limit {
            return Ok(());
        }
        let mut rows = self.batch.runs().flat_map(|run| run.iter());
        match rows.position(|row| row.as_bytes().len() > limit) {
            Some(row) => {
                let message = format!("the row exceeds the server's limit of {limit} bytes");
                Err(Error::new(ErrorKind::OutOfRange, message).at_row(row as u64))
            }
            None => Ok(()),
        }
    }

    fn fail(&mut self, connection: &mut Connection, id: u32, error: &Error) {
        self.outcomes.clear();
        self.send_error(connection, id, error);
    }

    /// Waits for the next part of the batch, and reads it.
    fn next_part(&mut self, connection: &mut Connection, id: u32) -> Result<NextPart, Disconnect> {
        loop {
            let header = self.next_frame(connection)?;
            match header.kind {
                FrameKind::Batch if header.id == id => {
                    self.batch.clear();
                    let body = connection.input.body();
                    let read = match Request::decode(header, body, &connection.handles) {
                        Ok(Request::Batch(part)) => {
                            part.read_into(&mut self.batch, &connection.handles)
                        }
                        Ok(_) => Ok(()),
                        Err(error) => Err(error),
                    };
                    return Ok(match read {
                        Ok(()) => NextPart::Read(header.more),
                        Err(error) => NextPart::Invalid(error, header.more),
                    });
                }
                FrameKind::Cancel if header.id == id => return Ok(NextPart::Cancelled),
                FrameKind::Cancel | FrameKind::Credit => {}
                _ => {
                    let message = "expected the next part of the batch";
                    return Err(Error::new(ErrorKind::Misuse, message).into());
                }
            }
        }
    }

    /// Sends the error of a failed batch or value, and skips the parts that follow the one with this header.
    pub fn skip_parts(
        &mut self,
        connection: &mut Connection,
        failed: FrameHeader,
        error: &Error,
    ) -> Result<(), Disconnect> {
        self.batch.clear();
        self.fail(connection, failed.id, error);
        self.skip_rest(connection, failed)
    }

    /// Skips the parts that follow the one with this header.
    pub fn skip_rest(
        &self,
        connection: &mut Connection,
        before: FrameHeader,
    ) -> Result<(), Disconnect> {
        loop {
            let header = self.next_frame(connection)?;
            let is_part = header.kind == before.kind && header.id == before.id;
            match header.kind {
                _ if is_part && header.more => {}
                _ if is_part => return Ok(()),
                FrameKind::Cancel | FrameKind::Credit => {}
                _ => {
                    let message = "expected the rest of the batch or value";
                    return Err(Error::new(ErrorKind::Misuse, message).into());
                }
            }
        }
    }

    /// The next frame. Pending responses are written before waiting for it.
    pub fn next_frame(&self, connection: &mut Connection) -> Result<FrameHeader, Disconnect> {
        let settings = &self.shared.settings;
        let started = Instant::now();
        loop {
            if let Some(frame) = connection.input.next_frame()? {
                return Ok(frame.header);
            }
            connection.flush(settings)?;
            let rest = settings.transaction_timeout.saturating_sub(started.elapsed());
            if !connection.wait(rest)? && started.elapsed() >= settings.transaction_timeout {
                let message = "the rest of a batch or value did not arrive in time";
                return Err(Error::new(ErrorKind::Timeout, message).into());
            }
        }
    }
}

/// The step that begins or ends a batch in several parts.
const fn step(nested: bool, begin: bool) -> TransactionControl<'static> {
    match (nested, begin) {
        (false, true) => TransactionControl::Begin,
        (false, false) => TransactionControl::Commit,
        (true, true) => TransactionControl::Savepoint(SAVEPOINT),
        (true, false) => TransactionControl::Release(SAVEPOINT),
    }
}
