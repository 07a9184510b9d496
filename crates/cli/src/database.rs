//! Opens the database of a command, and finds its tables.

use crate::error::{Error, Result};
use crate::output::Terminal;
use bobak::changes::TrackOptions;
use bobak::engine::sqlite::Cipher;
use bobak::engine::{file_of_url, without_secrets};
use bobak::schema::TableSchema;
use bobak::{Db, DbBuilder, DynTable, Row};
use std::borrow::Cow;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// The URL setting with the encryption key's file, for the whole run.
static KEY: OnceLock<String> = OnceLock::new();
/// Whether a flag of the command names the key's file. The environment may have one for other commands.
static HAS_KEY_FLAG: AtomicBool = AtomicBool::new(false);

/// Sets the key for URLs of SQLite files and snapshots that name none. `setting` is `key_file` or `password_file`.
pub fn set_key(setting: &str, file: &Path, is_flag: bool) {
    let file = file.display().to_string();
    let file = file.replace('%', "%25").replace('&', "%26").replace('#', "%23");
    let _ = KEY.set(format!("{setting}={file}"));
    HAS_KEY_FLAG.store(is_flag, Ordering::Relaxed);
}

/// Rejects a database to write that the key of a flag does not encrypt.
fn check_encrypted(url: &str) -> Result<()> {
    if !HAS_KEY_FLAG.load(Ordering::Relaxed) || is_file_with_key(url) {
        return Ok(());
    }
    Err(Error::usage(format!(
        "{} is not encrypted: the key is for SQLite files and snapshots (memory:FILE). If another database of this command needs it, \
         write it in that URL: sqlite:FILE?key_file=KEY",
        without_secrets(url)
    )))
}

/// Whether it is the URL of a file that a key encrypts.
fn is_file_with_key(url: &str) -> bool {
    (url.starts_with("sqlite:") || url.starts_with("memory:")) && file_of_url(url).is_some()
}

/// The URL setting with the cipher of new files, for the whole run.
static CIPHER: OnceLock<String> = OnceLock::new();

/// Sets the cipher for SQLite URLs that name none.
pub fn set_cipher(cipher: Cipher) {
    let _ = CIPHER.set(format!("cipher={}", cipher.as_str()));
}

/// Adds the key and the cipher of this run if the URL names an SQLite file, or the key if it names a snapshot of the memory
/// engine, and none of its own.
#[must_use]
pub fn with_key(url: &str) -> Cow<'_, str> {
    let keys: &[&str] = &["key_file=", "password_file=", "password_env="];
    let added = [(&KEY, keys), (&CIPHER, &["cipher="])];
    added.into_iter().fold(Cow::Borrowed(url), |url, (setting, names)| match setting.get() {
        Some(setting) if !has_setting(&url, names) => {
            let separator = if url.contains('?') { '&' } else { '?' };
            Cow::Owned(format!("{url}{separator}{setting}"))
        }
        _ => url,
    })
}

/// Whether a URL is not one of a file that the setting is for, or has a setting with one of the names.
fn has_setting(url: &str, names: &[&str]) -> bool {
    let (_, settings) = url.split_once('?').unwrap_or((url, ""));
    let is_there = settings.split('&').any(|part| names.iter().any(|name| part.starts_with(name)));
    let is_snapshot = url.starts_with("memory:");
    is_there || !is_file_with_key(url) || (is_snapshot && names.contains(&"cipher="))
}

/// Opens a database for writing. Creates an SQLite file if it does not exist.
///
/// # Errors
/// A usage error for a malformed URL; fails if the file is not a database or can't be opened.
pub fn open(url: &str) -> Result<Db> {
    check_encrypted(url)?;
    open_with(Db::builder(), url)
}

/// As [`open`], with a note if that creates the file.
///
/// # Errors
/// As there.
pub fn open_noted(url: &str, screen: &Terminal) -> Result<Db> {
    noting_new_file(url, screen, || open(url))
}

/// Notes the file of the URL if `open` creates it: a mistyped name makes a new database.
///
/// # Errors
/// Those of `open`; as [`open`] for a key.
pub fn noting_new_file<T>(
    url: &str,
    screen: &Terminal,
    open: impl FnOnce() -> Result<T>,
) -> Result<T> {
    check_encrypted(url)?;
    let missing = file_of_url(url).filter(|file| !file.exists());
    let opened = open()?;
    if let Some(file) = missing.filter(|file| file.exists()) {
        screen.note(format_args!("created {}", file.display()));
    }
    Ok(opened)
}

/// Whether the database of the URL is only in memory, and gone when the command ends.
#[must_use]
pub fn is_in_memory(url: &str) -> bool {
    matches!(url.split('?').next(), Some("memory:" | "sqlite::memory:"))
}

