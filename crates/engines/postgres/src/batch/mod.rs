//! Batches: split into chunks, each sent by the fastest plan, with a result for each row.
//!
//! A chunk whose bulk statement fails is split in halves, and small chunks are sent row by row, until the row with the
//! error is found.

mod bulk_plan;
mod chunk;
mod encode;

use self::bulk_plan::BulkPlan;
use self::chunk::Chunk;
use crate::connection::Connection;
use crate::error::{is_taken_key, locate, locate_at_commit, server};
use crate::session::outcome::RowReply;
use crate::session::row_writes::{RowWrite, resync};
use crate::session::state::SessionState;
use crate::session::undo::UndoPoint;
use bobak_core::codec::EncodedRow;
use bobak_core::{Error, ErrorKind, OnError, Outcome, Result, Run, Verb, WriteBatch};

/// Runs a batch in a transaction of its own, or as one operation of the open one.
///
/// # Errors
/// As [`Session::batch`](bobak_core::Session::batch).
pub(crate) fn run(
    state: &mut SessionState<'_>,
    connection: &mut Connection,
    batch: &WriteBatch,
    on_error: OnError,
    each: &mut dyn FnMut(Result<Outcome>),
) -> Result<()> {
    let own = !state.open;
    let point = begin(state, connection);
    // From here on, an error goes back to a savepoint or begins the transaction again.
    (state.open, state.unused) = (true, Some(point));
    let done = all(state, connection, batch, on_error, each);
    let failed = state.failed;
    if own {
        (state.open, state.failed) = (false, false);
    }
    if connection.is_broken || failed {
        return done;
    }
    let ended = match (own, done.is_ok()) {
        (true, commits) => end(connection, commits),
        (false, false) => state.undo(connection, point),
        (false, true) => Ok(()),
    };
    if ended.is_err() {
        connection.check_after_error();
    }
    if !own && ended.is_err() {
        state.give_up(connection);
    } else if point == UndoPoint::Batch {
        connection.defer_utility(RELEASE);
    }
    done.and(ended)
}

/// Begins a transaction, or sets a savepoint in the open one unless something else undoes the batch.
fn begin(state: &SessionState<'_>, connection: &mut Connection) -> UndoPoint {
    match state.unused {
        _ if !state.open => {
            connection.utility(BEGIN);
            UndoPoint::Begin(BEGIN)
        }
        Some(point) => point,
        None => {
            connection.utility(SAVEPOINT);
            UndoPoint::Batch
        }
    }
}

/// Ends the transaction of a batch.
fn end(connection: &mut Connection, commits: bool) -> Result<()> {
    connection.utility(if commits { "COMMIT" } else { "ROLLBACK" });
    if commits {
        connection.set_commit_pending();
    }
    connection.sync();
    connection.send("ending a batch")?;
    connection.finish(|_| Ok(())).map_err(locate_at_commit)
}

/// At any isolation: a batch makes no decision by what it reads.
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";
const SAVEPOINT: &str = "SAVEPOINT bobak_batch";
const RELEASE: &str = "RELEASE bobak_batch";

/// The smallest run for which a bulk plan of several statements is faster.
const MIN_BULK_ROWS: usize = 8;

/// How many row writes are sent in one round trip.
const MAX_WRITES_IN_FLIGHT: usize = 256;

/// Sends a batch.
pub(crate) struct BatchSender<'s, 'e> {
    pub state: &'s mut SessionState<'e>,
    pub connection: &'s mut Connection,
    pub on_error: OnError,
    each: &'s mut dyn FnMut(Result<Outcome>),
}

