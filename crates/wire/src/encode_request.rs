//! Encodes requests, for clients. Each function appends one frame.

use crate::writer::Encode;
use crate::{FrameKind, OtherTables, ResultForm, condition, frame, join, schema, select, value};
use bobak_core::{
    BulkChange, FieldSet, Join, OnError, Parameter, Result, SchemaChange, Select, TableSchema,
    TransactionControl, Value, ValueAddress, ValueRange, ValueRef, Verb, codec,
};

pub(crate) const VERBS: &[Verb] = &[
    Verb::Insert,
    Verb::InsertOrIgnore,
    Verb::InsertOrReplace,
    Verb::Upsert,
    Verb::Update,
    Verb::Delete,
];

/// An upsert on a unique index, whose columns follow.
pub(crate) const UPSERT_ON: u8 = 6;

pub(crate) const COMMIT: u8 = 1;
pub(crate) const ROLLBACK: u8 = 2;
pub(crate) const SAVEPOINT: u8 = 3;
pub(crate) const RELEASE: u8 = 4;
pub(crate) const ROLLBACK_TO: u8 = 5;

pub(crate) const CONTINUE: u8 = 1;

pub(crate) const SELECT: u8 = 0;
pub(crate) const TEXT: u8 = 1;
pub(crate) const STATEMENT: u8 = 2;
pub(crate) const LOCKING_SELECT: u8 = 3;
pub(crate) const SEARCH: u8 = 4;
pub(crate) const NEAREST: u8 = 5;
pub(crate) const JOIN: u8 = 6;

/// A query or a statement, in the form in which requests name it.
#[derive(Clone, Copy, Debug)]
pub enum RequestSource<'a> {
    /// A query over the table with this handle, whose condition may name other tables.
    Select(u32, &'a Select, OtherTables<'a>),
    /// A query over several tables, with the handles of all: only for a server that [takes them](crate::Welcome::joins).
    Join(&'a Join, OtherTables<'a>),
    /// SQL.
    Text(&'a str, &'a [Parameter<'a>]),
    /// The SQL text with this handle.
    Statement(u32, &'a [Parameter<'a>]),
}

/// Assigns a handle to a table.
///
/// # Errors
/// `OutOfRange` for a schema larger than 4 GiB.
pub fn define(out: &mut Vec<u8>, id: u32, handle: u32, table: &TableSchema) -> Result<()> {
    frame::encode(out, FrameKind::Define, false, id, |out| {
        out.encode_u32(handle);
        schema::encode(out, table)
    })
}

/// Assigns a handle to an SQL text.
///
/// # Errors
/// `OutOfRange` for a text larger than 4 GiB.
pub fn prepare(out: &mut Vec<u8>, id: u32, handle: u32, text: &str) -> Result<()> {
    frame::encode(out, FrameKind::Prepare, false, id, |out| {
        out.encode_u32(handle);
        out.encode_text(text)
    })
}

/// Releases the handle of a table, or if `table` is false, of an SQL text.
pub fn forget(out: &mut Vec<u8>, id: u32, table: bool, handle: u32) {
    frame::encode_small(out, FrameKind::Forget, id, |out| {
        out.encode_u8(table.into());
        out.encode_u32(handle);
    });
}

/// Begins, commits or rolls back a transaction, or handles a savepoint.
///
/// # Errors
/// `OutOfRange` for a name larger than 4 GiB.
pub fn control(out: &mut Vec<u8>, id: u32, step: TransactionControl<'_>) -> Result<()> {
    let (number, name) = match step {
        TransactionControl::Begin => (0, None),
        TransactionControl::Commit => (COMMIT, None),
        TransactionControl::Rollback => (ROLLBACK, None),
        TransactionControl::Savepoint(name) => (SAVEPOINT, Some(name)),
        TransactionControl::Release(name) => (RELEASE, Some(name)),
        TransactionControl::RollbackTo(name) => (ROLLBACK_TO, Some(name)),
    };
    frame::encode(out, FrameKind::Control, false, id, |out| {
        out.encode_u8(number);
        name.map_or(Ok(()), |name| out.encode_text(name))
    })
}

