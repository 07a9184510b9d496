//! Changes the key of a file: writes a complete new file and moves it into place. So the file
//! opens with the old or the new key at every moment.

use super::check::{check_file, count_rows};
use super::exclusive::acquire_exclusive;
use super::make;
use super::replace::{has_log, replace_database};
use super::unknown_functions::missing;
#[cfg(not(feature = "sqlcipher"))]
use crate::cipher::TAIL_BYTES;
use crate::connection::Connection;
use crate::error::{misuse, translate};
use crate::ffi::{self, OpenFlags};
use crate::open;
use crate::settings::{Cipher, Settings};
use bobak_core::{AtomicFile, Error, ErrorKind, Result, TableSchema, Value, change_log};
use bobak_encryption::EncryptionKey;
use std::ffi::CString;
use std::path::Path;

/// The key of the new file, derived with its salt from a password, and its cipher.
pub(super) struct NewKey {
    pub key: EncryptionKey,
    pub cipher: Cipher,
}

impl NewKey {
    fn of(key: &EncryptionKey, cipher: Option<Cipher>) -> Result<Self> {
        let cipher = cipher.unwrap_or_default();
        open::must_have(cipher)?;
        Ok(Self { key: key.for_file(None)?, cipher })
    }
}

/// Changes the key of a file; without a new key it becomes unencrypted.
/// | # Errors
/// `Denied` for a wrong key; `ReadOnly` if the settings are; `Busy` if the file is open elsewhere; `Unsupported` if its tables
/// need functions or collations of another program; `Full`, `Io`.
pub(crate) fn change_key(
    path: &Path,
    settings: &Settings,
    new: Option<&EncryptionKey>,
) -> Result<()> {
    // The settings' cipher is that of the new file.
    let (wanted, settings) = (settings.cipher, &Settings { cipher: None, ..settings.clone() });
    if settings.is_read_only() {
        let message = format!("{} is opened read-only (mode=ro): its key stays", path.display());
        return Err(Error::new(ErrorKind::ReadOnly, message));
    }
    let file = |error| Error::io(&format!("open {}", path.display()), error);
    let path = path.canonicalize().map_err(file)?;
    let (old, holder) =
        open::with_page_size(open::settings_for_file(settings, &path)?, |settings| {
            acquire_exclusive(&settings).map(|holder| (settings, holder))
        })?;
    // Writing the rows evaluates CHECK constraints that call the program's functions.
    let mut holder = Connection::boxed(holder, true);
    settings.functions.iter().try_for_each(|function| function.register(&mut holder.db))?;
    reject_foreign(&mut holder, &path, settings)?;
    must_not_track_hidden_keys(&mut holder)?;
    let new = new.map(|key| NewKey::of(key, wanted.or(old.cipher))).transpose()?;
    let temporary = AtomicFile::create_private(&path)?;
    write_with_key(&mut holder, &old, &temporary, new.as_ref())
        .map_err(|error| temporary.name_target(error))?;
    replace_database(temporary, holder.db)
}

/// Writes the whole database to the new file, with the new key, and verifies it.
fn write_with_key(
    holder: &mut Connection,
    old: &Settings,
    temporary: &AtomicFile,
    new: Option<&NewKey>,
) -> Result<()> {
    let before = count_rows(holder).map_err(|error| open::name_file(error, old))?;
    let page_size =
        copy(holder, old, temporary, new).map_err(|error| name_place(error, temporary.target()))?;
    let written = Settings {
        path: Some(temporary.path().to_owned()),
        key: new.map(|new| new.key.clone()),
        cipher: new.map(|new| new.cipher),
        page_size: Some(page_size),
        ..old.clone()
    };
    let after = check_file(temporary.path(), &written, false)?;
    if after.tables != before {
        let message = format!(
            "the rows of the new {} differ: nothing was changed",
            temporary.target().display()
        );
        return Err(Error::new(ErrorKind::Corrupt, message));
    }
    if has_log(holder)? {
        keep_log(&written)?;
    }
    Ok(())
}

/// Gives the new file a write-ahead log, which is empty and deleted on return.
fn keep_log(settings: &Settings) -> Result<()> {
    let flags = OpenFlags { read_only: false, create: false };
    let mut file = open::connect(settings, flags)?;
    open::read_schema(&mut file, settings)?;
    let set = file.exec("PRAGMA journal_mode = wal");
    set.map_err(|failure| open::name_file(translate(failure, None), settings))
}

