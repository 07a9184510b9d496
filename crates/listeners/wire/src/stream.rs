//! Queries whose rows are sent as they come, no faster than the client takes them.
//!
//! They run over a cursor: between two parts the engine is free for others, however slowly the
//! client reads.

use crate::connection::{Connection, FULL, Gone};
use crate::serve::{Serving, cancelled};
use bobak_core::{Cursor, Error, Result};
use bobak_wire::{OwnedSource, encode_response};
use std::io;
use std::mem::swap;
use std::time::Instant;

/// What a client lets a query send.
struct Allowance {
    /// `None` where there is no end to it.
    bytes: Option<u64>,
    cancelled: bool,
}

impl Serving<'_> {
    /// Sends the rows of a query.
    pub fn stream(
        &mut self,
        connection: &mut Connection,
        id: u32,
        (window, columns): (u32, bool),
        asked: &OwnedSource,
    ) -> Result<(), Gone> {
        let session = self.session;
        let mut cursor = match self.over(connection, id, || session.open(&asked.as_source())) {
            Ok(cursor) => cursor,
            Err(error) => {
                self.refuse(connection, id, &error);
                return Ok(());
            }
        };
        if columns {
            let named = (asked, cursor.columns.as_slice());
            encode_response::columns(&mut connection.output, id, true, 0, named)?;
        }
        let sent = self.send_rows(connection, id, window, &mut cursor);
        self.session.close(&mut cursor);
        match sent {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => {
                self.refuse(connection, id, &error);
                Ok(())
            }
            Err(gone) => Err(gone),
        }
    }

    /// Runs what may take long, and ends it where nobody wants it any more.
    pub fn over<R>(
        &self,
        connection: &mut Connection,
        id: u32,
        work: impl FnOnce() -> Result<R>,
    ) -> Result<R> {
        let line = connection.line(id, self.shared.settings.request_timeout);
        self.shared.watch.over(line, work)
    }

    /// The inner error is the query's, the outer one the connection's.
    fn send_rows(
        &mut self,
        connection: &mut Connection,
        id: u32,
        window: u32,
        cursor: &mut Cursor,
    ) -> Result<Result<()>, Gone> {
        let mut allowance =
            Allowance { bytes: (window > 0).then_some(window.into()), cancelled: false };
        let mut next = std::mem::take(&mut self.rows);
        let session = self.session;
        let fetched = self.over(connection, id, || session.fetch(cursor, &mut next));
        if let Err(error) = fetched {
            return Ok(Err(error));
        }
        loop {
            // The part after this one is fetched first: so the last is known to be the last.
            swap(&mut self.rows, &mut next);
            if self.rows.rows() > 0
                && let Err(error) = self.over(connection, id, || session.fetch(cursor, &mut next))
            {
                return Ok(Err(error));
            }
            let more = self.rows.rows() > 0 && next.rows() > 0;
            encode_response::rows(&mut connection.output, id, more, self.rows.as_bytes())?;
            if !more {
                return Ok(Ok(()));
            }
            self.look(connection, id, &mut allowance)?;
            if let Some(bytes) = &mut allowance.bytes {
                *bytes = bytes.saturating_sub(self.rows.bytes() as u64);
            }
            if let Err(error) = self.go_on(connection, id, &mut allowance)? {
                return Ok(Err(error));
            }
        }
    }

    /// Waits until the client wants more; the inner error is its word that it does not.
    fn go_on(
        &self,
        connection: &mut Connection,
        id: u32,
        allowance: &mut Allowance,
    ) -> Result<Result<(), Error>, Gone> {
        let settings = &self.shared.settings;
        if connection.output.len() >= FULL || allowance.bytes == Some(0) {
            connection.flush(settings)?;
        }
        let deadline = Instant::now() + settings.write_timeout;
        while allowance.bytes == Some(0) && !allowance.cancelled {
            let full = connection.input.len() > settings.limits.window as usize;
            let rest = deadline.saturating_duration_since(Instant::now());
            if full || rest.is_zero() {
                let what = "the client does not ask for the rest of its rows";
                return Err(io::Error::new(io::ErrorKind::TimedOut, what).into());
            }
            connection.transport.wait(true, false, rest)?;
            self.look(connection, id, allowance)?;
        }
        Ok(if allowance.cancelled { Err(cancelled()) } else { Ok(()) })
    }

    /// Hears what the client says meanwhile.
    fn look(
        &self,
        connection: &mut Connection,
        id: u32,
        allowance: &mut Allowance,
    ) -> Result<(), Gone> {
        let said = connection.look_ahead(id, &self.shared.settings.limits)?;
        if let Some(bytes) = &mut allowance.bytes {
            *bytes = bytes.saturating_add(said.credit);
        }
        allowance.cancelled |= said.cancelled;
        Ok(())
    }
}
