//! The format of a file: a header, then frames. All integers are little-endian.
//!
//! Header, 24 bytes: `BOBAKCHG`, the version (4 bytes), the number of the change before the first one (8), and the CRC-32 of
//! these 20 bytes.
//!
//! A frame: the length of its content (4 bytes), the CRC-32 of the content (4), and the content: rows of the row codec, each
//! with the codec's own length. The first row tells the kind of the frame:
//!
//! * a *table*: 1, the table's number in this file, its name, its columns' names;
//! * a *page*: 2, the number of its last change, how many changes follow, how many transaction boundaries it has, and for each
//!   of these its number and the time of reading in microseconds since 1970; then for each change a row: the number of its
//!   table, its own number, the time, the actor or NULL, the verb (1 inserted, 2 updated, 3 deleted), and for each column of
//!   the table the value before and the value after;
//! * *layouts*: 3, the moment up to which the layouts named before were in force, in microseconds since 1970, and for each
//!   layout of a tracked table its name, the number of the last change before it, and its columns;
//! * a *stop*: 4, that moment, the name of a table, and why changes after this could not be archived;
//! * a part of a *creation*, of a table that was tracked while the archive ran: 5, the number of the last change when its
//!   rows were read, its name, and the part. 0 is what creates it: SQL statements, or one JSON object. 1 is rows, each
//!   with the values of its columns. 2 is the end: the largest key that a table which never reuses keys has made, or NULL,
//!   and the SQL of its triggers.
//!
//! A page of an earlier version ends its first row with the number of changes: it has no transaction boundaries.

use bobak_changes::{Change, TableLayout, TransactionBoundary};
use bobak_core::change_log::LOG_COLUMNS;
use bobak_core::codec::{EncodedRow, encode_slice, split_first};
use bobak_core::{
    Error, ErrorKind, Field, Result, ResultColumn, Row, TableSchema, Timestamp, Value, ValueRef,
};
use std::sync::Arc;

const MAGIC: &[u8; 8] = b"BOBAKCHG";
const VERSION: u32 = 1;
/// The length of a header, in bytes.
pub(crate) const HEAD: usize = 24;
/// The length of a frame's header, in bytes.
pub(crate) const FRAME: usize = 8;

const TABLE: i64 = 1;
const PAGE: i64 = 2;
const LAYOUTS: i64 = 3;
const STOP: i64 = 4;
const CREATION: i64 = 5;
const BEGIN: i64 = 0;
const ROWS: i64 = 1;
const END: i64 = 2;
/// How many values a page's first row has before its boundaries.
const HEAD_VALUES: usize = 3;

/// The content of a frame.
pub(crate) enum Frame<'a> {
    Table(ArchivedTable),
    Page(ArchivePage<'a>),
    Layouts(ArchivedLayouts),
    Stop(ArchiveStop),
    Creation(ArchivedCreation<'a>),
}

/// A part of a table that was tracked while the archive ran, so that a restore of an earlier backup can create it. It was
/// tracked after the change before this frame.
pub(crate) struct ArchivedCreation<'a> {
    pub table: String,
    /// Its rows are those after this change.
    pub rows_at: u64,
    pub part: CreationPart<'a>,
}

pub(crate) enum CreationPart<'a> {
    /// What creates it: SQL statements, or one JSON object. An interrupted archiver may have begun before.
    Begin(Vec<String>),
    Rows(Vec<EncodedRow<'a>>),
    End {
        last_key: Option<i64>,
        triggers: Vec<String>,
    },
}

/// The layouts of all tracked tables from here on.
pub(crate) struct ArchivedLayouts {
    /// Those named before were in force at least until this moment, in microseconds.
    pub checked: i64,
    pub layouts: Vec<TableLayout>,
}

/// The end of an archive that can't be continued: changes after it may be incomplete.
#[derive(Clone, Debug)]
pub(crate) struct ArchiveStop {
    /// Changes made up to this moment, in microseconds, are complete.
    pub checked: i64,
    /// The table; empty if it is not about one.
    pub table: String,
    pub reason: String,
}

/// A page of changes.
pub(crate) struct ArchivePage<'a> {
    /// The number of its last change.
    pub next: u64,
    /// In ascending order; `None` if an earlier version wrote the page, so that any change may be a boundary.
    pub boundaries: Option<Vec<TransactionBoundary>>,
    pub changes: Vec<EncodedRow<'a>>,
}