fn open_with(builder: DbBuilder, url: &str) -> Result<Db> {
    builder.open(&with_key(url)).map_err(|error| match error.kind() {
        bobak::ErrorKind::Config => Error::usage(error.to_string()),
        _ => Error::failed(error.to_string()),
    })
}

/// Opens an existing database for writing.
///
/// # Errors
/// As [`open`]; fails if the file does not exist.
pub fn open_existing(url: &str) -> Result<Db> {
    check_encrypted(url)?;
    open_existing_with(Db::builder(), url)
}

fn open_existing_with(builder: DbBuilder, url: &str) -> Result<Db> {
    must_exist(url)?;
    open_with(builder, url)
}

fn must_exist(url: &str) -> Result<()> {
    match file_of_url(url) {
        // Opening it says how the file is written.
        Some(_) if url.starts_with("sqlite://") => Ok(()),
        Some(file) if !file.exists() => {
            let file = file.display();
            let message =
                format!("file {file} does not exist: `bobak import` and `bobak serve` create one");
            Err(Error::failed(message))
        }
        _ => Ok(()),
    }
}

/// Opens existing databases for one SQL statement: the main one, and others under names. They are opened for
/// reading if the statement only reads.
///
/// # Errors
/// As [`open_existing`] and [`open_to_read`].
pub fn open_for_sql(url: &str, attached: &[(String, String)], only_reads: bool) -> Result<Db> {
    let mut builder = Db::builder();
    for (name, other) in attached {
        must_exist(other)?;
        let other = if only_reads { read_only(other) } else { Cow::Borrowed(other.as_str()) };
        builder = builder.attach(name, &with_key(&other));
    }
    if only_reads {
        return open_existing_with(builder, &read_only(url)).map_err(without_added_settings);
    }
    check_encrypted(url)?;
    open_existing_with(builder, url)
}

/// Opens a database for reading. The file may be read-only and is not changed, including its journal
/// mode; the only exception is that a transaction of a killed program is rolled back.
///
/// # Errors
/// As [`open_existing`].
pub fn open_to_read(url: &str) -> Result<Db> {
    open_existing_with(Db::builder(), &read_only(url)).map_err(without_added_settings)
}

/// The error without the settings that the user did not write.
fn without_added_settings(error: Error) -> Error {
    match error {
        Error::Failed(sentence) => Error::Failed(without_added(&sentence)),
        Error::Usage(sentence) => Error::Usage(without_added(&sentence)),
        error @ Error::OutputClosed => error,
    }
}

/// The settings added to the URLs of files that are only read.
const READ_ONLY: &str = "mode=ro&recover=on";

fn without_added(sentence: &str) -> String {
    ["?", "&"].iter().fold(sentence.to_owned(), |sentence, separator| {
        sentence.replace(&format!("{separator}{READ_ONLY}"), "")
    })
}

/// Adds the read-only settings, unless the URL has a mode already.
fn read_only(url: &str) -> Cow<'_, str> {
    let (place, settings) = url.split_once('?').unwrap_or((url, ""));
    let has_mode = settings.split('&').any(|setting| setting.starts_with("mode="));
    if has_mode || !place.starts_with("sqlite:") || file_of_url(url).is_none() {
        return Cow::Borrowed(url);
    }
    let separator = if url.contains('?') { '&' } else { '?' };
    Cow::Owned(format!("{url}{separator}{READ_ONLY}"))
}

/// Whether the URL names a file of SQLite or a snapshot that does not exist.
#[must_use]
pub fn is_missing(url: &str) -> bool {
    is_file_with_key(url) && file_of_url(url).is_some_and(|file| !file.exists())
}

/// Opens a table by name.
///
/// # Errors
/// If there is no such table; the message lists the existing ones.
pub fn table(db: &Db, name: &str) -> Result<DynTable<'static>> {
    db.dynamic(name).map_err(|error| match error.kind() {
        bobak::ErrorKind::Schema => Error::failed(error.message()),
        _ => error.into(),
    })
}

/// Calls `each` for every row that `read` produces, until `each` fails.
///
/// `read` takes a callback that returns whether to continue. An error of the command is not an error
/// of the database, so it is kept outside `read` and returned afterwards.
///
/// # Errors
/// Those of `read` and of `each`.
pub fn for_each(
    read: impl FnOnce(&mut dyn FnMut(&dyn Row) -> bobak::Result<bool>) -> bobak::Result<()>,
    mut each: impl FnMut(&dyn Row) -> Result<()>,
) -> Result<()> {
    let mut stopped = None;
    read(&mut |row| match each(row) {
        Ok(()) => Ok(true),
        Err(error) => {
            stopped = Some(error);
            Ok(false)
        }
    })?;
    stopped.map_or(Ok(()), Err)
}

