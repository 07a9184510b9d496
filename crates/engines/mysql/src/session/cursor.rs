//! Open cursors.
//!
//! A cursor reads the result of one statement in parts, so the rows are of one snapshot. Outside of a transaction it
//! has a connection of its own, so that the session can go on. In a transaction it must see the transaction's own
//! changes, so it reads from the transaction's connection. The next operation on that connection first reads the
//! remaining rows into memory. The first part is read at once; most results end in it, and the connection is free.

use crate::connection::pool::PooledConnection;
use crate::connection::{Connection, StatementResult};
use crate::values::decode::{BorrowedRow, DecodedValue, Decoder};
use bobak_core::{Error, ErrorKind, Result, ResultColumn, RowBuffer, TableSchema};
use mysql::Value as Wire;
use self_cell::{MutBorrow, self_cell};
use std::collections::VecDeque;
use std::sync::Arc;

/// The approximate number of bytes in a block of rows.
const BLOCK_BYTES: usize = 64 << 10;
/// So many are read at the opening.
const AT_ONCE: usize = 1 << 20;

self_cell!(
    struct OpenResult {
        owner: MutBorrow<Box<Connection>>,
        #[not_covariant]
        dependent: StatementResult,
    }
);

/// A cursor: rows that were read and not yet returned, and the rest of the server's reply.
pub(crate) struct CursorReader {
    table: Option<Arc<TableSchema>>,
    parts: VecDeque<RowBuffer>,
    stream: Option<RowStream>,
    /// What ended the answer too early, after the parts.
    failed: Option<Error>,
}

/// An answer that is not at its end.
struct RowStream {
    held: OpenResult,
    decoder: Decoder,
    /// Returns the connection to the pool. `None` inside a transaction, which keeps its connection.
    pooled: Option<PooledConnection>,
}

/// A statement to open.
#[derive(Clone)]
pub(crate) struct CursorStatement<'a> {
    pub table: Option<Arc<TableSchema>>,
    pub sql: &'a str,
    pub parameters: &'a [Wire],
    /// Whether dates that do not exist are NULL, and no error.
    pub invalid_dates_are_null: bool,
}

/// What an opening gives: the cursor, its columns, and the transaction's connection where it
/// is free again.
pub(crate) struct OpenedCursor {
    pub reader: CursorReader,
    pub columns: Vec<ResultColumn>,
    pub connection: Option<Box<Connection>>,
}

impl CursorReader {
    /// Opens a cursor on a connection of its own.
    pub(crate) fn on_pooled(
        mut pooled: PooledConnection,
        opening: CursorStatement<'_>,
    ) -> Result<OpenedCursor> {
        let Some(connection) = pooled.detach() else { return Err(no_connection()) };
        match open(connection, opening, Some(pooled)) {
            Ok(opened) => Ok(opened),
            Err((error, connection, pooled)) => {
                if let Some(mut pooled) = pooled {
                    pooled.attach(connection);
                }
                Err(error)
            }
        }
    }

    /// Opens one on the transaction's connection, which comes back with an error.
    pub(crate) fn inside(
        connection: Box<Connection>,
        opening: CursorStatement<'_>,
    ) -> Result<OpenedCursor, (Error, Box<Connection>)> {
        open(connection, opening, None).map_err(|(error, connection, _)| (error, connection))
    }

    /// The next rows; none after the last.
    ///
    /// The connection is free where the second part says so.
    pub(crate) fn fetch(&mut self, rows: &mut RowBuffer) -> (Result<()>, Option<Box<Connection>>) {
        rows.clear();
        let mut freed = None;
        if self.parts.is_empty() {
            freed = self.read(BLOCK_BYTES);
        }
        match (self.parts.pop_front(), self.failed.take()) {
            (Some(mut part), failed) => {
                std::mem::swap(rows, &mut part);
                self.failed = failed;
                (Ok(()), freed)
            }
            (None, Some(error)) => (Err(error), freed),
            (None, None) => (Ok(()), freed),
        }
    }

    /// Whether it holds a connection of the pool.
    pub(crate) fn holds_pooled(&self) -> bool {
        self.stream.as_ref().is_some_and(|stream| stream.pooled.is_some())
    }

    /// Whether it holds the transaction's connection.
    pub(crate) fn holds_transaction(&self) -> bool {
        self.stream.as_ref().is_some_and(|stream| stream.pooled.is_none())
    }

    /// Reads the remaining rows into memory; returns the connection to the transaction that it belongs to.
    pub(crate) fn drain(&mut self) -> Option<Box<Connection>> {
        self.read(usize::MAX)
    }

    /// Ends the cursor; returns the connection to the transaction that it belongs to.
    pub(crate) fn end(mut self) -> Option<Box<Connection>> {
        self.stream.take()?.abandon()
    }

