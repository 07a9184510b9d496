//! Iterators over rows. They read a cursor in chunks, so that memory stays constant.

use crate::handle::{LendSession, SessionSource};
use crate::on_request::with_places;
use bobak_core::codec::EncodedRow;
use bobak_core::statements::CallSite;
use bobak_core::{Cursor, FieldSet, Record, Result, RowBuffer, Session, Source};
use std::marker::PhantomData;

/// An iterator over records, `Result<T>`, in constant memory. It sees the records as of its creation, whatever is
/// written meanwhile.
///
/// ```
/// # use bobak::prelude::*;
/// # #[derive(Record)] struct Item { id: i64, name: String }
/// # let db = Db::builder().record::<Item>().open("memory:")?;
/// # db.create_missing_tables()?;
/// # let items = db.table::<Item>()?;
/// # items.insert(&Item { id: 0, name: "seed".into() })?;
/// for item in items.iter(Query::all())? {
///     println!("{}", item?.name);
/// }
/// // Reusing one record avoids an allocation per row once its strings have grown.
/// let mut item = Item { id: 0, name: String::new() };
/// let mut rows = items.iter(Query::all())?;
/// while rows.read_into(&mut item)? {
///     println!("{}", item.name);
/// }
/// # Ok::<(), Error>(())
/// ```
pub struct Rows<'a, T> {
    cursor: RowCursor<'a>,
    left_out: FieldSet,
    record: PhantomData<fn() -> T>,
}

impl<'a, T: Record> Rows<'a, T> {
    pub(crate) const fn new(cursor: RowCursor<'a>, left_out: FieldSet) -> Self {
        Self { cursor, left_out, record: PhantomData }
    }

    /// Reads the next record into `record`, reusing its memory; returns `false` after the last one.
    ///
    /// # Errors
    /// Those of the engine; `Mismatch` and `OutOfRange` if a column does not fit its field.
    pub fn read_into(&mut self, record: &mut T) -> Result<bool> {
        match self.cursor.next_row()? {
            Some(row) => {
                with_places(&row, self.left_out, |row| record.read_from(row)).map(|()| true)
            }
            None => Ok(false),
        }
    }
}

impl<T: Record> Iterator for Rows<'_, T> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Result<T>> {
        match self.cursor.next_row() {
            Ok(Some(row)) => Some(with_places(&row, self.left_out, T::read)),
            Ok(None) => None,
            Err(error) => {
                self.cursor.done = true;
                Some(Err(error))
            }
        }
    }
}

/// The untyped rows of a cursor.
pub(crate) struct RowCursor<'a> {
    session: OperationSession<'a>,
    cursor: Cursor,
    buffer: RowBuffer,
    done: bool,
}

/// The session of an operation that lasts: its own, or that of a transaction.
pub(crate) enum OperationSession<'a> {
    Own(Box<dyn Session + 'a>),
    Transaction(&'a dyn LendSession),
}

impl OperationSession<'_> {
    pub(crate) fn with<R>(&self, run: impl FnOnce(&dyn Session) -> Result<R>) -> Result<R> {
        match self {
            Self::Own(session) => run(&**session),
            Self::Transaction(session) => session.with(run),
        }
    }
}

impl<'a> RowCursor<'a> {
    #[track_caller]
    pub(crate) fn open(sessions: &'a SessionSource<'_>, source: &Source<'_>) -> Result<Self> {
        let _at = CallSite::enter();
        let session = match sessions {
            SessionSource::Engine(handle) => OperationSession::Own(handle.engine()?.session()?),
            SessionSource::Transaction(session) => OperationSession::Transaction(*session),
        };
        let cursor = session.with(|session| session.open(source))?;
        Ok(Self { session, cursor, buffer: RowBuffer::default(), done: false })
    }

    /// Whether the next row is in a chunk that was not fetched yet.
    #[cfg(feature = "async")]
    pub(crate) fn is_between_chunks(&self) -> bool {
        self.buffer.is_drained()
    }

    pub(crate) fn next_row(&mut self) -> Result<Option<EncodedRow<'_>>> {
        if !self.done && self.buffer.is_drained() {
            let (cursor, buffer) = (&mut self.cursor, &mut self.buffer);
            self.session.with(|session| session.fetch(cursor, buffer))?;
            self.done = self.buffer.rows() == 0;
        }
        self.buffer.next_row()
    }
}

impl Drop for RowCursor<'_> {
    fn drop(&mut self) {
        // If the transaction is busy in a callback, its end closes the cursor.
        let cursor = &mut self.cursor;
        let _ = self.session.with(|session| {
            session.close(cursor);
            Ok(())
        });
    }
}
