//! Fields of bytes, read and written in parts.
//!
//! A value of a hundred megabytes need not be in memory: [`Table::read_blob`] reads it from a file or a server in parts, and
//! [`Table::write_blob`] writes what a reader returns. docs/blobs.md says what each engine does.

use crate::access::TableAccess;
use crate::dynamic::DynTable;
use crate::handle::SessionSource;
use crate::parameters::Parameters;
use crate::rows::OperationSession;
use crate::table::Table;
use bobak_core::statements::CallSite;
use bobak_core::{
    Column, ErrorKind, Field, Key, Record, Result, Session, TableSchema, TransactionControl, Value,
    ValueAddress, ValueRange, ValueState,
};
use std::fmt;
use std::io::{self, BufRead, Read, Seek, SeekFrom};
use std::panic::Location;
use std::sync::Arc;

/// How many bytes of a value are read at once.
const PART: usize = 1 << 20;

/// A field that is stored as bytes, and can be read and written in parts: `Vec<u8>` and `Option<Vec<u8>>`.
pub trait BytesField: Field {}

impl BytesField for Vec<u8> {}

impl BytesField for Option<Vec<u8>> {}

impl<T: Record> Table<'_, T> {
    /// Opens a field of bytes of the record with this key for reading in parts; `None` if there is no such record, or if the
    /// field is NULL.
    ///
    /// ```
    /// use bobak::prelude::*;
    /// use std::io::{Read, Seek, SeekFrom};
    ///
    /// #[derive(Record)]
    /// struct Photo {
    ///     id: i64,
    ///     name: String,
    ///     data: Vec<u8>,
    /// }
    ///
    /// let db = Db::builder().record::<Photo>().open("sqlite::memory:")?;
    /// db.create_missing_tables()?;
    /// let photos = db.table::<Photo>()?;
    /// let id = photos.insert(&Photo { id: 0, name: "sea".into(), data: Vec::new() })?;
    ///
    /// // From a file, for example: `File::open(path)?`, and its length.
    /// photos.write_blob(id, Photo::DATA, 12, &b"twelve bytes"[..])?;
    ///
    /// let mut data = photos.read_blob(id, Photo::DATA)?.expect("the photo is there");
    /// assert_eq!(data.len(), 12);
    /// data.seek(SeekFrom::End(-5))?;
    /// let mut end = String::new();
    /// data.read_to_string(&mut end)?;
    /// assert_eq!(end, "bytes");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// In a transaction it reads what the transaction sees, and borrows it. Outside of one it sees one state of the record if
    /// the engine has snapshots. Otherwise, as in memory and through a server, each part is a read of its own: if the length
    /// of the value has changed, or the [version](bobak_core::ColumnRole::Version) of the record, the next read fails with
    /// `Conflict`. A record without a version field may be changed unnoticed.
    ///
    /// # Errors
    /// Those of the engine.
    #[track_caller]
    pub fn read_blob<V: BytesField>(
        &self,
        key: impl Into<T::Key>,
        column: Column<T, V>,
    ) -> Result<Option<BlobReader<'_>>> {
        let place = Location::caller();
        let open = |key: &[Value<'_>]| BlobReader::open(&self.access, key, column.index(), place);
        key.into().with_values(open)
    }

    /// Replaces a field of bytes of the record with this key by the `length` bytes that a reader returns; returns `false` if
    /// there is no such record. The modification time is set and the version incremented.
    ///
    /// The value is written as a whole or not at all: if the reader fails, or returns fewer or more bytes, it stays as it
    /// was. SQLite and a server get it in parts, while it is read. Other engines get it at once, and so does SQLite if
    /// triggers, checks or rules look at the field: then it is in memory.
    ///
    /// # Errors
    /// `Misuse` if the reader returns fewer or more bytes; [`Error::io`](crate::Error::io) for its errors; as [`set`](Table::set) and
    /// [`read_blob`](Table::read_blob).
    #[track_caller]
    pub fn write_blob<V: BytesField>(
        &self,
        key: impl Into<T::Key>,
        column: Column<T, V>,
        length: u64,
        source: impl Read,
    ) -> Result<bool> {
        let _at = CallSite::enter();
        key.into().with_values(|key| write(&self.access, key, column.index(), length, source))
    }
}

impl DynTable<'_> {
    /// As [`Table::read_blob`].
    ///
    /// # Errors
    /// As there; `Schema` for an unknown column.
    #[track_caller]
    pub fn read_blob(&self, key: impl Parameters, column: &str) -> Result<Option<BlobReader<'_>>> {
        let (key, column) = (self.accept_key(key)?, self.access.schema.column(column)?);
        BlobReader::open(&self.access, &key, column, Location::caller())
    }

    /// As [`Table::write_blob`].
    ///
    /// # Errors
    /// As there; `Schema` for an unknown column.
    #[track_caller]
    pub fn write_blob(
        &self,
        key: impl Parameters,
        column: &str,
        length: u64,
        source: impl Read,
    ) -> Result<bool> {
        let (key, column) = (self.accept_key(key)?, self.access.schema.column(column)?);
        let _at = CallSite::enter();
        write(&self.access, &key, column, length, source)
    }
}

