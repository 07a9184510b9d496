//! Whether a file is a sound database, and what is in it.

use super::Counts;
use super::pace::STEP;
use crate::connection::Connection;
use crate::ffi::OpenFlags;
use crate::open;
use crate::settings::Settings;
use bobak_core::{BackupContent, Error, ErrorKind, Result, Value};
use bobak_sql::{Dialect, quote};
use std::path::Path;

/// Reads a file wholly: every page, every index against its table, every row counted. With pauses
/// it works for a step at a time, as a backup does.
///
/// # Errors
/// `Corrupt` where it is not a database or is damaged; `Io`.
pub(crate) fn check_file(file: &Path, settings: &Settings, pauses: bool) -> Result<BackupContent> {
    settings.for_file(file)?.fitting(|settings| {
        check(&settings, pauses).map_err(|error| open::name_file(error, &settings))
    })
}

fn check(settings: &Settings, pauses: bool) -> Result<BackupContent> {
    let flags = OpenFlags { read_only: true, create: false };
    let mut db = open::connect(settings, flags)?;
    open::read_schema(&mut db, settings)?;
    if pauses {
        db.rest_after(STEP);
    }
    let mut connection = Connection::boxed(db, true);
    let found = connection.all_rows("PRAGMA integrity_check(1)", &[])?;
    match found.first().and_then(|row| row.first()) {
        Some(Value::Text(text)) if text == "ok" => {}
        Some(Value::Text(text)) => return Err(finding(text)),
        _ => return Err(Error::new(ErrorKind::Corrupt, "the database can't be checked")),
    }
    let pages = connection.first_integer("PRAGMA page_count")?;
    let page_size = connection.first_integer("PRAGMA page_size")?;
    let tables = count_rows(&mut connection)?;
    let bytes = u64::try_from(pages * page_size).unwrap_or(0);
    Ok(BackupContent { tables, compared: false, bytes })
}

/// What SQLite's check found, which may be that the disk has failed.
fn finding(text: &str) -> Error {
    let text = text.trim_start_matches("*** in database main ***").trim().replace('\n', "; ");
    if text.contains("error code=") {
        return Error::new(ErrorKind::Io, format!("the database can't be read: {text}"));
    }
    Error::new(ErrorKind::Corrupt, format!("the database is damaged: {text}"))
}

/// The tables of the main database, without virtual ones, with the numbers of their rows, by name.
pub(crate) fn count_rows(connection: &mut Connection) -> Result<Counts> {
    let names = connection.all_rows(
        "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND rootpage > 0 \
         AND substr(name, 1, 7) <> 'sqlite_' ORDER BY name",
        &[],
    )?;
    let mut counts = Vec::with_capacity(names.len());
    for name in names {
        let Some(Value::Text(name)) = name.into_iter().next() else { continue };
        let text = format!("SELECT count(*) FROM main.{}", quote(Dialect::Sqlite, &name));
        let rows = connection.first_integer(&text)?;
        counts.push((name.into_owned(), u64::try_from(rows).unwrap_or(0)));
    }
    Ok(counts)
}
