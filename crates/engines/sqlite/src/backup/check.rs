//! Verifies that a file is a sound database, and counts its rows.

use super::pace::STEP;
use super::unknown_functions::{check_in_part, missing};
use crate::connection::Connection;
use crate::ffi::{OpenFlags, codes};
use crate::open;
use crate::settings::Settings;
use bobak_core::{BackupContent, Error, ErrorKind, Result, Value};
use bobak_sql::{Dialect, quote};
use std::path::Path;

/// Tables with their numbers of rows.
pub(super) type Counts = Vec<(String, u64)>;

/// Reads a whole file: every page, every index against its table, every row. With `pauses` it
/// works in steps, as a backup does.
/// | # Errors
/// `Corrupt` if it is not a database or is damaged; `Io`.
pub(crate) fn check_file(file: &Path, settings: &Settings, pauses: bool) -> Result<BackupContent> {
    open::with_page_size(open::settings_for_file(settings, file)?, |settings| {
        check(&settings, pauses).map_err(|error| open::name_file(error, &settings))
    })
}

fn check(settings: &Settings, pauses: bool) -> Result<BackupContent> {
    let flags = OpenFlags { read_only: true, create: false };
    let mut db = open::connect(settings, flags)?;
    open::read_schema(&mut db, settings)?;
    if pauses {
        db.throttle(STEP);
    }
    let mut connection = Connection::boxed(db, true);
    let unverified = match texts(&mut connection, "PRAGMA main.integrity_check(1)") {
        Ok(found) => judge(&found).map(|()| Vec::new())?,
        Err(error) if missing(&error).is_some() => check_in_part(&mut connection)?,
        Err(error) => return Err(error),
    };
    let pages = connection.first_integer("PRAGMA page_count")?;
    let page_size = connection.first_integer("PRAGMA page_size")?;
    let tables = count_rows(&mut connection)?;
    let bytes = u64::try_from(pages * page_size).unwrap_or(0);
    Ok(BackupContent { tables, compared: false, bytes, unverified })
}

/// The texts in the first column.
pub(super) fn texts(connection: &mut Connection, sql: &str) -> Result<Vec<String>> {
    let rows = connection.all_rows(sql, &[])?;
    let first = rows.into_iter().filter_map(|row| row.into_iter().next());
    Ok(first
        .filter_map(|value| if let Value::Text(text) = value { Some(text.into()) } else { None })
        .collect())
}

/// The error for the findings of SQLite's checks, which may include a failing disk.
pub(super) fn judge(found: &[String]) -> Result<()> {
    let Some(text) = found.first().filter(|text| *text != "ok") else { return Ok(()) };
    let text = text.trim_start_matches("*** in database main ***").trim().replace('\n', "; ");
    let damaged = format!("error code={}", codes::SQLITE_IOERR_DATA);
    if text.contains("error code=") && !text.contains(&damaged) {
        return Err(Error::new(ErrorKind::Io, format!("the database can't be read: {text}")));
    }
    Err(Error::new(ErrorKind::Corrupt, format!("the database is damaged: {text}")))
}

/// The tables of the main database, without virtual tables and SQLite's own, sorted.
pub(super) fn names(connection: &mut Connection) -> Result<Vec<String>> {
    texts(
        connection,
        "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND rootpage > 0 \
         AND substr(name, 1, 7) <> 'sqlite_' ORDER BY name",
    )
}

/// The [tables](names) with their numbers of rows.
pub(crate) fn count_rows(connection: &mut Connection) -> Result<Counts> {
    let names = names(connection)?;
    let mut counts = Vec::with_capacity(names.len());
    for name in names {
        let text = format!("SELECT count(*) FROM main.{}", quote(Dialect::Sqlite, &name));
        let rows = connection.first_integer(&text)?;
        counts.push((name, u64::try_from(rows).unwrap_or(0)));
    }
    Ok(counts)
}
