//! Opening connections: validation, then settings.

#[cfg(feature = "encryption")]
mod file_cipher;
mod file_id;
#[cfg(feature = "sqlcipher")]
mod page_size;

#[cfg(feature = "sqlcipher")]
pub(crate) use file_cipher::literal;
#[cfg(feature = "encryption")]
pub(crate) use file_cipher::{SMALLEST, must_have, wrong_key};
pub(crate) use file_id::{FileId, beside};
#[cfg(feature = "sqlcipher")]
pub(crate) use page_size::with_page_size;

use crate::connection::Connection;
use crate::error::translate;
use crate::ffi::{self, Failure, OpenFlags, codes};
use crate::file_mark::AEGIS_MARK;
use crate::settings::{Cipher, JournalMode, LockingMode, OpenMode, Settings};
use bobak_core::{Error, ErrorKind, Result, Row, ValueRef};
use std::ffi::{CStr, CString};
use std::path::Path;
use std::time::{Duration, Instant};

/// Opens the writing connection, or the only one.
pub(crate) fn writer(settings: &Settings) -> Result<Box<Connection>> {
    check(settings)?;
    let flags =
        OpenFlags { read_only: settings.is_read_only(), create: settings.mode == OpenMode::Create };
    let named = |error: Error| name_file(error, settings);
    if settings.recover && settings.is_read_only() && settings.path.is_some() {
        recover(settings)?;
    }
    let mut db = connect(settings, flags)?;
    if settings.path.is_none() {
        return apply(&mut db, settings)
            .map_err(|failure| named(translate(failure, None)))
            .and_then(|()| finish(db, true, settings));
    }
    // Before any setting: a file that is not a database remains unchanged.
    read_schema(&mut db, settings).map_err(why_unreadable).map_err(named)?;
    if db.is_read_only() && !settings.is_read_only() {
        let message = "it is not writable: open it read-only (mode=ro in a URL)";
        return Err(named(Error::new(ErrorKind::ReadOnly, message)));
    }
    apply(&mut db, settings).map_err(|failure| named(translate(failure, None)))?;
    if !settings.is_read_only() {
        set_journal(&mut db, settings).map_err(named)?;
    }
    write_replaced_down(&mut db).map_err(|failure| named(translate(failure, None)))?;
    let atomic = settings.journal_mode != JournalMode::Off;
    finish(db, atomic, settings)
}

/// Rolls back what a killed process left, if that prevents read-only access.
fn recover(settings: &Settings) -> Result<()> {
    let look = |read_only: bool| {
        let mut db = connect(settings, OpenFlags { read_only, create: false })?;
        read_schema(&mut db, settings)
    };
    match look(true) {
        Err(error) if unreadable(&error).is_some() => {
            // If it cannot be written either, the next read reports why.
            let _ = look(false);
            Ok(())
        }
        // Opening reports other errors.
        _ => Ok(()),
    }
}

/// Why a file that cannot be written cannot be read either.
fn unreadable(error: &Error) -> Option<&'static str> {
    match error.code()? {
        codes::SQLITE_READONLY_RECOVERY | codes::SQLITE_READONLY_ROLLBACK => Some(
            "a program was killed while it wrote, and its changes must be rolled back: open the \
             database once with write access to it and its folder",
        ),
        codes::SQLITE_READONLY_CANTLOCK
        | codes::SQLITE_READONLY_CANTINIT
        | codes::SQLITE_READONLY_DIRECTORY => Some(
            "its folder is not writable, but its log needs that: make the folder writable, or \
             copy the database and \
             its log to another folder",
        ),
        _ => None,
    }
}

fn why_unreadable(error: Error) -> Error {
    match (unreadable(&error), error.code()) {
        (Some(why), Some(code)) => Error::new(error.kind(), why).with_code(code).with_source(error),
        _ => error,
    }
}

/// Opens a reading connection. It can write to the file, but not by a statement: a killed process
/// may leave a journal that the next reader must roll back.
/// | # Errors
/// Those of opening; `Conflict` if the name belongs to another file than `file`.
pub(crate) fn reader(settings: &Settings, file: Option<FileId>) -> Result<Box<Connection>> {
    // SQLite opens files by name. The name must belong to the same file before and after.
    must_be_in_place(settings, file)?;
    let mut connection = connect_again(settings)?;
    must_be_in_place(settings, file)?;
    if !settings.isolated {
        connection.set_query_only(true)?;
    }
    Ok(connection)
}