/// A table of a file.
#[derive(Clone, Debug)]
pub(crate) struct ArchivedTable {
    pub number: i64,
    pub name: String,
    pub columns: Vec<String>,
}

/// A change of a file.
pub(crate) struct LoggedChange<'a> {
    pub table: i64,
    pub id: u64,
    pub at: i64,
    row: EncodedRow<'a>,
}

pub(crate) fn head(from: u64) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    let parts = [&MAGIC[..], &VERSION.to_le_bytes(), &from.to_le_bytes()].concat();
    let sum = crc32fast::hash(&parts).to_le_bytes();
    let all = parts.iter().chain(&sum);
    head.iter_mut().zip(all).for_each(|(position, byte)| *position = *byte);
    head
}

/// The number of the change before the first one.
///
/// # Errors
/// `Corrupt` if the bytes are no header, `Unsupported` for a newer version.
pub(crate) fn read_head(head: &[u8; HEAD]) -> Result<u64> {
    let (parts, sum) = head.split_at(HEAD - 4);
    let integer = |position: usize| parts.get(position..).and_then(<[u8]>::first_chunk).copied();
    if !parts.starts_with(MAGIC) {
        return Err(damaged("it is not a file of changes"));
    }
    let version = u32::from_le_bytes(integer(8).unwrap_or_default());
    if version > VERSION {
        let message =
            format!("it has version {version} of the format; this program knows {VERSION}");
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    if crc32fast::hash(parts).to_le_bytes() != sum {
        return Err(damaged("the checksum of its header is wrong"));
    }
    let from = parts.get(12..).and_then(<[u8]>::first_chunk).copied();
    Ok(u64::from_le_bytes(from.unwrap_or_default()))
}

/// Appends a frame that names a table.
pub(crate) fn put_table(out: &mut Vec<u8>, number: i64, table: &TableSchema) -> Result<()> {
    put(out, |content| {
        let mut row = vec![Value::Int(TABLE), Value::Int(number), Value::from(table.name())];
        row.extend(table.columns().iter().map(|column| Value::from(&*column.name)));
        encode_slice(content, &row)
    })
}

/// Appends a frame with changes, each with its table's number, and the transaction boundaries among them.
pub(crate) fn put_page(
    out: &mut Vec<u8>,
    next: u64,
    boundaries: &[TransactionBoundary],
    changes: &[(i64, &Change)],
) -> Result<()> {
    put(out, |content| {
        let count = |length| Value::Int(i64::try_from(length).unwrap_or(i64::MAX));
        let mut head = vec![Value::Int(PAGE), number(next), count(changes.len())];
        head.push(count(boundaries.len()));
        for boundary in boundaries {
            head.extend([number(boundary.id), Value::Int(boundary.read.as_microsecond())]);
        }
        encode_slice(content, &head)?;
        changes.iter().try_for_each(|(table, change)| {
            let mut row = vec![Value::Int(*table)];
            row.extend(change.log_values());
            encode_slice(content, &row)
        })
    })
}

/// Appends a frame with the layouts of all tracked tables.
pub(crate) fn put_layouts(out: &mut Vec<u8>, checked: i64, layouts: &[TableLayout]) -> Result<()> {
    put(out, |content| {
        let mut row = vec![Value::Int(LAYOUTS), Value::Int(checked)];
        for TableLayout { table, since, layout } in layouts {
            row.extend([Value::from(&**table), number(*since), Value::from(&**layout)]);
        }
        encode_slice(content, &row)
    })
}

/// Appends a frame that ends the archive.
pub(crate) fn put_stop(out: &mut Vec<u8>, stop: &ArchiveStop) -> Result<()> {
    put(out, |content| {
        let texts = [Value::from(&*stop.table), Value::from(&*stop.reason)];
        let [table, reason] = texts;
        encode_slice(content, &[Value::Int(STOP), Value::Int(stop.checked), table, reason])
    })
}

/// Appends a part of a table's creation; `rows` are encoded.
pub(crate) fn put_creation(
    out: &mut Vec<u8>,
    table: &str,
    rows_at: u64,
    part: &CreationPart<'_>,
    rows: &[u8],
) -> Result<()> {
    let (kind, last_key, texts) = match part {
        CreationPart::Begin(texts) => (BEGIN, None, &texts[..]),
        CreationPart::Rows(_) => (ROWS, None, &[][..]),
        CreationPart::End { last_key, triggers } => (END, *last_key, &triggers[..]),
    };
    put(out, |content| {
        let (kind, key) = (Value::Int(kind), last_key.map_or(Value::Null, Value::Int));
        let mut row = vec![Value::Int(CREATION), number(rows_at), Value::from(table), kind, key];
        row.extend(texts.iter().map(|text| Value::from(&**text)));
        encode_slice(content, &row)?;
        content.extend_from_slice(rows);
        Ok(())
    })
}

fn put(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
    let mut content = Vec::new();
    write(&mut content)?;
    let length = u32::try_from(content.len()).map_err(|_| {
        Error::new(ErrorKind::OutOfRange, "changes of 4 GiB together can't be written at once")
    })?;
    out.extend(length.to_le_bytes());
    out.extend(crc32fast::hash(&content).to_le_bytes());
    out.extend(content);
    Ok(())
}

/// The length of a frame's content and its checksum.
pub(crate) fn read_frame(head: &[u8; FRAME]) -> (usize, u32) {
    let [a, b, c, d, e, f, g, h] = *head;
    (u32::from_le_bytes([a, b, c, d]) as usize, u32::from_le_bytes([e, f, g, h]))
}

/// Whether the bytes begin with a complete frame whose changes come after the one with this number.
pub(crate) fn is_frame(bytes: &[u8], position: u64) -> bool {
    let Some((head, rest)) = bytes.split_first_chunk::<FRAME>() else { return false };
    let (length, sum) = read_frame(head);
    let Some(content) = rest.get(..length) else { return false };
    // Called for every byte of a damaged file: bytes that are no frame must be rejected without a checksum.
    let first = || EncodedRow::check(split_first(content)?.0.as_bytes());
    let begins = |row: EncodedRow<'_>| matches!(integer(&row, 0), Ok(TABLE..=CREATION));
    if !first().is_ok_and(begins) || crc32fast::hash(content) != sum {
        return false;
    }
    match read(content) {
        Ok(Frame::Page(page)) => page.next > position,
        Ok(_) => true,
        Err(_) => false,
    }
}

/// Reads a frame's content, whose checksum is right.
///
/// # Errors
/// `Corrupt` if the content is malformed.
pub(crate) fn read(content: &[u8]) -> Result<Frame<'_>> {
    let (row, used) = split_first(content)?;
    let row = EncodedRow::check(row.as_bytes())?;
    let rest = content.get(used..).unwrap_or_default();
    match integer(&row, 0)? {
        TABLE => {
            let columns =
                (3..row.len()).map(|position| text(&row, position)).collect::<Result<_>>()?;
            Ok(Frame::Table(ArchivedTable {
                number: integer(&row, 1)?,
                name: text(&row, 2)?,
                columns,
            }))
        }
        PAGE => {
            let changes = rows(rest)?;
            if usize::try_from(integer(&row, 2)?).ok() != Some(changes.len()) {
                return Err(damaged("a page does not have the number of changes that it states"));
            }
            let (next, boundaries) = (integer(&row, 1)?.unsigned_abs(), boundaries(&row)?);
            Ok(Frame::Page(ArchivePage { next, boundaries, changes }))
        }
        LAYOUTS => {
            let mut layouts = Vec::new();
            for position in (2..row.len()).step_by(3) {
                layouts.push(TableLayout {
                    table: text(&row, position)?,
                    since: integer(&row, position + 1)?.unsigned_abs(),
                    layout: text(&row, position + 2)?,
                });
            }
            Ok(Frame::Layouts(ArchivedLayouts { checked: integer(&row, 1)?, layouts }))
        }
        STOP => {
            let (table, reason) = (text(&row, 2)?, text(&row, 3)?);
            Ok(Frame::Stop(ArchiveStop { checked: integer(&row, 1)?, table, reason }))
        }
        CREATION => creation(&row, rest).map(Frame::Creation),
        other => Err(damaged(&format!("a frame is of kind {other}; known are 1 to 5"))),
    }
}

