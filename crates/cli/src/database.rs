//! The database that a command works on, and what commands ask of it.

use crate::error::{Error, Result};
use crate::output::Screen;
use bobak::changes::TrackOptions;
use bobak::schema::TableSchema;
use bobak::{Db, DynTable, Row};
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The setting of a URL that names the key, for the whole run.
static KEY: OnceLock<String> = OnceLock::new();

/// Names the key of the SQLite files of this run whose URLs name none: `key_file` or `password_file`, and the file.
pub fn set_key(setting: &str, file: &Path) {
    let file = file.display().to_string();
    let file = file.replace('%', "%25").replace('&', "%26").replace('#', "%23");
    let _ = KEY.set(format!("{setting}={file}"));
}

/// The URL with the key of the run, where it names an SQLite file and no key.
#[must_use]
pub fn with_key(url: &str) -> Cow<'_, str> {
    let Some(key) = KEY.get() else { return Cow::Borrowed(url) };
    let (_, settings) = url.split_once('?').unwrap_or((url, ""));
    let names = ["key_file=", "password_file=", "password_env="];
    let said = settings.split('&').any(|part| names.iter().any(|name| part.starts_with(name)));
    if said || !url.starts_with("sqlite:") || file_of(url).is_none() {
        return Cow::Borrowed(url);
    }
    let separator = if url.contains('?') { '&' } else { '?' };
    Cow::Owned(format!("{url}{separator}{key}"))
}

/// Opens a database to write to; an SQLite file is made where it is not there.
///
/// # Errors
/// A malformed URL is a usage error; a file that is no database, or can't be opened.
pub fn open(url: &str) -> Result<Db> {
    Db::open(&with_key(url)).map_err(|error| match error.kind() {
        bobak::ErrorKind::Config => Error::usage(error.to_string()),
        _ => Error::failed(error.to_string()),
    })
}

/// Opens a database that is there, to change what is in it.
///
/// # Errors
/// As [`open`], and a file that is not there: it is not made.
pub fn open_existing(url: &str) -> Result<Db> {
    match file_of(url) {
        Some(file) if !file.exists() => {
            Err(Error::failed(format!("there is no file {}", file.display())))
        }
        _ => open(url),
    }
}

/// Opens a database to read from. A file is left as it is, its journal mode included, and may be
/// one that can't be written. Only what a killed program left there is undone.
///
/// # Errors
/// As [`open_existing`].
pub fn open_to_read(url: &str) -> Result<Db> {
    open_existing(&read_only(url)).map_err(|error| match error {
        // Nobody wrote that.
        Error::Failed(sentence) => Error::Failed(without_added(&sentence)),
        Error::Usage(sentence) => Error::Usage(without_added(&sentence)),
        error @ Error::OutputClosed => error,
    })
}

/// What the URLs of files get that are only read.
const READ_ONLY: &str = "mode=ro&recover=on";

fn without_added(sentence: &str) -> String {
    ["?", "&"].iter().fold(sentence.to_owned(), |sentence, separator| {
        sentence.replace(&format!("{separator}{READ_ONLY}"), "")
    })
}

/// The URL with the setting to read only, unless it has a word about that.
fn read_only(url: &str) -> Cow<'_, str> {
    let (place, settings) = url.split_once('?').unwrap_or((url, ""));
    let said = settings.split('&').any(|setting| setting.starts_with("mode="));
    if said || !place.starts_with("sqlite:") || file_of(url).is_none() {
        return Cow::Borrowed(url);
    }
    let separator = if url.contains('?') { '&' } else { '?' };
    Cow::Owned(format!("{url}{separator}{READ_ONLY}"))
}

/// Whether the URL names a file that is not there.
#[must_use]
pub fn is_missing(url: &str) -> bool {
    file_of(url).is_some_and(|file| !file.exists())
}

/// The file that a URL names, where it names one that is read as it stands: without `%`.
#[must_use]
fn file_of(url: &str) -> Option<PathBuf> {
    let (scheme, rest) = url.split_once(':')?;
    let place = rest.split('?').next()?;
    let named = matches!(scheme, "sqlite" | "memory")
        && !place.is_empty()
        && place != ":memory:"
        && !place.contains('%');
    named.then(|| PathBuf::from(place))
}

/// A table by its name.
///
/// # Errors
/// There is none of this name: those that there are are named.
pub fn table(db: &Db, name: &str) -> Result<DynTable<'static>> {
    db.dynamic(name).map_err(|error| match error.kind() {
        bobak::ErrorKind::Schema => Error::failed(error.message()),
        _ => error.into(),
    })
}

/// Hands out rows until the first error of `each`, which is given back.
///
/// `read` is what reads: it takes a function that says whether to go on. An error of the command
/// is no error of the database, so it is carried past it.
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

/// A row with chosen columns of another, in their order.
pub struct Chosen<'a> {
    /// The whole row.
    pub row: &'a dyn Row,
    /// The places of the columns in it.
    pub places: &'a [usize],
}

impl Row for Chosen<'_> {
    fn len(&self) -> usize {
        self.places.len()
    }

    fn get(&self, column: usize) -> bobak::ValueRef<'_> {
        self.places.get(column).map_or(bobak::ValueRef::Null, |&place| self.row.get(place))
    }
}

/// The tables with these names, in the order of the database; all where none is named.
///
/// # Errors
/// A name that no table has.
pub fn tables(db: &Db, wanted: &[String]) -> Result<Vec<TableSchema>> {
    let mut tables = db.tables()?;
    for name in wanted {
        if !tables.iter().any(|table| table.name().eq_ignore_ascii_case(name)) {
            // Its error names the tables that there are.
            table(db, name)?;
        }
    }
    let is_wanted = |table: &TableSchema| {
        wanted.is_empty() || wanted.iter().any(|name| table.name().eq_ignore_ascii_case(name))
    };
    tables.retain(is_wanted);
    Ok(tables)
}

/// Has tables tracked from now on that are not yet, or no longer are since SQL made them anew; all where none is named.
///
/// # Errors
/// A name that no table has; a table that can't be tracked.
pub fn track(db: &Db, wanted: &[String], screen: &Screen) -> Result<()> {
    let tracked = db.tracked_tables()?;
    let mut names = Vec::new();
    for table in tables(db, wanted)? {
        if !db.is_tracked(table.name())? {
            db.track_table(table.name(), TrackOptions::new())?;
            names.push(table.name().to_owned());
        }
    }
    if !names.is_empty() {
        // The memory engine keeps a file only then.
        db.flush()?;
    }
    for name in names {
        let was = tracked.iter().any(|other| other.eq_ignore_ascii_case(&name));
        let again = if was { " again" } else { "" };
        screen.note(format_args!("{name} is tracked{again} from now on"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_a_url() {
        assert_eq!(file_of("sqlite:a.db?journal=wal"), Some("a.db".into()));
        assert_eq!(file_of("memory:a.bobak"), Some("a.bobak".into()));
        assert_eq!(file_of("sqlite::memory:"), None);
        assert_eq!(file_of("memory:"), None);
        assert_eq!(file_of("flights.db"), None);
        assert_eq!(file_of("oracle:flights.db"), None);
    }

    #[test]
    fn files_are_read_without_a_change() {
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