fn write(
    access: &TableAccess<'_>,
    key: &[Value<'_>],
    column: usize,
    length: u64,
    mut source: impl Read,
) -> Result<bool> {
    let value = ValueAddress { table: &access.schema, key, column };
    value.check_written()?;
    let write = |session: &dyn Session| session.write_value(&value, length, &mut source);
    access.source.with(write).map_err(|error| access.in_table(error))
}

/// A field of bytes that is read in parts: see [`Table::read_blob`].
///
/// Its methods return [`io::Error`]s with an [`Error`](crate::Error) inside: `error.downcast::<bobak::Error>()` returns it.
pub struct BlobReader<'a> {
    session: OperationSession<'a>,
    table: Arc<TableSchema>,
    key: Vec<Value<'static>>,
    column: usize,
    /// As it was when the reader was opened.
    state: ValueState,
    length: u64,
    position: u64,
    /// The bytes from this position on that were read.
    part: (u64, Vec<u8>),
    /// The most bytes that are read at once.
    limit: usize,
    /// Where the program opened it.
    place: &'static Location<'static>,
}

impl<'a> BlobReader<'a> {
    fn open(
        access: &'a TableAccess<'_>,
        key: &[Value<'_>],
        column: usize,
        place: &'static Location<'static>,
    ) -> Result<Option<Self>> {
        let _at = CallSite::enter_at(place);
        ValueAddress { table: &access.schema, key, column }.check()?;
        let (session, limit) = match &access.source {
            SessionSource::Engine(handle) => {
                let engine = handle.engine()?;
                let capabilities = engine.capabilities();
                let session = engine.session()?;
                if capabilities.value_parts && !capabilities.served {
                    begin(&*session, capabilities.concurrent_writers)?;
                }
                // An engine that has the whole value in memory reads it once.
                let limit = if capabilities.value_parts { PART } else { usize::MAX };
                (OperationSession::Own(session), limit)
            }
            SessionSource::Transaction(session) => (OperationSession::Transaction(*session), PART),
        };
        let mut reader = Self {
            session,
            table: Arc::clone(&access.schema),
            key: key.iter().map(|value| value.clone().into_owned()).collect(),
            column,
            state: ValueState::default(),
            length: 0,
            position: 0,
            part: (0, Vec::new()),
            limit,
            place,
        };
        let state = reader.read_part().map_err(|error| access.in_table(error))?;
        let Some(length) = state.and_then(|state| state.length) else { return Ok(None) };
        reader.length = length;
        reader.state = state.unwrap_or_default();
        Ok(Some(reader))
    }

    /// The number of bytes of the value.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.length
    }

    /// Whether the value has no bytes.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Reads the part at the position.
    fn read_part(&mut self) -> Result<Option<ValueState>> {
        let _at = CallSite::enter_at(self.place);
        let Self { session, table, key, column, position, part, limit, .. } = self;
        let value = ValueAddress { table, key, column: *column };
        let range = ValueRange { offset: *position, limit: *limit };
        part.0 = *position;
        part.1.clear();
        session.with(|session| session.read_part(&value, range, &mut part.1))
    }

    fn next_part(&mut self) -> Result<()> {
        let state = self.read_part()?;
        if state == Some(self.state) && !self.part.1.is_empty() {
            return Ok(());
        }
        self.part.1.clear();
        let value = ValueAddress { table: &self.table, key: &self.key, column: self.column };
        let message = match state {
            None => "the row was deleted while its value was read",
            Some(_) => "the row was changed while its value was read: open the value again",
        };
        Err(value.error(ErrorKind::Conflict, message))
    }

    /// Where the next byte is in the part that was read; `None` if it is not there.
    fn place(&self) -> Option<usize> {
        let place = usize::try_from(self.position.checked_sub(self.part.0)?).ok()?;
        (place < self.part.1.len()).then_some(place)
    }
}

/// Begins a transaction that sees one state, if that blocks no writer.
fn begin(session: &dyn Session, concurrent_writers: bool) -> Result<()> {
    match session.begin_reading() {
        Err(error) if error.kind() == ErrorKind::Unsupported && concurrent_writers => {
            session.control(TransactionControl::Begin)
        }
        Err(error) if error.kind() == ErrorKind::Unsupported => Ok(()),
        begun => begun,
    }
}

impl BufRead for BlobReader<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.position >= self.length {
            return Ok(&[]);
        }
        if self.place().is_none() {
            self.next_part().map_err(io::Error::other)?;
        }
        let place = self.place().unwrap_or_default();
        Ok(self.part.1.get(place..).unwrap_or_default())
    }

    fn consume(&mut self, count: usize) {
        self.position += count as u64;
    }
}

impl Read for BlobReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut ready = self.fill_buf()?;
        let count = ready.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}

impl Seek for BlobReader<'_> {
    /// A position after the end is allowed: there are no bytes to read.
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::End(offset) => self.length.checked_add_signed(offset),
            SeekFrom::Current(offset) => self.position.checked_add_signed(offset),
        };
        let before = || io::Error::new(io::ErrorKind::InvalidInput, "a position before the value");
        self.position = position.ok_or_else(before)?;
        Ok(self.position)
    }
}

impl fmt::Debug for BlobReader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("BlobReader");
        debug.field("table", &self.table.name()).field("length", &self.length);
        debug.field("position", &self.position).finish_non_exhaustive()
    }
}
