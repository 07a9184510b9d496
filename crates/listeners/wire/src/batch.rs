//! Batches: whole, or part by part as they come, under one transaction.

use crate::connection::{Connection, FULL, Gone};
use crate::serve::{Serving, cancelled};
use bobak_core::{Error, ErrorKind, OnError, Outcome, Result, TransactionControl};
use bobak_wire::{FrameHeader, FrameKind, Request};
use std::time::Instant;

/// The mark behind which a batch runs inside a transaction.
const MARK: &str = "bobak_batch";

/// What comes next of a batch.
enum Next {
    /// A part, and whether others follow.
    Part(bool),
    /// The part can't be read.
    Wrong(Error, bool),
    /// The client does not want it any more; more parts follow.
    Cancelled,
}

impl Serving<'_> {
    /// Runs the part that was read, and those that follow.
    pub fn run_batch(
        &mut self,
        connection: &mut Connection,
        head: FrameHeader,
        on_error: OnError,
    ) -> Result<(), Gone> {
        if head.more {
            return self.run_parts(connection, head.id, on_error);
        }
        match self.run_part(connection, head.id, on_error, 0) {
            Ok(()) => self.outcomes.write_frame(&mut connection.output, head.id, false)?,
            Err(error) => self.fail(connection, head.id, &error),
        }
        self.batch.clear();
        Ok(())
    }

    fn run_parts(
        &mut self,
        connection: &mut Connection,
        id: u32,
        on_error: OnError,
    ) -> Result<(), Gone> {
        let inside = self.in_transaction;
        if let Err(error) = self.session.control(step(inside, true)) {
            return self.skip_batch(connection, id, &error);
        }
        // A client that goes away now leaves a transaction behind, which goes with the session.
        self.in_transaction = true;
        let (mut first, mut more) = (0, true);
        let result = loop {
            let rows = self.batch.rows();
            if let Err(error) = self.run_part(connection, id, on_error, first) {
                break Err(error);
            }
            first += rows;
            self.outcomes.write_frame(&mut connection.output, id, true)?;
            if connection.output.len() >= FULL {
                connection.flush(&self.shared.settings)?;
            }
            if !more {
                break Ok(());
            }
            match self.next_part(connection, id)? {
                Next::Part(others) => more = others,
                Next::Wrong(error, others) => {
                    more = others;
                    let row = first + error.row().unwrap_or(0);
                    break Err(error.at_row(row));
                }
                Next::Cancelled => break Err(cancelled()),
            }
        };
        self.batch.clear();
        let result = result.and_then(|()| self.session.control(step(inside, false)));
        if result.is_err() {
            self.undo(inside);
        }
        self.in_transaction = inside;
        match result {
            Ok(()) => self.outcomes.write_frame(&mut connection.output, id, false)?,
            Err(error) if more => return self.skip_batch(connection, id, &error),
            Err(error) => self.fail(connection, id, &error),
        }
        Ok(())
    }

    /// Undoes a batch that failed. Where that fails too the engine has ended the transaction by
    /// itself, and says so at the next call.
    fn undo(&self, inside: bool) {
        if inside {
            let _ = self.session.control(TransactionControl::RollbackTo(MARK));
            let _ = self.session.control(TransactionControl::Release(MARK));
        } else {
            let _ = self.session.control(TransactionControl::Rollback);
        }
    }

    /// Runs the part that was read, unless nobody wants it any more.
    fn run_part(
        &mut self,
        connection: &mut Connection,
        id: u32,
        on_error: OnError,
        first: u64,
    ) -> Result<()> {
        self.check_rows()?;
        let line = connection.line(id, self.shared.settings.request_timeout);
        let shared = self.shared;
        shared.watch.over(line, || self.send_part(on_error, first))
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
        let run = self.session.batch(&self.batch, on_error, &mut each);
        run.map_err(|error| match error.row() {
            Some(row) => error.at_row(first + row),
            None => error,
        })?;
        collected
    }

    fn check_rows(&self) -> Result<()> {
        let limit = self.shared.settings.limits.row as usize;
        if self.batch.bytes() <= limit {
            return Ok(());
        }
        let mut rows = self.batch.runs().flat_map(|run| run.iter());
        match rows.position(|row| row.as_bytes().len() > limit) {
            Some(row) => {
                let message = format!("the row is larger than {limit} bytes");
                Err(Error::new(ErrorKind::OutOfRange, message).at_row(row as u64))
            }
            None => Ok(()),
        }
    }

    fn fail(&mut self, connection: &mut Connection, id: u32, error: &Error) {
        self.outcomes.clear();
        self.refuse(connection, id, error);
    }

    /// Waits for the next frame of the batch, and reads it.
    fn next_part(&mut self, connection: &mut Connection, id: u32) -> Result<Next, Gone> {
        loop {
            let head = self.next_frame(connection)?;
            match head.kind {
                FrameKind::Batch if head.id == id => {
                    self.batch.clear();
                    let body = connection.input.body();
                    let read = match Request::decode(head, body, &connection.handles) {
                        Ok(Request::Batch(part)) => {
                            part.read_into(&mut self.batch, &connection.handles)
                        }
                        Ok(_) => Ok(()),
                        Err(error) => Err(error),
                    };
                    return Ok(match read {
                        Ok(()) => Next::Part(head.more),
                        Err(error) => Next::Wrong(error, head.more),
                    });
                }
                FrameKind::Cancel if head.id == id => return Ok(Next::Cancelled),
                FrameKind::Cancel | FrameKind::Credit => {}
                _ => {
                    let message = "the parts of a batch follow each other";
                    return Err(Error::new(ErrorKind::Misuse, message).into());
                }
            }
        }
    }

    /// Answers a batch that failed, and passes over the parts that follow.
    pub fn skip_batch(
        &mut self,
        connection: &mut Connection,
        id: u32,
        error: &Error,
    ) -> Result<(), Gone> {
        self.batch.clear();
        self.fail(connection, id, error);
        loop {
            let head = self.next_frame(connection)?;
            match head.kind {
                FrameKind::Batch if head.id == id && head.more => {}
                FrameKind::Batch if head.id == id => return Ok(()),
                FrameKind::Cancel | FrameKind::Credit => {}
                _ => {
                    let message = "a batch that failed is ended by its last part";
                    return Err(Error::new(ErrorKind::Misuse, message).into());
                }
            }
        }
    }

    /// The next frame. Answers that wait are written before it is waited for.
    fn next_frame(&self, connection: &mut Connection) -> Result<FrameHeader, Gone> {
        let settings = &self.shared.settings;
        let begun = Instant::now();
        loop {
            if let Some(turn) = connection.input.next_frame()? {
                return Ok(turn.head);
            }
            connection.flush(settings)?;
            let rest = settings.transaction_timeout.saturating_sub(begun.elapsed());
            if !connection.wait(rest)? && begun.elapsed() >= settings.transaction_timeout {
                let message = "the rest of a batch did not come in time";
                return Err(Error::new(ErrorKind::Timeout, message).into());
            }
        }
    }
}

/// The step that begins a batch of several parts, or ends it.
const fn step(inside: bool, begin: bool) -> TransactionControl<'static> {
    match (inside, begin) {
        (false, true) => TransactionControl::Begin,
        (false, false) => TransactionControl::Commit,
        (true, true) => TransactionControl::Savepoint(MARK),
        (true, false) => TransactionControl::Release(MARK),
    }
}