/// The rows behind a frame's first one.
fn rows(mut rest: &[u8]) -> Result<Vec<EncodedRow<'_>>> {
    let mut rows = Vec::new();
    while !rest.is_empty() {
        let (row, used) = split_first(rest)?;
        rows.push(EncodedRow::check(row.as_bytes())?);
        rest = rest.get(used..).unwrap_or_default();
    }
    Ok(rows)
}

fn creation<'a>(row: &EncodedRow<'_>, rest: &'a [u8]) -> Result<ArchivedCreation<'a>> {
    let texts = || (5..row.len()).map(|position| text(row, position)).collect::<Result<_>>();
    let part = match integer(row, 3)? {
        BEGIN => CreationPart::Begin(texts()?),
        ROWS => CreationPart::Rows(rows(rest)?),
        END => CreationPart::End { last_key: integer(row, 4).ok(), triggers: texts()? },
        _ => return Err(damaged("a part of a table is of an unknown kind")),
    };
    let (table, rows_at) = (text(row, 2)?, integer(row, 1)?.unsigned_abs());
    Ok(ArchivedCreation { table, rows_at, part })
}

/// The boundaries in a page's first row.
fn boundaries(row: &EncodedRow<'_>) -> Result<Option<Vec<TransactionBoundary>>> {
    if row.len() <= HEAD_VALUES {
        return Ok(None);
    }
    let count = usize::try_from(integer(row, HEAD_VALUES)?).ok();
    if count.and_then(|count| (HEAD_VALUES + 1).checked_add(count.checked_mul(2)?))
        != Some(row.len())
    {
        return Err(damaged("a page does not have the number of boundaries that it states"));
    }
    let mut boundaries: Vec<TransactionBoundary> = Vec::new();
    for position in (HEAD_VALUES + 1..row.len()).step_by(2) {
        let id = integer(row, position)?.unsigned_abs();
        if boundaries.last().is_some_and(|last| last.id >= id)
            || id > integer(row, 1)?.unsigned_abs()
        {
            return Err(damaged("a page has a boundary that is not among its changes"));
        }
        let read = Timestamp::from_value(row.value(position + 1));
        let read = read.map_err(|_| damaged("a boundary has no valid time"))?;
        boundaries.push(TransactionBoundary { id, read });
    }
    Ok(Some(boundaries))
}

