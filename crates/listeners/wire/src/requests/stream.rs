//! Queries whose rows are sent as they are found, no faster than the client reads them.
//!
//! They use a cursor, so a client that reads slowly does not block the engine between two parts.

use super::client_session::ClientSession;
use crate::connection::{Connection, Disconnect, WRITE_THRESHOLD};
use crate::request_monitor::cancelled;
use bobak_core::{Cursor, Error, Result};
use bobak_wire::{OwnedSource, encode_response};
use std::io;
use std::mem::swap;
use std::time::Instant;

/// What the client allows a query to send.
struct SendWindow {
    /// How many bytes; `None` for no limit.
    bytes: Option<u64>,
    cancelled: bool,
}

impl ClientSession<'_> {
    /// Sends the rows of a query.
    pub fn stream(
        &mut self,
        connection: &mut Connection,
        id: u32,
        (window, columns): (u32, bool),
        source: OwnedSource,
    ) -> Result<(), Disconnect> {
        let mut cursor = match self.monitored(connection, id, || self.open_query(source)) {
            Ok(cursor) => cursor,
            Err(error) => {
                self.send_error(connection, id, &error);
                return Ok(());
            }
        };
        if columns {
            encode_response::columns(&mut connection.output, id, true, 0, &cursor.columns)?;
        }
        let sent = self.send_rows(connection, id, window, &mut cursor);
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
        initial_window: u32,
        cursor: &mut Cursor,
    ) -> Result<Result<()>, Disconnect> {
        let mut window = SendWindow {
            bytes: (initial_window > 0).then_some(initial_window.into()),
            cancelled: false,
        };
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
            self.update_window(connection, id, &mut window)?;
            if let Some(bytes) = &mut window.bytes {
                *bytes = bytes.saturating_sub(self.rows.bytes() as u64);
            }
            if let Err(error) = self.wait_for_credit(connection, id, &mut window)? {
                return Ok(Err(error));
            }
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
        while window.bytes == Some(0) && !window.cancelled {
            let is_full = connection.input.len() > settings.receive_window as usize;
            let rest = deadline.saturating_duration_since(Instant::now());
            if is_full || rest.is_zero() {
                let message = "the client does not request the rest of its rows";
                return Err(io::Error::new(io::ErrorKind::TimedOut, message).into());
            }
            connection.transport.wait(true, false, rest)?;
            self.update_window(connection, id, window)?;
        }
        Ok(if window.cancelled { Err(cancelled()) } else { Ok(()) })
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