fn all(
    state: &mut SessionState<'_>,
    connection: &mut Connection,
    batch: &WriteBatch,
    on_error: OnError,
    each: &mut dyn FnMut(Result<Outcome>),
) -> Result<()> {
    let mut sending = BatchSender { state, connection, on_error, each };
    // Short runs are collected until there are enough for a round trip.
    let mut gathered: Vec<(Run<'_>, u64, EncodedRow<'_>)> = Vec::new();
    // A single run is one round trip in any case.
    let is_single_run = batch.runs().nth(1).is_none();
    for run in batch.runs() {
        let rows: Vec<EncodedRow<'_>> = run.iter().collect();
        if rows.len() < MIN_BULK_ROWS && !(is_single_run && rows.len() > 1) {
            gathered.extend((run.first..).zip(rows).map(|(number, row)| (run, number, row)));
            if gathered.len() >= MAX_WRITES_IN_FLIGHT {
                sending.gathered(&mut gathered)?;
            }
            continue;
        }
        sending.gathered(&mut gathered)?;
        sending.run(&run, &rows)?;
    }
    sending.gathered(&mut gathered)
}

impl BatchSender<'_, '_> {
    fn gathered(&mut self, rows: &mut Vec<(Run<'_>, u64, EncodedRow<'_>)>) -> Result<()> {
        let mut rest = &rows[..];
        while let Some((run, number, _)) = rest.first() {
            // A missing table is an error of the row.
            let table_info = match self.state.table_info(self.connection, run.table) {
                Ok(_) => None,
                Err(error) => Some(error.at_row(*number)),
            };
            if let Some(error) = table_info {
                self.rejected(error)?;
                rest = rest.get(1..).unwrap_or_default();
                continue;
            }
            let known = |(run, _, _): &&(Run<'_>, u64, EncodedRow<'_>)| {
                self.state.database.table_info().contains_key(&run.table.id())
            };
            let count = rest.iter().take_while(known).count().max(1);
            let (now, later) = rest.split_at_checked(count).unwrap_or((rest, &[]));
            let mut row_writes = Vec::with_capacity(now.len());
            for (run, number, row) in now {
                let table_info = self.state.table_info(self.connection, run.table)?;
                let (table, verb, fields) = (run.table, run.verb, run.fields);
                row_writes.push((*number, RowWrite { table, table_info, verb, fields, row }));
            }
            self.row_writes(&row_writes)?;
            rest = later;
        }
        rows.clear();
        Ok(())
    }

