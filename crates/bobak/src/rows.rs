//! Iterators over rows: a cursor, read a part at a time, so that memory stays constant.

use crate::access::{Handle, Lend};
use bobak_core::codec::EncodedRow;
use bobak_core::{Cursor, Record, Result, RowBuffer, Session, Source};
use std::marker::PhantomData;
use std::sync::Arc;

/// Records one after the other: an iterator of `Result<T>`, in constant memory. The records are
/// those of the moment when it was made, whatever is written meanwhile.
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
/// // One record, filled again and again: no allocation per row once its texts have grown.
/// let mut item = Item { id: 0, name: String::new() };
/// let mut rows = items.iter(Query::all())?;
/// while rows.read_into(&mut item)? {
///     println!("{}", item.name);
/// }
/// # Ok::<(), Error>(())
/// ```
pub struct Rows<'a, T> {
    lines: Lines<'a>,
    record: PhantomData<fn() -> T>,
}

impl<'a, T: Record> Rows<'a, T> {
    pub(crate) const fn new(lines: Lines<'a>) -> Self {
        Self { lines, record: PhantomData }
    }

    /// Reads the next record into `record`, reusing its memory; `false` after the last.
    ///
    /// # Errors
    /// Those of the engine; `Mismatch` and `OutOfRange` where a column does not fit its field.
    pub fn read_into(&mut self, record: &mut T) -> Result<bool> {
        match self.lines.next_row()? {
            Some(row) => record.read_from(&row).map(|()| true),
            None => Ok(false),
        }
    }
}

impl<T: Record> Iterator for Rows<'_, T> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Result<T>> {
        match self.lines.next_row() {
            Ok(Some(row)) => Some(T::read(&row)),
            Ok(None) => None,
            Err(error) => {
                self.lines.done = true;
                Some(Err(error))
            }
        }
    }
}

/// The rows of a cursor, untyped.
pub(crate) struct Lines<'a> {
    session: Lease<'a>,
    cursor: Cursor,
    buffer: RowBuffer,
    done: bool,
}

enum Lease<'a> {
    Own(Box<dyn Session + 'a>),
    Transaction(&'a dyn Lend),
}

impl Lease<'_> {
    fn with<R>(&self, run: impl FnOnce(&dyn Session) -> Result<R>) -> Result<R> {
        match self {
            Self::Own(session) => run(&**session),
            Self::Transaction(session) => session.with(run),
        }
    }
}

impl<'a> Lines<'a> {
    pub(crate) fn open(handle: &'a Handle<'_>, source: &Source<'_>) -> Result<Self> {
        let session = match handle {
            Handle::Engine(engine) => Lease::Own(engine.session()?),
            Handle::Transaction(session) => Lease::Transaction(*session),
        };
        let cursor = session.with(|session| session.open(source))?;
        Ok(Self { session, cursor, buffer: RowBuffer::default(), done: false })
    }

    pub(crate) fn names(&self) -> &Arc<Vec<String>> {
        &self.cursor.columns
    }

    /// Whether the next row comes with a part that is still to be fetched.
    #[cfg(feature = "async")]
    pub(crate) fn is_between_parts(&self) -> bool {
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

impl Drop for Lines<'_> {
    fn drop(&mut self) {
        // Where the transaction is busy, in a callback, its end closes the cursor.
        let cursor = &mut self.cursor;
        let _ = self.session.with(|session| {
            session.close(cursor);
            Ok(())
        });
    }
}