/// One row to write.
///
/// # Errors
/// `OutOfRange` for a row that the row codec cannot represent.
#[inline]
pub fn write(
    out: &mut Vec<u8>,
    id: u32,
    handle: u32,
    (table, verb, fields): (&TableSchema, Verb, FieldSet),
    values: &[Value<'_>],
) -> Result<()> {
    frame::encode(out, FrameKind::Write, false, id, |out| {
        out.encode_u32(handle);
        encode_verb(out, table, verb, fields);
        value::encode_row(out, values)
    })
}

/// A verb: of an upsert on a unique index the index's columns follow. Then the columns that it sets.
#[inline]
fn encode_verb(out: &mut Vec<u8>, table: &TableSchema, verb: Verb, fields: FieldSet) {
    if let Verb::UpsertOn(_) = verb {
        out.encode_u8(UPSERT_ON);
        value::encode_fields(out, verb.conflict_columns(table).iter().copied().collect());
    } else {
        out.encode_u8(schema::number_of(VERBS, &verb));
    }
    value::encode_fields(out, fields);
}

/// An update or delete by a condition. `others` are the handles of the tables that the condition names besides its own.
///
/// # Errors
/// `OutOfRange` for a message larger than 4 GiB; `Unsupported` for a condition or change that the protocol cannot express;
/// `Misuse` for a table without a handle.
pub fn change(
    out: &mut Vec<u8>,
    id: u32,
    handle: u32,
    change: &BulkChange<'_>,
    others: OtherTables<'_>,
) -> Result<()> {
    frame::encode(out, FrameKind::Change, false, id, |out| {
        out.encode_u32(handle);
        out.encode_option(change.condition, |out, condition| {
            condition::encode(out, condition, others)
        })?;
        out.encode_option(change.assign, |out, assign| {
            out.encode_position(assign.len())?;
            assign.iter().try_for_each(|assign| condition::encode_assign(out, assign))
        })
    })
}

/// A part of a batch: `fill` appends runs of rows with [`batch_run`]. `more` says that further parts of the
/// same batch follow.
///
/// # Errors
/// Those of `fill`; `OutOfRange` for a part larger than 4 GiB.
pub fn batch(
    out: &mut Vec<u8>,
    id: u32,
    more: bool,
    on_error: OnError,
    fill: impl FnOnce(&mut Vec<u8>) -> Result<()>,
) -> Result<()> {
    frame::encode(out, FrameKind::Batch, more, id, |out| {
        out.encode_u8(if on_error == OnError::Continue { CONTINUE } else { 0 });
        fill(out)
    })
}

/// A run of framed rows in a part of a batch.
///
/// # Errors
/// `OutOfRange` for rows larger than 4 GiB.
pub fn batch_run(
    out: &mut Vec<u8>,
    handle: u32,
    (table, verb, fields): (&TableSchema, Verb, FieldSet),
    rows: &[u8],
) -> Result<()> {
    out.encode_u32(handle);
    encode_verb(out, table, verb, fields);
    out.encode_bytes(rows)
}

/// Reads a row by its key.
///
/// # Errors
/// `OutOfRange` for a key that the row codec cannot represent.
#[inline]
pub fn get(out: &mut Vec<u8>, id: u32, handle: u32, key: &[Value<'_>]) -> Result<()> {
    frame::encode(out, FrameKind::Get, false, id, |out| {
        out.encode_u32(handle);
        value::encode_row(out, key)
    })
}

/// Reads a part of one value: a row of its length, its row's version and the bytes, or none.
///
/// # Errors
/// As [`get`].
pub fn read_part(
    out: &mut Vec<u8>,
    id: u32,
    handle: u32,
    value: &ValueAddress<'_>,
    range: ValueRange,
) -> Result<()> {
    frame::encode(out, FrameKind::ReadPart, false, id, |out| {
        encode_address(out, handle, value)?;
        out.encode_u64(range.offset);
        out.encode_u32(u32::try_from(range.limit).unwrap_or(u32::MAX));
        Ok(())
    })
}

/// A part of a new value of so many bytes. `more` says that further parts of the same value follow.
///
/// # Errors
/// As [`get`]; `OutOfRange` for a part larger than 4 GiB.
pub fn write_value(
    out: &mut Vec<u8>,
    id: u32,
    more: bool,
    handle: u32,
    value: &ValueAddress<'_>,
    (length, bytes): (u64, &[u8]),
) -> Result<()> {
    frame::encode(out, FrameKind::WriteValue, more, id, |out| {
        encode_address(out, handle, value)?;
        out.encode_u64(length);
        out.extend_from_slice(bytes);
        Ok(())
    })
}

fn encode_address(out: &mut Vec<u8>, handle: u32, value: &ValueAddress<'_>) -> Result<()> {
    out.encode_u32(handle);
    out.encode_position(value.column)?;
    value::encode_row(out, value.key)
}

/// Asks for the plan of a query.
///
/// # Errors
/// As [`change`].
pub fn explain(out: &mut Vec<u8>, id: u32, source: RequestSource<'_>) -> Result<()> {
    frame::encode(out, FrameKind::Explain, false, id, |out| encode_source(out, source))
}

/// Runs a query. The server sends up to `window` bytes of rows before it waits for [`credit`], or all rows if
/// it is 0.
///
/// # Errors
/// As [`change`].
pub fn query(
    out: &mut Vec<u8>,
    id: u32,
    window: u32,
    form: ResultForm,
    source: RequestSource<'_>,
) -> Result<()> {
    frame::encode(out, FrameKind::Query, false, id, |out| {
        out.encode_u32(window);
        out.encode_u8(form.number());
        encode_source(out, source)
    })
}

/// Opens a cursor.
///
/// # Errors
/// As [`change`].
pub fn open(out: &mut Vec<u8>, id: u32, source: RequestSource<'_>) -> Result<()> {
    frame::encode(out, FrameKind::Open, false, id, |out| encode_source(out, source))
}

/// Fetches the next rows of a cursor.
pub fn fetch(out: &mut Vec<u8>, id: u32, cursor: u64) {
    frame::encode_small(out, FrameKind::Fetch, id, |out| out.encode_u64(cursor));
}

/// Closes a cursor.
pub fn close(out: &mut Vec<u8>, id: u32, cursor: u64) {
    frame::encode_small(out, FrameKind::Close, id, |out| out.encode_u64(cursor));
}

/// Lists the tables.
pub fn tables(out: &mut Vec<u8>, id: u32) {
    frame::encode_small(out, FrameKind::Tables, id, |_| ());
}

/// Lists what the table schemas do not express. The response is a row for each loss: its table, and what it is.
pub fn losses(out: &mut Vec<u8>, id: u32) {
    frame::encode_small(out, FrameKind::Losses, id, |_| ());
}

/// Changes the schema.
///
/// # Errors
/// As [`change`].
pub fn alter(out: &mut Vec<u8>, id: u32, changes: &[SchemaChange]) -> Result<()> {
    frame::encode(out, FrameKind::Alter, false, id, |out| {
        out.encode_position(changes.len())?;
        changes.iter().try_for_each(|change| schema::encode_change(out, change))
    })
}

/// Runs an SQL statement that returns no rows.
///
/// # Errors
/// As [`change`].
pub fn execute(out: &mut Vec<u8>, id: u32, source: RequestSource<'_>) -> Result<()> {
    frame::encode(out, FrameKind::Execute, false, id, |out| encode_source(out, source))
}

/// Makes all committed changes durable.
pub fn flush(out: &mut Vec<u8>, id: u32) {
    frame::encode_small(out, FrameKind::Flush, id, |_| ());
}

/// Does nothing, and has a response.
pub fn ping(out: &mut Vec<u8>, id: u32) {
    frame::encode_small(out, FrameKind::Ping, id, |_| ());
}

/// Cancels the request with this number.
pub fn cancel(out: &mut Vec<u8>, id: u32) {
    frame::encode_small(out, FrameKind::Cancel, id, |_| ());
}

/// Lets the query with this number send so many more bytes.
pub fn credit(out: &mut Vec<u8>, id: u32, bytes: u32) {
    frame::encode_small(out, FrameKind::Credit, id, |out| out.encode_u32(bytes));
}

fn encode_source(out: &mut Vec<u8>, source: RequestSource<'_>) -> Result<()> {
    match source {
        RequestSource::Select(handle, query, others) => encode_select(out, handle, query, others),
        RequestSource::Join(query, tables) => {
            out.encode_u8(JOIN);
            join::encode(out, query, tables)
        }
        RequestSource::Text(text, parameters) => {
            out.encode_u8(TEXT);
            out.encode_text(text)?;
            encode_parameters(out, parameters)
        }
        RequestSource::Statement(handle, parameters) => {
            out.encode_u8(STATEMENT);
            out.encode_u32(handle);
            encode_parameters(out, parameters)
        }
    }
}

fn encode_select(
    out: &mut Vec<u8>,
    handle: u32,
    query: &Select,
    others: OtherTables<'_>,
) -> Result<()> {
    query.check_nearest()?;
    out.encode_u8(match (&query.search, query.lock) {
        _ if query.nearest.is_some() => NEAREST,
        (Some(_), _) => SEARCH,
        (None, Some(_)) => LOCKING_SELECT,
        (None, None) => SELECT,
    });
    out.encode_u32(handle);
    select::encode(out, query, others)?;
    encode_extras(out, query)
}

/// From which vector a query measures distances, or what it searches for and how it locks rows.
fn encode_extras(out: &mut Vec<u8>, query: &Select) -> Result<()> {
    if let Some(nearest) = &query.nearest {
        return select::encode_nearest(out, nearest);
    }
    match (&query.search, query.lock) {
        (Some(search), lock) => {
            select::encode_search(out, search)?;
            out.encode_option(lock, |out, lock| {
                select::encode_lock(out, lock);
                Ok(())
            })?;
        }
        (None, Some(lock)) => select::encode_lock(out, lock),
        (None, None) => {}
    }
    Ok(())
}

fn encode_parameters(out: &mut Vec<u8>, parameters: &[Parameter<'_>]) -> Result<()> {
    codec::encode_values(out, parameters.len(), |index| {
        parameters.get(index).map_or(ValueRef::Null, |parameter| parameter.value.as_ref())
    })?;
    parameters.iter().for_each(|parameter| schema::encode_type(out, parameter.ty));
    Ok(())
}
