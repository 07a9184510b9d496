//! One value, read and written in parts by SQLite's incremental access.

use super::SqliteSession;
use super::session_connection::AccessMode;
use super::write::change;
use crate::connection::Connection;
use crate::error::translate;
use crate::ffi::BlobPlace;
use bobak_core::engine::fallback;
use bobak_core::{
    BulkChange, Error, Interrupt, Result, TableSchema, Value, ValueAddress, ValueInput, ValueRange,
    ValueRef, ValueState,
};
use bobak_sql::{Dialect, quote};
use std::io::Read;

/// How many bytes are written at once.
const PART: usize = 256 << 10;

impl SqliteSession<'_> {
    /// See [`read_part`](bobak_core::Session::read_part). In a transaction the value stays open between two calls.
    pub(super) fn read_part_of(
        &self,
        value: &ValueAddress<'_>,
        range: ValueRange,
        bytes: &mut Vec<u8>,
    ) -> Result<Option<ValueState>> {
        value.check()?;
        let mut using = self.connection(AccessMode::Read)?;
        if using.in_transaction() {
            return read(using.get(), value, range, bytes);
        }
        // The row is found and read in one state.
        using.get().run("BEGIN")?;
        let found = read(using.get(), value, range, bytes);
        using.get().db.close_blob();
        using.get().run("COMMIT")?;
        found
    }

    /// See [`write_value`](bobak_core::Session::write_value).
    pub(super) fn write_value_of(
        &self,
        value: &ValueAddress<'_>,
        length: u64,
        source: &mut dyn Read,
    ) -> Result<bool> {
        value.check_written()?;
        let mut found = false;
        self.atomically(|connection| {
            found = match rowid_name(connection, value.table)? {
                Some(rowid) if can_write_in_parts(connection, value)? => {
                    write(connection, value, rowid, ValueInput::new(source, length), length)?
                }
                _ => fallback::write_value(value, length, source, |all| change(connection, all))?,
            };
            Ok(())
        })?;
        Ok(found)
    }
}

fn read(
    connection: &mut Connection,
    value: &ValueAddress<'_>,
    range: ValueRange,
    bytes: &mut Vec<u8>,
) -> Result<Option<ValueState>> {
    let column = value.check()?.name.as_ref();
    let Some(rowid) = rowid_name(connection, value.table)? else {
        return read_by_function(connection, value, range, bytes);
    };
    let Some((state, rowid)) = find(connection, value, rowid)? else { return Ok(None) };
    let length = state.length.unwrap_or_default();
    let rest = length.saturating_sub(range.offset);
    let count = usize::try_from(rest).unwrap_or(usize::MAX).min(range.limit);
    if count > 0 {
        let place = BlobPlace { table: value.table.name(), column, rowid };
        let before = bytes.len();
        bytes.resize(before + count, 0);
        let part = bytes.get_mut(before..).unwrap_or_default();
        let read = connection.db.read_blob(place, range.offset, part);
        read.map_err(|failure| translate(failure, Some(value.table)))?;
    }
    Ok(Some(state))
}

/// The state of a value, and the number of its row. Reads neither the value nor other long ones.
fn find(
    connection: &mut Connection,
    value: &ValueAddress<'_>,
    rowid: &str,
) -> Result<Option<(ValueState, i64)>> {
    let text = bobak_sql::find_value(value.table, value.column, rowid);
    let mut found = None;
    connection.each_row(&text, value.key, Some(value.table), &mut |row| {
        let integer = |at| match row.get(at) {
            ValueRef::Int(integer) => Some(integer),
            _ => None,
        };
        let version = value.table.version().and_then(|_| integer(3));
        let length = length_of(value, row.get(1), row.get(0))?;
        found = integer(2).map(|rowid| (ValueState { length, version }, rowid));
        Ok(false)
    })?;
    Ok(found)
}

/// The number of a value's bytes, by its type and its length.
fn length_of(
    value: &ValueAddress<'_>,
    ty: ValueRef<'_>,
    length: ValueRef<'_>,
) -> Result<Option<u64>> {
    match (ty, length) {
        (ValueRef::Text("null"), _) => Ok(None),
        (ValueRef::Text("blob"), ValueRef::Int(length)) => Ok(Some(length.unsigned_abs())),
        (other, _) => Err(Error::mismatch("bytes", other).in_table(value.table.name())),
    }
}