/// Opens another writing connection of an open database with a log. Only one of them writes at a time.
/// | # Errors
/// As [`reader`].
pub(crate) fn second_writer(settings: &Settings, file: Option<FileId>) -> Result<Box<Connection>> {
    must_be_in_place(settings, file)?;
    let mut connection = connect_again(settings)?;
    must_be_in_place(settings, file)?;
    write_replaced_down(&mut connection.db).map_err(|failure| translate(failure, None))?;
    Ok(connection)
}

fn connect_again(settings: &Settings) -> Result<Box<Connection>> {
    let flags = OpenFlags { read_only: settings.is_read_only(), create: settings.isolated };
    let mut db = connect(settings, flags)?;
    #[cfg(feature = "encryption")]
    if settings.key.is_some() {
        read_schema(&mut db, settings).map_err(|error| name_file(error, settings))?;
    }
    apply(&mut db, settings).map_err(|failure| name_file(translate(failure, None), settings))?;
    finish(db, true, settings)
}

fn must_be_in_place(settings: &Settings, file: Option<FileId>) -> Result<()> {
    let Some((path, file)) = settings.path.as_deref().zip(file) else { return Ok(()) };
    if FileId::of(path) == Some(file) {
        return Ok(());
    }
    let message = format!(
        "the open database is no longer the file {}, which was removed, moved or replaced. Put \
         it back, or close the database and open it again",
        path.display()
    );
    Err(Error::new(ErrorKind::Conflict, message))
}

/// A connection with the registered functions.
pub(crate) fn finish(
    db: ffi::Connection,
    atomic: bool,
    settings: &Settings,
) -> Result<Box<Connection>> {
    let mut connection = Connection::boxed(db, atomic);
    connection.max_ahead = settings.max_ahead_bytes;
    connection.typed_texts.enabled = settings.typed_sql;
    settings.functions.iter().try_for_each(|function| function.register(&mut connection.db))?;
    Ok(connection)
}

/// Rejects settings that SQLite would silently ignore.
fn check(settings: &Settings) -> Result<()> {
    match settings.page_size {
        Some(size) if !(size.is_power_of_two() && (512..=65_536).contains(&size)) => {
            let message = format!(
                "{size} is not a valid page size: expected a power of two from \
                                   512 to 65536"
            );
            Err(Error::new(ErrorKind::Config, message))
        }
        Some(512) if settings.has_key() => {
            let message = "an encrypted file needs pages of at least 1024 bytes, not 512";
            Err(Error::new(ErrorKind::Config, message))
        }
        _ => Ok(()),
    }
}

/// A connection with the settings that all connections share.
pub(crate) fn connect(settings: &Settings, flags: OpenFlags) -> Result<ffi::Connection> {
    let name = file_name(settings.path.as_deref())?;
    let config = |message: String| Error::new(ErrorKind::Config, message);
    let vfs = settings.vfs.as_deref().map(CString::new).transpose();
    let vfs = vfs.map_err(|_| config("the name of the VFS has a NUL".to_owned()))?;
    let mut db = open_file(&name, flags, vfs.as_deref(), settings).map_err(|failure| {
        if failure.message.starts_with("no such vfs") {
            return config(format!("SQLite has {} here", failure.message));
        }
        open_error(failure, settings)
    })?;
    db.set_busy_timeout(settings.busy_timeout);
    db.enable_interrupts();
    db.reject_quoted_strings(false);
    db.register_collations().map_err(|failure| translate(failure, None))?;
    db.register_text_functions().map_err(|failure| translate(failure, None))?;
    db.register_sum().map_err(|failure| translate(failure, None))?;
    db.register_stored_functions().map_err(|failure| translate(failure, None))?;
    Ok(db)
}

/// Opens the file with its key, if it has one.
fn open_file(
    name: &CStr,
    flags: OpenFlags,
    vfs: Option<&CStr>,
    settings: &Settings,
) -> Result<ffi::Connection, Failure> {
    #[cfg(feature = "encryption")]
    if let Some(key) = &settings.key {
        return file_cipher::open(name, flags, vfs, settings, key);
    }
    let _ = settings;
    ffi::Connection::open(name, flags, vfs)
}

