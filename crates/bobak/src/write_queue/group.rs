//! Writing a group of rows in one transaction.

use super::result_slot::ResultSlot;
use crate::retry;
use bobak_core::{
    Engine, Error, ErrorKind, OnError, Outcome, Result, Row, Value, Write, WriteBatch,
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Where the outcome of a queued row is put.
pub(super) type RowSlot = ResultSlot<Result<Outcome>>;

/// Compares a table with its record, on the thread that writes.
pub(crate) type TableCheck = Box<dyn FnOnce() -> Result<()> + Send>;

/// Rows in order, and the slots for their results.
#[derive(Default)]
pub(super) struct RowGroup {
    pub rows: WriteBatch,
    pub slots: Vec<Arc<RowSlot>>,
    /// Checks to make before rows are written, by the row's place in the group.
    pub checks: Vec<(usize, TableCheck)>,
    /// The places of cancelled rows, in no order.
    pub cancelled: Vec<usize>,
    /// The number of the row behind the last one, among all rows of the queue.
    pub end: u64,
}

impl RowGroup {
    /// Empties the group, and keeps its memory.
    pub fn clear(&mut self) {
        self.rows.clear();
        self.slots.clear();
    }

    /// Writes all rows, and puts their results. Returns the first error whose receiver is gone.
    pub fn write(&mut self, engine: &dyn Engine, retries: u32) -> Option<Error> {
        self.rows.stamp();
        let mut results = Results { unclaimed: None };
        self.leave_out(&mut results);
        let mut outcomes = Vec::new();
        let whole = match self.slots.len() {
            0 | 1 => None,
            rows => Some(retrying(retries, || {
                outcomes.clear();
                outcomes.reserve(rows);
                let mut each = |outcome| outcomes.push(outcome);
                engine.session()?.batch(&self.rows, OnError::Continue, &mut each)
            })),
        };
        let whole = match whole {
            Some(Err(error)) if !may_depend_on_row(error.kind()) => Err(error),
            Some(Ok(())) => Ok(()),
            _ => {
                each_write(&self.rows, |slot, write| {
                    let written = retrying(retries, || engine.write(write));
                    results.put(self.slots.get(slot), written, write.table.name());
                });
                return results.unclaimed;
            }
        };
        let mut outcomes = outcomes.into_iter();
        for run in self.rows.runs() {
            let slots = self.slots.iter().skip(run.first as usize).take(run.rows as usize);
            for slot in slots {
                let outcome = match (outcomes.next(), &whole) {
                    (Some(Err(error)), _) => Err(error),
                    (_, Err(error)) => Err(error.to_bare()),
                    (Some(outcome), Ok(())) => outcome,
                    (None, Ok(())) => {
                        let message = "the engine reported no outcome for the write";
                        Err(Error::new(ErrorKind::Engine, message))
                    }
                };
                results.put(Some(slot), outcome, run.table.name());
            }
        }
        results.unclaimed
    }

    /// Removes the rows that were cancelled, and those whose table does not fit, which get the error.
    fn leave_out(&mut self, results: &mut Results) {
        let mut out = std::mem::take(&mut self.cancelled);
        for (row, check) in std::mem::take(&mut self.checks) {
            if let Err(error) = catching(check) {
                results.put(self.slots.get(row), Err(error), "");
                out.push(row);
            }
        }
        if out.is_empty() {
            return;
        }
        out.sort_unstable();
        let (mut rows, mut slots) = (WriteBatch::new(), Vec::new());
        each_write(&self.rows, |row, write| {
            let Some(slot) = self.slots.get(row).filter(|_| out.binary_search(&row).is_err())
            else {
                return;
            };
            match rows.push(write) {
                Ok(()) => slots.push(Arc::clone(slot)),
                Err(error) => results.put(Some(slot), Err(error), write.table.name()),
            }
        });
        (self.rows, self.slots) = (rows, slots);
    }
}

/// The results of a group.
struct Results {
    unclaimed: Option<Error>,
}

impl Results {
    /// Puts the result of a row. Its error has no row number, since the caller does not know the group.
    fn put(&mut self, slot: Option<&Arc<RowSlot>>, outcome: Result<Outcome>, table: &str) {
        let outcome = outcome.map_err(|error| match table {
            "" => error,
            table => error.without_row().in_table(table),
        });
        if let Some(Err(error)) = slot.and_then(|slot| slot.put(outcome)) {
            self.unclaimed.get_or_insert(error);
        }
    }
}

/// Calls `act` with each row in the form of the engine contract.
fn each_write(rows: &WriteBatch, mut act: impl FnMut(usize, &Write<'_>)) {
    let mut values: Vec<Value<'_>> = Vec::new();
    for run in rows.runs() {
        for (place, row) in (run.first as usize..).zip(run.iter()) {
            values.clear();
            values.extend((0..row.len()).map(|column| Value::from(row.value(column))));
            let (table, verb, fields) = (run.table, run.verb, run.fields);
            act(place, &Write { table, verb, fields, values: &values });
        }
    }
}

/// Repeats work of an engine up to `retries` times after a conflict: nothing was committed then.
fn retrying<R>(retries: u32, mut work: impl FnMut() -> Result<R>) -> Result<R> {
    let mut retry = 0;
    loop {
        match catching(&mut work) {
            Err(error) if retry < retries && retry::is_retryable(&error, true) => {
                std::thread::sleep(retry::pause(retry));
                retry += 1;
            }
            result => return result,
        }
    }
}

/// A panic of the engine becomes an error: every receiver must get a result.
fn catching<R>(work: impl FnOnce() -> Result<R>) -> Result<R> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        let message = "the engine panicked: it is unknown whether the write was committed";
        Err(Error::new(ErrorKind::Unknown, message))
    })
}

/// Whether the failure of a group may be due to some rows only, so that the others succeed by themselves. The other kinds
/// would fail each row alike, or leave it unknown whether the rows were committed.
const fn may_depend_on_row(kind: ErrorKind) -> bool {
    !matches!(
        kind,
        ErrorKind::Unknown
            | ErrorKind::Busy
            | ErrorKind::Unreachable
            | ErrorKind::Io
            | ErrorKind::Full
            | ErrorKind::ReadOnly
            | ErrorKind::Timeout
    )
}