/// Rejects a database with tables that cannot be created again. Tests that by creating them in
/// memory, empty.
fn reject_foreign(holder: &mut Connection, path: &Path, settings: &Settings) -> Result<()> {
    let rows = holder.all_rows(
        "SELECT tbl_name, sql FROM main.sqlite_schema WHERE type IN ('table', 'index') \
         AND rootpage > 0 AND sql IS NOT NULL AND substr(name, 1, 7) <> 'sqlite_' \
         ORDER BY type = 'index'",
        &[],
    )?;
    let nowhere = Settings { path: None, ..settings.without_key(path) };
    let memory = open::connect(&nowhere, OpenFlags { read_only: false, create: true })?;
    let mut memory = Connection::boxed(memory, true);
    memory.take_quoted_strings(true);
    settings.functions.iter().try_for_each(|function| function.register(&mut memory.db))?;
    for row in rows {
        let [Value::Text(table), Value::Text(sql)] = &row[..] else { continue };
        // Writing the file reports other errors.
        let Err(error) = memory.run_owned(sql) else { continue };
        let Some(needs) = missing(&error) else { continue };
        let message = format!(
            "{} can't be written with another key: table {table} uses {needs}, which only \
             another program has: change the key with that program",
            path.display()
        );
        return Err(Error::new(ErrorKind::Unsupported, message).with_source(error));
    }
    Ok(())
}

/// Rejects a file whose change log would refer to other rows: earlier versions tracked tables
/// without a key, whose rowids may change in the new file.
fn must_not_track_hidden_keys(holder: &mut Connection) -> Result<()> {
    let tables = crate::schema::tables::read_with_logs(holder)?;
    let log = |table: &TableSchema| format!("{}{}", change_log::LOG_PREFIX, table.name());
    let is_tracked = |table: &&TableSchema| {
        tables.iter().any(|other| other.name().eq_ignore_ascii_case(&log(table)))
    };
    match tables.iter().filter(|table| table.has_hidden_key()).find(is_tracked) {
        Some(table) => change_log::log_schema(table, false).map(|_| ()),
        None => Ok(()),
    }
}

/// Adds the final file's path to an error: the temporary file's name means nothing to the caller.
fn name_place(error: Error, path: &Path) -> Error {
    let message =
        format!("could not write {} with another key: {}", path.display(), error.message());
    Error::new(error.kind(), message).with_source(error)
}

/// Writes the whole database to a new file. Returns its page size.
fn copy(
    holder: &mut Connection,
    old: &Settings,
    temporary: &AtomicFile,
    new: Option<&NewKey>,
) -> Result<u32> {
    let target = temporary.path().to_str().ok_or_else(|| misuse("the path must be UTF-8"))?;
    make(temporary.path(), Some(temporary.target()))
        .map_err(|error| Error::io(&format!("write {}", temporary.target().display()), error))?;
    holder.take_quoted_strings(true);
    let size = holder.first_integer("PRAGMA main.page_size")?;
    let mut size = u32::try_from(size).unwrap_or(0);
    if new.is_some() {
        size = size.max(open::SMALLEST);
    }
    #[cfg(feature = "sqlcipher")]
    let written = super::sqlcipher_copy::copy(holder, old, target, new, size);
    #[cfg(not(feature = "sqlcipher"))]
    let written = vacuum_into(holder, old, target, new, size);
    written.map(|()| size)
}

/// Writes the whole database to an empty file with a page size.
#[cfg(not(feature = "sqlcipher"))]
fn vacuum_into(
    holder: &mut Connection,
    old: &Settings,
    target: &str,
    new: Option<&NewKey>,
    size: u32,
) -> Result<()> {
    let cipher = new.map(|new| new.cipher);
    let given = new.and_then(|new| new.key.raw().cloned());
    let vfs = target_vfs(old, cipher)?;
    holder.run_owned(&format!("PRAGMA main.page_size = {size}"))?;
    let reserved = if cipher.is_some() { TAIL_BYTES } else { 0 };
    let uri = format!("{}&reserve={reserved}", ffi::file_uri(target, &vfs));
    ffi::lending(given, || holder.run_text("VACUUM main INTO ?", &[uri.as_str().into()]))?;
    Ok(())
}

/// The VFS for the new file.
pub(super) fn target_vfs(old: &Settings, cipher: Option<Cipher>) -> Result<CString> {
    let inner = old.vfs.as_deref().map(CString::new).transpose();
    let inner = inner.map_err(|_| misuse("the name of the VFS has a NUL"))?;
    let vfs = match cipher {
        Some(Cipher::Aegis256) => ffi::cipher_vfs(inner.as_deref()),
        _ => ffi::plain_vfs(inner.as_deref()),
    };
    vfs.map_err(|failure| translate(failure, None))
}