    /// Sends a run by a bulk plan, if its table and verb have one.
    fn run(&mut self, run: &Run<'_>, rows: &[EncodedRow<'_>]) -> Result<()> {
        let table_info = match self.state.table_info(self.connection, run.table) {
            Ok(table_info) => table_info,
            Err(error) => {
                // Each row fails for the same reason. The first row's error has all details.
                let message = error.message().to_owned();
                let kind = error.kind();
                self.rejected(error.at_row(run.first))?;
                for number in (run.first..).take(rows.len()).skip(1) {
                    let error =
                        Error::new(kind, message.clone()).in_table(run.table.name().to_owned());
                    self.rejected(error.at_row(number))?;
                }
                return Ok(());
            }
        };
        let plan = if rows.len() < MIN_BULK_ROWS {
            BulkPlan::of_few(self.state.database, run, &table_info)
        } else {
            BulkPlan::of(self.state.database, run, &table_info)
        };
        let is_exact = |row| table_info.narrow.check_row(run.table, row).is_ok();
        for chunk in chunk::split(run, rows) {
            let mut rows = chunk.rows.iter().map(|row| row as &dyn bobak_core::Row);
            match &plan {
                Some(plan) if run.verb == Verb::Delete || rows.all(is_exact) => {
                    self.send_bulk(plan, run, &chunk)?;
                }
                _ => self.send_singly(run, &chunk)?,
            }
        }
        Ok(())
    }

    /// Sends a chunk by a bulk plan. If that fails, sends its halves, to find the row with the error.
    fn send_bulk(&mut self, plan: &BulkPlan, run: &Run<'_>, chunk: &Chunk<'_, '_>) -> Result<()> {
        if chunk.rows.len() < plan.min_rows() {
            return self.send_singly(run, chunk);
        }
        match plan.send(self, run, chunk) {
            Ok(outcomes) => {
                // Only now are outcomes reported: before, an earlier row's error could have stopped the batch.
                for (number, outcome) in (chunk.first..).zip(outcomes) {
                    match outcome {
                        Ok(outcome) => (self.each)(Ok(outcome)),
                        Err(error) => self.rejected(error.at_row(number))?,
                    }
                }
                Ok(())
            }
            Err(error) if !is_of_a_row(&error) || self.state.failed => {
                Err(locate(error, run.table))
            }
            Err(_) if chunk.rows.len() <= MAX_WRITES_IN_FLIGHT => self.send_singly(run, chunk),
            Err(_) => {
                let (first, second) = chunk.halves();
                self.send_bulk(plan, run, &first)?;
                self.send_bulk(plan, run, &second)
            }
        }
    }

    /// Sends a chunk as row writes, several per round trip.
    fn send_singly(&mut self, run: &Run<'_>, chunk: &Chunk<'_, '_>) -> Result<()> {
        let table_info = self.state.table_info(self.connection, run.table)?;
        let (table, verb, fields) = (run.table, run.verb, run.fields);
        let row_write = |row| RowWrite { table, table_info: table_info.clone(), verb, fields, row };
        let row_writes: Vec<_> = (chunk.first..)
            .zip(chunk.rows)
            .map(|(number, row)| (number, row_write(row as &dyn bobak_core::Row)))
            .collect();
        self.row_writes(&row_writes)
    }

    /// Sends row writes. After a row that fails, the next groups are smaller for a while.
    fn row_writes(&mut self, rows: &[(u64, RowWrite<'_>)]) -> Result<()> {
        let (mut at, mut window) = (0, MAX_WRITES_IN_FLIGHT);
        let mut resynced = false;
        while at < rows.len() {
            let now = rows.get(at..(at + window).min(rows.len())).unwrap_or_default();
            let mut replies = Vec::new();
            let Err(error) = self.group(now, &mut replies) else {
                self.report(now, &replies)?;
                at += now.len();
                window = (window * 2).min(MAX_WRITES_IN_FLIGHT);
                continue;
            };
            // The group was rolled back. The number of replies tells which row failed.
            let wrong = replies.len();
            let Some((number, row_write)) = now.get(wrong) else { return Err(error) };
            if !is_of_a_row(&error) || self.state.failed {
                return Err(locate(error, row_write.table).at_row(*number));
            }
            if !resynced && row_write.makes_key() && is_taken_key(&error, row_write.table) {
                resynced = true;
                resync(self.state, self.connection, &row_write.table_info, row_write.table)?;
                continue;
            }
            let good = now.get(..wrong).unwrap_or_default();
            if self.on_error == OnError::Stop {
                self.report_failed(good, &replies)?;
                return Err(locate(error, row_write.table).at_row(*number));
            }
            if !good.is_empty() {
                let mut replies = Vec::new();
                if self.group(good, &mut replies).is_err() {
                    window = 1;
                    continue;
                }
                self.report(good, &replies)?;
                if good.iter().any(|(_, row_write)| row_write.makes_key()) {
                    // The sequence has given them other keys, with which the row may not collide.
                    at += wrong;
                    window = 1;
                    continue;
                }
            }
            self.rejected(locate(error, row_write.table).at_row(*number))?;
            at += wrong + 1;
            window = 1;
        }
        Ok(())
    }

    /// Sends rows in one atomic round trip. If a row fails, `answers` contains the replies for the rows before it.
    fn group(
        &mut self,
        rows: &[(u64, RowWrite<'_>)],
        replies: &mut Vec<(RowReply, bool)>,
    ) -> Result<()> {
        let mut steps = Vec::with_capacity(rows.len());
        for (_, row_write) in rows {
            steps.push(row_write.prepare(self.state, self.connection)?);
        }
        let mut spans = std::mem::take(&mut self.state.spans);
        let mut now = RowReply::default();
        let requested = std::cell::Cell::new(0);
        let ask = |connection: &mut Connection| {
            for (steps, (_, row_write)) in steps.iter().zip(rows) {
                steps.ask(connection, row_write)?;
                requested.set(requested.get() + 1);
                // A long group is sent while it grows; the replies are short and cannot block the server.
                connection.send_much("sending rows")?;
            }
            Ok(())
        };
        let done = self.state.batch_operation(self.connection, ask, |message| {
            let Some((step, (_, row_write))) =
                steps.get(replies.len()).zip(rows.get(replies.len()))
            else {
                return Ok(());
            };
            now.note(message, step.columns(), &mut spans);
            if now.done == step.count() {
                step.reached(row_write, &now);
                replies.push((std::mem::take(&mut now), step.made));
            }
            Ok(())
        });
        self.state.spans = spans;
        let own = done.as_ref().is_err_and(|error| server(error).is_none());
        if own && requested.get() < rows.len() {
            // A value that cannot be sent. The rows before it are not known to be wrong.
            replies.truncate(0);
            replies.resize(requested.get(), (RowReply::unknown(), false));
        }
        done
    }

    /// Reports the outcomes of rows that the server accepted.
    fn report(&mut self, rows: &[(u64, RowWrite<'_>)], replies: &[(RowReply, bool)]) -> Result<()> {
        for ((number, row_write), (reply, made)) in rows.iter().zip(replies) {
            match reply.outcome(row_write.table, row_write.verb, *made) {
                Some(outcome) => (self.each)(Ok(outcome)),
                None => {
                    let error = row_write.not_updated(self.state, self.connection)?;
                    self.rejected(error.at_row(*number))?;
                }
            }
        }
        Ok(())
    }

    /// Returns the error of an update that found no row, if there is one before the row that the server rejected.
    fn report_failed(
        &mut self,
        rows: &[(u64, RowWrite<'_>)],
        replies: &[(RowReply, bool)],
    ) -> Result<()> {
        for ((number, row_write), (reply, made)) in rows.iter().zip(replies) {
            let outcome = reply.outcome(row_write.table, row_write.verb, *made);
            if !reply.is_unknown() && outcome.is_none() {
                let error = row_write.not_updated(self.state, self.connection)?;
                return Err(error.at_row(*number));
            }
        }
        if replies.iter().any(|(reply, _)| reply.is_unknown()) && !rows.is_empty() {
            // They were not sent. Send them now, since one of them may have the first error.
            let mut replies = Vec::new();
            if let Err(error) = self.group(rows, &mut replies) {
                let Some((number, row_write)) = rows.get(replies.len()) else { return Err(error) };
                return Err(locate(error, row_write.table).at_row(*number));
            }
            return self.report_failed(rows, &replies);
        }
        Ok(())
    }

    /// Reports a row's error, or ends the batch with it if the batch stops at errors.
    fn rejected(&mut self, error: Error) -> Result<()> {
        if self.on_error == OnError::Stop {
            return Err(error);
        }
        (self.each)(Err(error));
        Ok(())
    }
}

/// Whether an error concerns a single row, so that other rows may succeed.
fn is_of_a_row(error: &Error) -> bool {
    match error.kind() {
        ErrorKind::Full => server(error).is_some_and(|said| said.code == "2200H"),
        ErrorKind::Duplicate
        | ErrorKind::Constraint
        | ErrorKind::TooLong
        | ErrorKind::OutOfRange
        | ErrorKind::Mismatch
        | ErrorKind::Unsupported
        | ErrorKind::Schema
        | ErrorKind::NotFound
        | ErrorKind::Conflict
        | ErrorKind::Syntax => true,
        _ => false,
    }
}