/// The tables with these names, in the database's order; all tables if `wanted` is empty.
///
/// # Errors
/// If there is no table with one of the names.
pub fn tables(db: &Db, wanted: &[String]) -> Result<Vec<TableSchema>> {
    choose(db, db.tables()?, wanted)
}

/// As [`tables`], and the views after them.
///
/// # Errors
/// As [`tables`].
pub fn tables_and_views(db: &Db, wanted: &[String]) -> Result<Vec<TableSchema>> {
    let mut all = db.tables()?;
    all.extend(db.views()?);
    choose(db, all, wanted)
}

/// What the database has in addition to the `described` tables and views, a line for each: generated columns that no
/// schema can have and, unless tables are `wanted`, tables and views that none can describe.
///
/// # Errors
/// Those of the engine.
pub fn undescribed(db: &Db, described: &[TableSchema], wanted: &[String]) -> Result<Vec<String>> {
    let is_described = |name: &str| described.iter().any(|table| table.name() == name);
    let losses = db.schema_details()?.losses;
    let others = losses.iter().filter(|loss| match is_described(&loss.table) {
        true => loss.what.starts_with("generated column"),
        false => wanted.is_empty(),
    });
    Ok(others.map(ToString::to_string).collect())
}

/// The generated columns of these tables that no schema can have, a line for each: change logs and replicas lack them.
///
/// # Errors
/// Those of the engine.
pub fn unknown_columns(db: &Db, is_wanted: &dyn Fn(&str) -> bool) -> Result<Vec<String>> {
    let losses = db.schema_details()?.losses;
    let is_column = |what: &str| what.starts_with("generated column");
    let columns = losses.iter().filter(|loss| is_column(&loss.what) && is_wanted(&loss.table));
    Ok(columns.map(ToString::to_string).collect())
}

fn choose(db: &Db, mut tables: Vec<TableSchema>, wanted: &[String]) -> Result<Vec<TableSchema>> {
    for name in wanted {
        if !tables.iter().any(|table| table.name().eq_ignore_ascii_case(name)) {
            // This fails with an error that lists the existing tables.
            table(db, name)?;
        }
    }
    let is_wanted = |table: &TableSchema| {
        wanted.is_empty() || wanted.iter().any(|name| table.name().eq_ignore_ascii_case(name))
    };
    tables.retain(is_wanted);
    Ok(tables)
}

/// Turns change capture on for the named tables, or for all if none is named. Tables that lost it because SQL recreated
/// them are tracked again.
///
/// # Errors
/// If there is no table with one of the names, or a table can't be tracked.
pub fn track(db: &Db, wanted: &[String], screen: &Terminal) -> Result<()> {
    let tracked = db.tracked_tables()?;
    let mut names = Vec::new();
    let tables = tables(db, wanted)?;
    let is_table = |name: &str| tables.iter().any(|table| table.name().eq_ignore_ascii_case(name));
    if let Some(name) = wanted.iter().find(|name| !is_table(name)) {
        let message = "is a view or a virtual table: only the changes of tables can be captured";
        return Err(Error::failed(format!("{name} {message}")));
    }
    for table in tables {
        if !db.is_tracked(table.name())? {
            db.track_table(table.name(), TrackOptions::new())?;
            names.push(table.name().to_owned());
        }
    }
    if !names.is_empty() {
        // The memory engine writes its file only on flush.
        db.flush()?;
    }
    for name in &names {
        let was = tracked.iter().any(|other| other.eq_ignore_ascii_case(name));
        let again = if was { "again " } else { "" };
        screen.note(format_args!("{name} is now {again}tracked"));
    }
    if !names.is_empty() {
        for loss in unknown_columns(db, &|table| names.iter().any(|name| name == table))? {
            screen.note(format_args!("not captured: {loss}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_for_files_of_two_engines() {
        for url in ["sqlite:a.db?journal_mode=wal", "sqlite:a%20b.db", "memory:a.bobak"] {
            assert!(is_file_with_key(url), "{url}");
        }
        for url in ["sqlite::memory:", "memory:", "kv:a.kv", "access:a.mdb", "postgres://db1/a"] {
            assert!(!is_file_with_key(url), "{url}");
        }
    }

    #[test]
    fn read_only_mode_is_added_once() {
        assert_eq!(read_only("sqlite:a.db"), "sqlite:a.db?mode=ro&recover=on");
        assert_eq!(read_only("sqlite:a.db?readers=2"), "sqlite:a.db?readers=2&mode=ro&recover=on");
        for url in ["sqlite:a.db?mode=rw", "sqlite::memory:", "memory:a.bobak", "a.db"] {
            assert_eq!(read_only(url), url);
        }
        let shown =
            without_added("sqlite:a.db?mode=ro&recover=on: a; sqlite:b?x=1&mode=ro&recover=on");
        assert_eq!(shown, "sqlite:a.db: a; sqlite:b?x=1");
    }
}
