//! The open cursors of a session: the rows that were read ahead, and where the others come from.

use crate::connection::Connection;
use crate::connection::pool::PooledConnection;
use crate::protocol::message;
use crate::protocol::row::{PgColumn, SqlRow, ValueSpans};
use crate::session::fetch::{self, FetchEnd, FetchStats};
use bobak_core::{Result, Row, RowBuffer};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// The cursors of a session.
#[derive(Default)]
pub(crate) struct OpenCursors<'e> {
    pub open: BTreeMap<u64, OpenCursor<'e>>,
    /// The number of the last cursor.
    pub last_id: u64,
}

/// An open cursor.
pub(crate) struct OpenCursor<'e> {
    pub columns: Arc<Vec<PgColumn>>,
    /// Whether it is of SQL text, not of a query over a table.
    is_sql: bool,
    /// Rows that were received and not yet fetched.
    pub received: VecDeque<RowBuffer>,
    pub remaining: RemainingRows<'e>,
    /// How many rows to read next.
    next_rows: u32,
}

/// Where the remaining rows come from.
pub(crate) enum RemainingRows<'e> {
    /// A connection of its own.
    OwnConnection(PooledConnection<'e>),
    /// A portal, by name, on the transaction's connection.
    Portal(String),
    /// There are none.
    None,
    /// They were lost with their transaction.
    Lost,
}

/// About how many bytes a fetch returns.
const FETCH_BYTES: usize = 64 << 10;

/// How many rows the first fetch reads; it shows how large rows are.
const FIRST_ROWS: u32 = 64;

/// About how many bytes later fetches read from the server.
const READ_AHEAD: usize = 1 << 20;

impl<'e> OpenCursors<'e> {
    /// Whether a cursor has a connection of its own.
    pub fn hold_connection(&self) -> bool {
        self.open.values().any(|cursor| matches!(cursor.remaining, RemainingRows::OwnConnection(_)))
    }

    /// Reads the rows of the oldest cursor with a connection into memory, and returns its connection to the pool.
    ///
    /// # Errors
    /// Those of the server and the connection.
    pub fn release_one(&mut self) -> Result<()> {
        let own = |cursor: &&mut OpenCursor<'e>| {
            matches!(cursor.remaining, RemainingRows::OwnConnection(_))
        };
        self.open.values_mut().find(own).map_or(Ok(()), OpenCursor::release)
    }

    /// Reads the rows of all cursors with connections into memory.
    ///
    /// # Errors
    /// Those of the server and the connection.
    pub fn release_all(&mut self) -> Result<()> {
        self.open.values_mut().try_for_each(OpenCursor::release)
    }

    /// Whether a cursor reads from a portal of the transaction.
    pub fn any_inside(&self) -> bool {
        self.open.values().any(|cursor| matches!(cursor.remaining, RemainingRows::Portal(_)))
    }

    /// Reads the rows of the transaction's cursors into memory. `settle` handles the result of each fetch.
    ///
    /// # Errors
    /// Those of the server, the connection and `settle`.
    pub fn drain_inside(
        &mut self,
        connection: &mut Connection,
        mut settle: impl FnMut(&mut Connection, Result<FetchEnd>) -> Result<FetchEnd>,
    ) -> Result<()> {
        for cursor in self.open.values_mut() {
            while let RemainingRows::Portal(portal) = &cursor.remaining {
                let portal = portal.clone();
                let done = cursor.read(connection, &portal, true);
                match settle(connection, done) {
                    Ok(FetchEnd::More) => {}
                    Ok(_) => {
                        cursor.remaining = RemainingRows::None;
                        close_portal(connection, &portal)?;
                    }
                    Err(error) => {
                        cursor.remaining = RemainingRows::Lost;
                        return Err(error);
                    }
                }
            }
        }
        Ok(())
    }

    /// Marks the transaction's cursors as lost: the server has ended the transaction.
    pub fn fail_inside(&mut self) {
        for cursor in self.open.values_mut() {
            if matches!(cursor.remaining, RemainingRows::Portal(_)) {
                cursor.remaining = RemainingRows::Lost;
            }
        }
    }
}

impl<'e> OpenCursor<'e> {
    pub fn new(columns: &[PgColumn], is_sql: bool) -> Self {
        let columns = Arc::new(columns.to_vec());
        let (received, remaining) = (VecDeque::new(), RemainingRows::None);
        Self { columns, is_sql, received, remaining, next_rows: FIRST_ROWS }
    }

    /// Keeps a row until it is fetched.
    pub fn keep(&mut self, row: &dyn Row) -> Result<()> {
        if self.received.back().is_none_or(|last| last.bytes() >= FETCH_BYTES) {
            self.received.push_back(RowBuffer::default());
        }
        match self.received.back_mut() {
            Some(last) => last.push(row),
            None => Ok(()),
        }
    }

    /// Reads the next rows from a portal. `sync` ends the request with a `Sync`, which closes the portal unless it
    /// belongs to a transaction.
    ///
    /// # Errors
    /// Those of the server and the connection.
    pub fn read(
        &mut self,
        connection: &mut Connection,
        portal: &str,
        sync: bool,
    ) -> Result<FetchEnd> {
        connection.execute(portal, self.next_rows);
        if sync {
            connection.sync();
        } else {
            message::flush(&mut connection.out);
        }
        connection.send("cursor on")?;
        let (columns, mut stats) = (Arc::clone(&self.columns), FetchStats::default());
        let mut spans = ValueSpans::default();
        let ended = fetch::read_rows(connection, &mut stats, |body| {
            let row = spans.of(body, &columns).checked()?;
            let kept = if self.is_sql { self.keep(&SqlRow(row)) } else { self.keep(&row) };
            kept.map(|()| true)
        });
        if sync && !connection.is_broken {
            let ready = connection.finish(|_| Ok(()));
            let ended = ended?;
            ready?;
            self.next_rows = stats.next_rows(READ_AHEAD);
            return Ok(ended);
        }
        self.next_rows = stats.next_rows(READ_AHEAD);
        ended
    }

    /// Reads the next rows from the cursor's own connection. After the last row the connection returns to the pool.
    ///
    /// # Errors
    /// Those of the server and the connection.
    pub fn read_own(&mut self) -> Result<()> {
        let RemainingRows::OwnConnection(mut pooled) =
            std::mem::replace(&mut self.remaining, RemainingRows::None)
        else {
            return Ok(());
        };
        match self.read(&mut pooled, "", false) {
            Ok(FetchEnd::More) => self.remaining = RemainingRows::OwnConnection(pooled),
            Ok(_) => end_request(&mut pooled)?,
            Err(error) => {
                pooled.is_broken = true;
                return Err(error);
            }
        }
        Ok(())
    }

    fn release(&mut self) -> Result<()> {
        while matches!(self.remaining, RemainingRows::OwnConnection(_)) {
            self.read_own()?;
        }
        Ok(())
    }
}

/// Ends the requests in progress.
///
/// # Errors
/// Those of the server and the connection.
pub(crate) fn end_request(connection: &mut Connection) -> Result<()> {
    connection.sync();
    connection.send("ending a query")?;
    connection.finish(|_| Ok(()))
}

/// Closes a portal. An open one would prevent changes of its table.
///
/// # Errors
/// Those of the server and the connection.
pub(crate) fn close_portal(connection: &mut Connection, portal: &str) -> Result<()> {
    message::close(&mut connection.out, b'P', portal);
    end_request(connection)
}
