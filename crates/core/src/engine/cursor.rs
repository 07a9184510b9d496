//! Cursors: results that a caller fetches in parts.

use crate::codec::EncodedRow;
use crate::statements::CursorProgress;
use crate::{Error, ErrorKind, Result, ResultColumn, RowBuffer};
use std::sync::Arc;

/// How many bytes of rows [`Session::fetch`](crate::Session::fetch) returns, approximately.
const FETCH_BYTES: usize = 64 * 1024;

/// An open cursor. [`Session::open`](crate::Session::open) returns it;
/// [`Session::fetch`](crate::Session::fetch) and [`Session::close`](crate::Session::close) of the
/// same session take it.
///
/// The rows are either in the session, under a [`CursorId`], or in the cursor itself: so an engine
/// without cursors of its own needs no code for them.
#[derive(Debug)]
pub struct Cursor {
    /// The result's columns.
    pub columns: Arc<Vec<ResultColumn>>,
    rows: CursorRows,
    /// What its statement has done so far, if that is monitored.
    progress: Option<CursorProgress>,
}

#[derive(Debug)]
enum CursorRows {
    InSession(CursorId),
    Buffered(RowBuffer),
    Closed,
}

/// The number of a cursor that its session keeps. Unique within the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CursorId(pub u64);

impl Cursor {
    /// A cursor whose rows the session keeps under this number.
    #[must_use]
    pub const fn new(id: CursorId, columns: Arc<Vec<ResultColumn>>) -> Self {
        Self { columns, rows: CursorRows::InSession(id), progress: None }
    }

    /// A cursor that contains all of its rows.
    #[must_use]
    pub const fn buffered(columns: Arc<Vec<ResultColumn>>, rows: RowBuffer) -> Self {
        Self { columns, rows: CursorRows::Buffered(rows), progress: None }
    }

    /// The number under which the session keeps the rows.
    ///
    /// # Errors
    /// `Misuse` if the cursor is closed or contains its rows.
    pub fn id(&self) -> Result<CursorId> {
        match self.rows {
            CursorRows::InSession(id) => Ok(id),
            _ => Err(Self::not_open()),
        }
    }

    /// The error of a cursor that is not open in its session.
    #[must_use]
    #[cold]
    pub fn not_open() -> Error {
        Error::new(ErrorKind::Misuse, "the cursor is not open")
    }

    /// Moves the next part of the rows that the cursor contains to `part`, which is cleared first.
    ///
    /// # Errors
    /// `Misuse` if the cursor is closed or its rows are in the session.
    pub fn next_part(&mut self, part: &mut RowBuffer) -> Result<()> {
        part.clear();
        let CursorRows::Buffered(rows) = &mut self.rows else {
            return Err(Self::not_open());
        };
        while part.bytes() < FETCH_BYTES
            && let Some(row) = rows.next_row()?
        {
            part.push_encoded(EncodedRow::new(row.as_bytes()));
        }
        Ok(())
    }

    pub(crate) fn with_progress(mut self, progress: CursorProgress) -> Self {
        self.progress = Some(progress);
        self
    }

    pub(crate) const fn progress(&mut self) -> Option<&mut CursorProgress> {
        self.progress.as_mut()
    }

    /// Drops the rows that the cursor contains. Does nothing if they are in the session.
    pub fn close(&mut self) {
        if matches!(self.rows, CursorRows::Buffered(_)) {
            self.rows = CursorRows::Closed;
        }
    }
}