/// The name for SQLite, which interprets `:memory:`, the empty name and `file:`. Here a path is
/// always a path.
pub(crate) fn file_name(path: Option<&Path>) -> Result<CString> {
    let Some(path) = path else {
        return Ok(c":memory:".to_owned());
    };
    let config = |message: &str| Error::new(ErrorKind::Config, message);
    let text = path.to_str().ok_or_else(|| config("the path of a database must be UTF-8"))?;
    if text.is_empty() {
        return Err(config("the path of the database is empty"));
    }
    let special = text.starts_with("file:") || text.starts_with(':');
    let text = if special { format!("./{text}") } else { text.to_owned() };
    CString::new(text).map_err(|_| config("the path of the database has a NUL"))
}

/// SQLite only reports that it could not open the file; the operating system knows why. The file
/// is not opened here to find out: if this process has it open, closing it would drop its locks.
fn open_error(failure: Failure, settings: &Settings) -> Error {
    let Some(path) = &settings.path else {
        return translate(failure, None);
    };
    // Another VFS may not use files of the operating system.
    if failure.code & 0xff != codes::SQLITE_CANTOPEN || settings.vfs.is_some() {
        return name_file(translate(failure, None), settings);
    }
    let doing = format!("open {}", path.display());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let cause = match folder.map(std::fs::metadata) {
        Some(Err(error)) => Some(error),
        _ if path.is_dir() => Some(std::io::ErrorKind::IsADirectory.into()),
        _ => failure.system.map(std::io::Error::from_raw_os_error),
    };
    match cause {
        Some(error) => Error::io(&doing, error),
        None => name_file(translate(failure, None), settings),
    }
}

/// Adds the file's path to an error.
pub(crate) fn name_file(error: Error, settings: &Settings) -> Error {
    let Some(path) = &settings.path else {
        return error;
    };
    let kind = error.kind();
    let message = format!("{}: {}", path.display(), error.message());
    let named = Error::new(kind, message);
    match error.table() {
        Some(table) => named.in_table(table.to_owned()).with_source(error),
        None => named.with_source(error),
    }
}

/// Reads the file's header and schema. Fails if one is damaged or the key is wrong.
pub(crate) fn read_schema(db: &mut ffi::Connection, settings: &Settings) -> Result<()> {
    let read = db.exec("SELECT count(*) FROM sqlite_schema");
    read.map_err(|failure| {
        #[cfg(feature = "encryption")]
        if settings.key.is_some() && failure.code & 0xff == codes::SQLITE_NOTADB {
            return file_cipher::wrong_key(settings).with_source(crate::SqliteError::from(failure));
        }
        match encrypted_without_key(settings, &failure) {
            Some(error) => error.with_source(crate::SqliteError::from(failure)),
            None => translate(failure, None),
        }
    })
}

/// The error for a file that is encrypted with AEGIS-256 and was opened without a key.
pub(crate) fn encrypted_without_key(settings: &Settings, failure: &Failure) -> Option<Error> {
    let unreadable =
        [codes::SQLITE_NOTADB, codes::SQLITE_CANTOPEN].contains(&(failure.code & 0xff));
    if !unreadable || settings.has_key() || settings.path.is_none() {
        return None;
    }
    let mut first = [0; AEGIS_MARK.len()];
    first_bytes(settings, &mut first).ok()?;
    let message = match cfg!(feature = "encryption") {
        true => "the file is encrypted: give its key",
        false => {
            "the file is encrypted: enable the feature `encryption` of bobak, and give its key"
        }
    };
    (first == AEGIS_MARK).then(|| Error::new(ErrorKind::Denied, message))
}

/// Reads the first bytes of the file as they are stored; gives how many there are.
fn first_bytes(settings: &Settings, into: &mut [u8]) -> Result<usize> {
    let settings = match settings.path.as_deref() {
        Some(path) => settings.without_key(path),
        None => return Ok(0),
    };
    let flags = OpenFlags { read_only: true, create: false };
    let db = match connect(&settings, flags) {
        Ok(db) => db,
        Err(_) if settings.path.as_deref().is_none_or(|path| !path.exists()) => return Ok(0),
        Err(error) => return Err(error),
    };
    db.read_file(0, into).map_err(|failure| name_file(translate(failure, None), &settings))
}