impl<'a> LoggedChange<'a> {
    pub fn of(row: EncodedRow<'a>) -> Result<Self> {
        let (id, at) = (integer(&row, 1)?.unsigned_abs(), integer(&row, 2)?);
        // Also of a change that a replay does not reach: what checks as damaged must not be replayed.
        Timestamp::from_value(ValueRef::Int(at)).map_err(|_| damaged("a change has no time"))?;
        Ok(Self { table: integer(&row, 0)?, id, at, row })
    }

    /// The change, of a table whose columns have the names at these places of the file's `named` ones. `None` if the row
    /// has a value in another column.
    pub fn change(
        &self,
        table: &Arc<TableSchema>,
        columns: &Arc<Vec<ResultColumn>>,
        named: usize,
        places: &[usize],
    ) -> Result<Option<Change>> {
        let image = 1 + LOG_COLUMNS;
        if self.row.len() != image + 2 * named {
            return Err(damaged("a change does not have the number of values of its table"));
        }
        let is_set = |place: usize| {
            let values = [image + 2 * place, image + 2 * place + 1];
            values.into_iter().any(|place| !matches!(self.row.value(place), ValueRef::Null))
        };
        if (0..named).any(|place| !places.contains(&place) && is_set(place)) {
            return Ok(None);
        }
        Change::from_log(table, columns, &LoggedRow { row: &self.row, places }).map(Some)
    }
}

/// A row of a change as its table's log has it.
struct LoggedRow<'a> {
    row: &'a EncodedRow<'a>,
    places: &'a [usize],
}

impl Row for LoggedRow<'_> {
    fn len(&self) -> usize {
        LOG_COLUMNS + 2 * self.places.len()
    }

    fn get(&self, column: usize) -> ValueRef<'_> {
        // The first value is the number of the table.
        let Some(image) = column.checked_sub(LOG_COLUMNS) else {
            return self.row.value(column + 1);
        };
        let place = self.places.get(image / 2);
        place
            .map_or(ValueRef::Null, |place| self.row.value(1 + LOG_COLUMNS + 2 * place + image % 2))
    }
}

fn integer(row: &EncodedRow<'_>, position: usize) -> Result<i64> {
    match row.value(position) {
        ValueRef::Int(integer) => Ok(integer),
        _ => Err(damaged("a number is missing")),
    }
}

fn text(row: &EncodedRow<'_>, position: usize) -> Result<String> {
    match row.value(position) {
        ValueRef::Text(text) => Ok(text.to_owned()),
        _ => Err(damaged("a name is missing")),
    }
}

fn number(number: u64) -> Value<'static> {
    Value::Int(i64::try_from(number).unwrap_or(i64::MAX))
}

#[cold]
pub(crate) fn damaged(what: &str) -> Error {
    Error::new(ErrorKind::Corrupt, format!("the file of changes is damaged: {what}"))
}
