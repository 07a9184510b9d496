//! Queries on a connection that also runs other statements.

use super::Connection;
use crate::error::translate;
use crate::ffi::StatementId;
use bobak_core::{Error, ErrorKind, Result, RowBuffer, Value};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The approximate size of a part, in bytes.
const PART_BYTES: usize = 64 * 1024;

/// A running query, known to its session and to its connection, which buffers it if needed. Its
/// lock is never held while waiting for a connection.
#[derive(Debug)]
pub(crate) struct SharedCursor {
    text: Box<str>,
    state: Mutex<SharedCursorState>,
}

#[derive(Debug)]
enum SharedCursorState {
    Running(StatementId),
    /// Read to its end, or to an error, which the last fetch returns.
    Buffered(VecDeque<RowBuffer>, Option<Error>),
    Closed,
}

impl SharedCursor {
    pub(crate) fn new(text: &str, statement: StatementId) -> Self {
        Self { text: text.into(), state: Mutex::new(SharedCursorState::Running(statement)) }
    }

    pub(crate) fn is_running(&self) -> bool {
        matches!(*self.lock(), SharedCursorState::Running(_))
    }

    /// Reads the next part on the connection.
    pub(crate) fn fetch(&self, connection: &mut Connection, rows: &mut RowBuffer) -> Result<()> {
        let mut state = self.lock();
        let SharedCursorState::Running(statement) = *state else {
            drop(state);
            return self.take_part(rows).unwrap_or(Ok(()));
        };
        let more = fill(connection, statement, rows);
        if !matches!(more, Ok(true)) {
            end(connection, &self.text, statement);
            *state = SharedCursorState::Closed;
        }
        more.map(|_| ())
    }

    /// Reads all remaining rows into memory.
    pub(crate) fn buffer(&self, connection: &mut Connection) {
        let mut state = self.lock();
        if let SharedCursorState::Running(statement) = *state {
            let mut parts = VecDeque::new();
            let error = fill_all(connection, statement, &mut parts).err();
            end(connection, &self.text, statement);
            *state = SharedCursorState::Buffered(parts, error);
        }
    }

    /// Ends the query.
    pub(crate) fn close(&self, connection: &mut Connection) {
        let mut state = self.lock();
        if let SharedCursorState::Running(statement) = *state {
            end(connection, &self.text, statement);
        }
        *state = SharedCursorState::Closed;
    }

    /// A buffered part; `None` while the statement is running.
    pub(crate) fn take_part(&self, rows: &mut RowBuffer) -> Option<Result<()>> {
        match &mut *self.lock() {
            SharedCursorState::Running(_) => None,
            SharedCursorState::Buffered(parts, error) => match parts.pop_front() {
                Some(part) => {
                    *rows = part;
                    Some(Ok(()))
                }
                None => Some(error.take().map_or(Ok(()), Err)),
            },
            SharedCursorState::Closed => Some(Ok(())),
        }
    }

    fn lock(&self) -> MutexGuard<'_, SharedCursorState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Begins a query with copies of the values. Returns its statement and its column names.
pub(crate) fn begin(
    connection: &mut Connection,
    text: &str,
    values: &[Value<'_>],
) -> Result<(StatementId, Vec<String>)> {
    connection.refresh_schema_to_explain(text)?;
    let statement = connection.take_text_statement(text)?;
    let begun = connection.check_parameters(statement, values.len()).and_then(|()| {
        let values = values.iter().map(Value::as_ref);
        connection.db.begin(statement, values).map_err(|failure| translate(failure, None))
    });
    match begun {
        Ok(()) => Ok((statement, connection.db.column_names(statement))),
        Err(error) => {
            end(connection, text, statement);
            Err(error)
        }
    }
}

/// The names of a statement's columns. It does not run.
pub(crate) fn column_names(connection: &mut Connection, text: &str) -> Result<Vec<String>> {
    let statement = connection.take_text_statement(text)?;
    let names = connection.db.column_names(statement);
    connection.keep_text(text, statement);
    Ok(names)
}

pub(crate) fn end(connection: &mut Connection, text: &str, statement: StatementId) {
    connection.db.reset(statement);
    connection.keep_text(text, statement);
}

/// Reads rows until `rows` is about the size of a part; `false` at the end.
pub(crate) fn fill(
    connection: &mut Connection,
    statement: StatementId,
    rows: &mut RowBuffer,
) -> Result<bool> {
    while rows.bytes() < PART_BYTES {
        match connection.db.step(statement) {
            Ok(Some(row)) => rows.push(&row)?,
            Ok(None) => return Ok(false),
            Err(failure) => return Err(translate(failure, None)),
        }
    }
    Ok(true)
}

pub(crate) fn fill_all(
    connection: &mut Connection,
    statement: StatementId,
    parts: &mut VecDeque<RowBuffer>,
) -> Result<()> {
    let mut bytes = 0;
    loop {
        let mut part = RowBuffer::default();
        let more = fill(connection, statement, &mut part)?;
        bytes += part.bytes();
        if bytes > connection.max_ahead {
            let message = format!(
                "the session wrote or its transaction ended while the query had more than {} \
                 bytes of rows to return: fetch them before, read in a session of its own, or \
                 raise `max_ahead_bytes`",
                connection.max_ahead
            );
            parts.clear();
            return Err(Error::new(ErrorKind::OutOfRange, message));
        }
        if part.rows() > 0 {
            parts.push_back(part);
        }
        if !more {
            return Ok(());
        }
    }
}