/// If tables are tracked or searched, rows deleted by REPLACE must fire delete triggers.
fn write_replaced_down(db: &mut ffi::Connection) -> Result<(), Failure> {
    let sql = "SELECT name FROM sqlite_schema WHERE name = 'bobak_feed' \
               OR sql LIKE 'CREATE VIRTUAL TABLE%/* bobak: search %' LIMIT 1";
    match first_text(db, sql)?.is_empty() {
        true => Ok(()),
        false => db.exec("PRAGMA recursive_triggers = on"),
    }
}

fn apply(db: &mut ffi::Connection, settings: &Settings) -> Result<(), Failure> {
    // SQLCipher got it before the first read.
    if let Some(size) = settings.page_size.filter(|_| settings.cipher != Some(Cipher::Sqlcipher)) {
        db.exec(&format!("PRAGMA page_size = {size}"))?;
    }
    if settings.path.is_some() && settings.locking == LockingMode::Exclusive {
        db.exec("PRAGMA locking_mode = exclusive")?;
    }
    if let Some(size) = settings.cache_size() {
        db.exec(&format!("PRAGMA cache_size = {size}"))?;
    }
    if let Some(size) = settings.mmap_bytes {
        db.exec(&format!("PRAGMA mmap_size = {size}"))?;
    }
    db.set_keeps_journal(settings.keeps_journal());
    if let Some(bytes) = settings.max_value_bytes {
        db.set_max_length(bytes);
    }
    let word = settings.synchronous.as_str();
    db.exec(&format!("PRAGMA synchronous = {word}"))?;
    db.exec("PRAGMA foreign_keys = on")
}

/// Sets the journal mode. SQLite does not wait for other connections, and returns the old mode if
/// it could not change it.
fn set_journal(db: &mut ffi::Connection, settings: &Settings) -> Result<()> {
    let wanted = settings.journal_mode.as_str();
    let sql = format!("PRAGMA journal_mode = {wanted}");
    let deadline = Instant::now() + settings.busy_timeout;
    loop {
        let error = match first_text(db, &sql) {
            Ok(mode) if mode.eq_ignore_ascii_case(wanted) => return Ok(()),
            Ok(mode) => {
                let message = format!("the journal mode stays {mode}, and can't be {wanted}");
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
            Err(failure) => translate(failure, None),
        };
        if error.kind() != ErrorKind::Busy || Instant::now() >= deadline {
            return Err(error);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn first_text(db: &mut ffi::Connection, sql: &str) -> Result<String, Failure> {
    let (Some(id), _) = db.prepare(sql)? else {
        return Ok(String::new());
    };
    let mut rows = db.rows(id, std::iter::empty::<ValueRef<'_>>())?;
    let text = match rows.next()?.as_ref().map(|row| row.get(0)) {
        Some(ValueRef::Text(text)) => text.to_owned(),
        _ => String::new(),
    };
    drop(rows);
    db.finalize(id);
    Ok(text)
}

/// The settings for one file. The key of an encrypted file is derived from its password.
/// | # Errors
/// `Io` if the salt in the file cannot be read.
pub(crate) fn settings_for_file(settings: &Settings, path: &Path) -> Result<Settings> {
    #[cfg(feature = "encryption")]
    if let Some(key) = settings.read_key()? {
        return file_cipher::settings_with_key(settings, &key, path);
    }
    #[cfg(feature = "encryption")]
    if settings.cipher.is_some() {
        return Err(file_cipher::without_key());
    }
    #[cfg(not(feature = "encryption"))]
    settings.must_have_no_key()?;
    Ok(Settings { path: Some(path.to_owned()), ..settings.clone() })
}

/// Runs `work` with the file's page size, which SQLite detects by itself.
#[cfg(not(feature = "sqlcipher"))]
pub(crate) fn with_page_size<R>(
    settings: Settings,
    work: impl FnOnce(Settings) -> Result<R>,
) -> Result<R> {
    work(settings)
}