/// Reads a part of a value in a table without row numbers: SQLite then has the whole value in memory.
fn read_by_function(
    connection: &mut Connection,
    value: &ValueAddress<'_>,
    range: ValueRange,
    bytes: &mut Vec<u8>,
) -> Result<Option<ValueState>> {
    let id = |row: &mut dyn FnMut(&dyn bobak_core::Row) -> Result<()>| {
        super::query::get(connection, value.table, value.key, row)
    };
    fallback::read_part(value, range, bytes, id)
}

fn write(
    connection: &mut Connection,
    value: &ValueAddress<'_>,
    rowid: &str,
    mut source: ValueInput<'_>,
    length: u64,
) -> Result<bool> {
    // By the usual statement: it raises the version and sets the time of modification.
    let (condition, assigns) = (value.condition(), value.assignments(Value::from(Vec::new())));
    let (condition, assign) = (Some(&condition), Some(&*assigns));
    if change(connection, &BulkChange { table: value.table, condition, assign })? == 0 {
        return Ok(false);
    }
    let Some((_, number)) = find(connection, value, rowid)? else { return Ok(false) };
    let column = value.check()?.name.as_ref();
    let (table, name) = (value.table, quote(Dialect::Sqlite, column));
    let sql = format!(
        "UPDATE {} SET {name} = zeroblob(?) WHERE {rowid} = ?",
        quote(Dialect::Sqlite, table.name())
    );
    let size = i64::try_from(length).unwrap_or(i64::MAX);
    connection.run_text(&sql, &[Value::Int(size), Value::Int(number)])?;
    let place = BlobPlace { table: table.name(), column, rowid: number };
    let written = write_parts(connection, place, table, &mut source);
    connection.db.close_blob();
    written.map(|()| true)
}

fn write_parts(
    connection: &mut Connection,
    place: BlobPlace<'_>,
    table: &TableSchema,
    source: &mut ValueInput<'_>,
) -> Result<()> {
    let (mut part, mut offset) = (Vec::new(), 0);
    while source.next_part(&mut part, PART)? {
        Interrupt::check()?;
        let written = connection.db.write_blob(place, offset, &part);
        written.map_err(|failure| translate(failure, Some(table)))?;
        offset += part.len() as u64;
        part.clear();
    }
    Ok(())
}

/// The name of the table's row numbers; `None` if it has none, or columns with all of their names.
fn rowid_name(connection: &mut Connection, table: &TableSchema) -> Result<Option<&'static str>> {
    if !connection.table_info(table)?.rowids {
        return Ok(None);
    }
    let is_free =
        |name: &&str| !table.columns().iter().any(|column| column.name.eq_ignore_ascii_case(name));
    Ok(["rowid", "_rowid_", "oid"].into_iter().find(is_free))
}

/// Whether nothing looks at the value while it is written: no trigger, no CHECK, no index and no generated column.
fn can_write_in_parts(connection: &mut Connection, value: &ValueAddress<'_>) -> Result<bool> {
    let table = value.table;
    let info = connection.table_info(table)?;
    if !info.checks_storage_only || info.has_triggers || table.has_generated_columns() {
        return Ok(false);
    }
    let name = [Value::from(table.name())];
    // Indexes of expressions, and triggers of change capture, which the schema does not have.
    let sql = "SELECT EXISTS (SELECT 1 FROM (SELECT type, tbl_name, sql FROM sqlite_schema UNION ALL \
               SELECT type, tbl_name, sql FROM sqlite_temp_schema) WHERE lower(tbl_name) = lower(?1) AND \
               (type = 'trigger' OR (type = 'index' AND instr(lower(sql), lower(?2)) > 0)))";
    let column = Value::from(value.check()?.name.to_string());
    let [table] = name;
    let found = connection.all_rows(sql, &[table, column])?;
    let is_watched = found.first().and_then(|row| row.first()) != Some(&Value::Int(0));
    Ok(!is_watched && !value.check()?.unique && value.check()?.reference.is_none())
}
