//! Queries whose rows are sent as they are found, no faster than the client reads them.
//!
//! They use a cursor, so a client that reads slowly does not block the engine between two parts.

use super::client_session::ClientSession;
use crate::connection::{Connection, Disconnect, WRITE_THRESHOLD};
use crate::request_monitor::cancelled;
use bobak_core::{Cursor, Error, Result, Type};
use bobak_wire::{ColumnBlockEncoder, HEADER_LENGTH, OwnedSource, ResultForm, encode_response};
use std::io;
use std::mem::swap;
use std::time::Instant;

/// A block is sent once it has about so many bytes: few enough for a processor's cache.
const BLOCK_BYTES: usize = 256 << 10;

/// What the client allows a query to send.
struct SendWindow {
    /// How many bytes; `None` for no limit.
    bytes: Option<u64>,
    cancelled: bool,
}

impl SendWindow {
    /// Takes the bytes that were sent.
    const fn take(&mut self, sent: usize) {
        if let Some(bytes) = &mut self.bytes {
            *bytes = bytes.saturating_sub(sent as u64);
        }
    }
}

impl ClientSession<'_> {
    /// Sends the rows of a query.
    pub fn stream(
        &mut self,
        connection: &mut Connection,
        id: u32,
        (window, form): (u32, ResultForm),
        source: OwnedSource,
    ) -> Result<(), Disconnect> {
        let types = types_of(&source);
        let mut cursor = match self.monitored(connection, id, || self.open_query(source)) {
            Ok(Some(cursor)) => cursor,
            Ok(None) => {
                encode_response::declined(&mut connection.output, id);
                return Ok(());
            }
            Err(error) => {
                self.send_error(connection, id, &error);
                return Ok(());
            }
        };
        if form.columns {
            encode_response::columns(&mut connection.output, id, true, 0, &cursor.columns)?;
        }
        let mut window =
            SendWindow { bytes: (window > 0).then_some(window.into()), cancelled: false };
        let sent = if form.blocks {
            let known = cursor.columns.iter().map(|column| column.ty);
            let block = ColumnBlockEncoder::new(types.unwrap_or_else(|| known.collect()));
            self.send_blocks(connection, id, &mut window, &mut cursor, block)
        } else {
            self.send_rows(connection, id, &mut window, &mut cursor)
        };
        self.session.close(&mut cursor);
        match sent {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => {
                self.send_error(connection, id, &error);
                Ok(())
            }
            Err(gone) => Err(gone),
        }
    }

    /// Runs `work` under the request monitor.
    pub fn monitored<R>(
        &self,
        connection: &mut Connection,
        id: u32,
        work: impl FnOnce() -> Result<R>,
    ) -> Result<R> {
        let client = connection.monitored(id, self.shared.settings.request_timeout);
        self.shared.monitor.run(client, work)
    }

    /// Sends all rows. The inner error is the query's, the outer one the connection's.
    fn send_rows(
        &mut self,
        connection: &mut Connection,
        id: u32,
        window: &mut SendWindow,
        cursor: &mut Cursor,
    ) -> Result<Result<()>, Disconnect> {
        let mut next = std::mem::take(&mut self.rows);
        let session = self.session;
        let fetched = self.monitored(connection, id, || session.fetch(cursor, &mut next));
        if let Err(error) = fetched {
            return Ok(Err(error));
        }
        loop {
            // The next part is fetched first, so that the last one can be marked as such.
            swap(&mut self.rows, &mut next);
            if self.rows.rows() > 0
                && let Err(error) =
                    self.monitored(connection, id, || session.fetch(cursor, &mut next))
            {
                return Ok(Err(error));
            }
            let more = self.rows.rows() > 0 && next.rows() > 0;
            encode_response::rows(&mut connection.output, id, more, self.rows.as_bytes())?;
            if !more {
                return Ok(Ok(()));
            }
            window.take(self.rows.bytes());
            if let Err(error) = self.wait_for_credit(connection, id, window)? {
                return Ok(Err(error));
            }
        }
    }

    /// As [`send_rows`](Self::send_rows), column by column.
    fn send_blocks(
        &mut self,
        connection: &mut Connection,
        id: u32,
        window: &mut SendWindow,
        cursor: &mut Cursor,
        mut block: ColumnBlockEncoder,
    ) -> Result<Result<()>, Disconnect> {
        let mut rows = std::mem::take(&mut self.rows);
        loop {
            let session = self.session;
            let fetched = self.monitored(connection, id, || {
                session.fetch(cursor, &mut rows)?;
                while let Some(row) = rows.next_row()? {
                    block.push(&row)?;
                }
                Ok(rows.rows() > 0)
            });
            let more = match fetched {
                Ok(more) => more,
                Err(error) => return Ok(Err(error)),
            };
            if more && block.bytes() < BLOCK_BYTES {
                continue;
            }
            // The end of the response needs no credit.
            if block.bytes() > 0
                && let Err(error) = self.wait_for_credit(connection, id, window)?
            {
                return Ok(Err(error));
            }
            let before = connection.output.len() + HEADER_LENGTH;
            block.write_frame(&mut connection.output, id, more)?;
            if !more {
                self.rows = rows;
                return Ok(Ok(()));
            }
            window.take(connection.output.len() - before);
            connection.flush(&self.shared.settings)?;
        }
    }

    /// Waits until the client allows more. The inner error is that it cancelled the query.
    fn wait_for_credit(
        &self,
        connection: &mut Connection,
        id: u32,
        window: &mut SendWindow,
    ) -> Result<Result<(), Error>, Disconnect> {
        let settings = &self.shared.settings;
        if connection.output.len() >= WRITE_THRESHOLD || window.bytes == Some(0) {
            connection.flush(settings)?;
        }
        let deadline = Instant::now() + settings.write_timeout;
        loop {
            // Before it waits: while responses were written, what the client sent was read.
            self.update_window(connection, id, window)?;
            if window.bytes != Some(0) || window.cancelled {
                return Ok(if window.cancelled { Err(cancelled()) } else { Ok(()) });
            }
            let is_full = connection.input.len() > settings.receive_window as usize;
            let rest = deadline.saturating_duration_since(Instant::now());
            if is_full || rest.is_zero() {
                let message = "the client does not request the rest of its rows";
                return Err(io::Error::new(io::ErrorKind::TimedOut, message).into());
            }
            connection.transport.wait(true, false, rest)?;
        }
    }

    /// Updates the window by what the client has sent.
    fn update_window(
        &self,
        connection: &mut Connection,
        id: u32,
        window: &mut SendWindow,
    ) -> Result<(), Disconnect> {
        let control = connection.look_ahead(id, &self.shared.settings)?;
        if let Some(bytes) = &mut window.bytes {
            *bytes = bytes.saturating_add(control.credit);
        }
        window.cancelled |= control.cancelled;
        Ok(())
    }
}

/// The types of a query's columns, which its cursor need not know; `None` for SQL and joins, whose cursors do.
fn types_of(source: &OwnedSource) -> Option<Vec<Type>> {
    match source {
        OwnedSource::Select(select) => {
            Some(select.columns.iter().map(|expr| expr.ty(&select.table)).collect())
        }
        OwnedSource::Join(_) | OwnedSource::Sql { .. } => None,
    }
}