    /// Reads so many bytes of rows, in parts.
    fn read(&mut self, bytes: usize) -> Option<Box<Connection>> {
        let mut stream = self.stream.take()?;
        let mut cells = Vec::new();
        let mut total = 0;
        let ended = loop {
            let mut part = RowBuffer::default();
            let ended = stream.part(&mut part, &mut cells, self.table.as_deref());
            total += part.bytes();
            if part.rows() > 0 {
                self.parts.push_back(part);
            }
            match ended {
                Ok(false) if total < bytes => {}
                ended => break ended,
            }
        };
        match ended {
            Ok(false) => {
                self.stream = Some(stream);
                None
            }
            Ok(true) => {
                let (checked, connection) = stream.close(self.table.is_none());
                self.failed = checked.err();
                connection
            }
            Err(wrong) => {
                let (error, connection) = stream.fail(wrong, self.table.as_deref());
                self.failed = Some(error);
                connection
            }
        }
    }
}

type FailedOpen = (Error, Box<Connection>, Option<PooledConnection>);

fn open(
    connection: Box<Connection>,
    opening: CursorStatement<'_>,
    pooled: Option<PooledConnection>,
) -> Result<OpenedCursor, FailedOpen> {
    let parameters = opening.parameters.to_vec();
    let owner = MutBorrow::new(connection);
    let is_sql = opening.table.is_none();
    let held = OpenResult::try_new_or_recover(owner, |connection| {
        connection.borrow_mut().start(opening.sql, parameters, is_sql)
    });
    let held = match held {
        Ok(held) => held,
        Err((owner, error)) => {
            let mut connection = owner.into_inner();
            let error = connection.failed(error, opening.table.as_deref());
            return Err((error, connection, pooled));
        }
    };
    let mut decoder = held.with_dependent(|_, reply| reply.decoder());
    decoder.invalid_dates_are_null = opening.invalid_dates_are_null;
    let columns = decoder.columns().to_vec();
    let stream = RowStream { held, decoder, pooled };
    let mut reader = CursorReader {
        table: opening.table,
        parts: VecDeque::new(),
        stream: Some(stream),
        failed: None,
    };
    let connection = reader.read(AT_ONCE);
    Ok(OpenedCursor { reader, columns, connection })
}

/// Why a reply ended early.
enum CursorError {
    Line(mysql::Error),
    Value(Error),
}

impl RowStream {
    /// Fills a part; whether the answer is at its end.
    fn part(
        &mut self,
        part: &mut RowBuffer,
        cells: &mut Vec<DecodedValue>,
        table: Option<&TableSchema>,
    ) -> Result<bool, CursorError> {
        while part.bytes() < BLOCK_BYTES {
            let next = self.held.with_dependent_mut(|_, reply| reply.next());
            let Some(row) = next.transpose().map_err(CursorError::Line)? else {
                return Ok(true);
            };
            self.decoder.read(row, cells, table).map_err(CursorError::Value)?;
            part.push(&BorrowedRow { cells, columns: self.decoder.columns() })
                .map_err(CursorError::Value)?;
        }
        Ok(false)
    }

    /// Gives the connection back, all rows having been read. Of SQL text, the error of a lossy comparison.
    fn close(self, is_sql: bool) -> (Result<()>, Option<Box<Connection>>) {
        let mut connection = self.held.into_owner().into_inner();
        let checked = if is_sql { connection.reject_conversions() } else { Ok(()) };
        (checked, give_back(connection, self.pooled))
    }

    /// Gives the connection back while there are rows left.
    fn abandon(self) -> Option<Box<Connection>> {
        let Self { mut held, pooled, .. } = self;
        let ended = held.with_dependent_mut(|_, reply| reply.read_away());
        if !ended {
            held.with_dependent(|_, reply| reply.canceller()).cancel();
        }
        // Dropping the result reads the remaining rows.
        give_back(held.into_owner().into_inner(), pooled)
    }

    fn fail(
        self,
        wrong: CursorError,
        table: Option<&TableSchema>,
    ) -> (Error, Option<Box<Connection>>) {
        match wrong {
            CursorError::Line(error) => {
                let mut connection = self.held.into_owner().into_inner();
                let error = connection.failed(error, table);
                (error, give_back(connection, self.pooled))
            }
            CursorError::Value(error) => {
                let error = match table {
                    Some(table) => error.in_table(table.name()),
                    None => error,
                };
                (error, self.abandon())
            }
        }
    }
}

fn give_back(
    connection: Box<Connection>,
    pooled: Option<PooledConnection>,
) -> Option<Box<Connection>> {
    match pooled {
        Some(mut pooled) => {
            pooled.attach(connection);
            None
        }
        None => Some(connection),
    }
}

#[cold]
fn no_connection() -> Error {
    Error::new(ErrorKind::Misuse, "the connection is in use by another cursor")
}
