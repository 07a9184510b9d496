//! Opening engines by URL: `engine:place?setting=value&…`.

#[cfg(feature = "remote")]
mod remote;

use bobak_core::url::{choice, config, decode, number};
use bobak_core::{Engine, Error, ErrorKind, Result};
use bobak_memory::{Memory, MemoryBuilder, SnapshotFormat};
use bobak_operations::DatabaseFile;
use bobak_operations::backup::FileType;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Opens the engine that a URL names, without a database around it. See
/// [`Db::open`](crate::Db::open).
///
/// # Errors
/// `Config` if the URL is malformed, or the feature of its engine is disabled; those of the engine.
pub fn open(url: &str) -> Result<Arc<dyn Engine>> {
    let shown = without_secrets(url);
    let bad = |message: String| Error::new(ErrorKind::Config, format!("{message} in '{shown}'"));
    let Some((scheme, rest)) = url.split_once(':') else {
        return Err(bad(NO_ENGINE.to_owned()));
    };
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    #[cfg(feature = "remote")]
    let raw = place;
    let place = decode(place).map_err(|error| in_url(error, bad))?;
    let settings = settings(query).map_err(|error| in_url(error, bad))?;
    match scheme {
        "memory" => memory(&place, &settings).map_err(|error| in_url(error, bad)),
        #[cfg(feature = "kv")]
        "kv" => key_value(&place, &settings).map_err(|error| in_url(error, bad)),
        #[cfg(feature = "sqlite")]
        "sqlite" => sqlite(&place, &settings).map_err(|error| in_url(error, bad)),
        #[cfg(feature = "postgres")]
        "postgres" | "postgresql" => bobak_postgres::Postgres::open(url)
            .map(|engine| Arc::new(engine) as Arc<dyn Engine>)
            .map_err(|error| in_url(error, bad)),
        #[cfg(feature = "mysql")]
        "mysql" | "mariadb" => bobak_mysql::MySql::open(url)
            .map(|engine| Arc::new(engine) as Arc<dyn Engine>)
            .map_err(|error| in_url(error, bad)),
        #[cfg(feature = "remote")]
        "bobak" => remote::tcp(&place, &settings).map_err(|error| in_url(error, bad)),
        #[cfg(all(feature = "remote", unix))]
        "bobak+unix" => remote::unix(&place, &settings).map_err(|error| in_url(error, bad)),
        #[cfg(feature = "remote")]
        "bobak+stdio" => remote::stdio(raw, &settings).map_err(|error| in_url(error, bad)),
        _ => Err(bad(unknown_engine(scheme))),
    }
}

/// The message for a scheme that this program can't open: its engine's feature is disabled, or no engine has it.
fn unknown_engine(scheme: &str) -> String {
    let feature = match scheme {
        "kv" => "kv",
        "sqlite" => "sqlite",
        "postgres" | "postgresql" => "postgres",
        "mysql" | "mariadb" => "mysql",
        "bobak" | "bobak+unix" | "bobak+stdio" => "remote",
        _ => {
            let known = ENGINES.join(", ");
            return format!("unknown engine '{scheme}'; there are: {known}");
        }
    };
    if cfg!(not(unix)) && scheme == "bobak+unix" {
        return "this system has no Unix sockets".to_owned();
    }
    format!(
        "this program was built without the engine '{scheme}': enable the feature `{feature}` of bobak"
    )
}

const NO_ENGINE: &str = "no engine: write sqlite:FILE, sqlite::memory: or memory:";

const ENGINES: &[&str] = &[
    #[cfg(feature = "sqlite")]
    "sqlite",
    "memory",
    #[cfg(feature = "kv")]
    "kv",
    #[cfg(feature = "postgres")]
    "postgres",
    #[cfg(feature = "mysql")]
    "mysql, mariadb",
    #[cfg(feature = "remote")]
    "bobak, bobak+unix, bobak+stdio",
];

/// The URL as messages show it, without secrets.
fn without_secrets(url: &str) -> String {
    let Some((place, query)) = url.split_once('?') else { return without_password(url) };
    let place = without_password(place);
    let shown = query.split('&').map(|part| match part.split_once('=') {
        Some((name @ ("token" | "password" | "key"), _)) => format!("{name}=…"),
        _ => part.to_owned(),
    });
    format!("{place}?{}", shown.collect::<Vec<_>>().join("&"))
}

/// `engine://user:password@host` without the password.
fn without_password(place: &str) -> String {
    let hidden = || {
        let (before, host) = place.rsplit_once('@')?;
        let (scheme, account) = before.split_once("://")?;
        let (user, _) = account.split_once(':')?;
        Some(format!("{scheme}://{user}:…@{host}"))
    };
    hidden().unwrap_or_else(|| place.to_owned())
}

/// Adds the URL to errors about settings. Those of the engine name the file already.
fn in_url(error: Error, bad: impl Fn(String) -> Error) -> Error {
    if error.kind() == ErrorKind::Config { bad(error.message().to_owned()) } else { error }
}

/// The database file that a URL names, with the settings to open it, before it is opened.
///
/// # Errors
/// `Config` if the URL is malformed; `Unsupported` for an engine that keeps no file.
pub(crate) fn database_file(url: &str) -> Result<DatabaseFile> {
    let shown = without_secrets(url);
    let bad = |message: String| config(format!("{message} in '{shown}'"));
    let (scheme, rest) = url.split_once(':').ok_or_else(|| bad(NO_ENGINE.to_owned()))?;
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    let read = || -> Result<DatabaseFile> {
        let path = PathBuf::from(decode(place)?);
        let settings = settings(query)?;
        match scheme {
            "memory" if !place.is_empty() => {
                Ok(DatabaseFile::Memory { path, builder: memory_builder(&settings)? })
            }
            #[cfg(feature = "sqlite")]
            "sqlite" if !place.is_empty() && place != ":memory:" => {
                Ok(DatabaseFile::Sqlite { path, builder: sqlite_builder(&settings)? })
            }
            _ => {
                let message = format!("'{shown}' is no file: write sqlite:FILE or memory:FILE");
                Err(Error::new(ErrorKind::Unsupported, message))
            }
        }
    };
    read().map_err(|error| in_url(error, bad))
}

fn memory(place: &str, settings: &[(String, String)]) -> Result<Arc<dyn Engine>> {
    let mut builder = memory_builder(settings)?;
    if !place.is_empty() {
        must_be_snapshot(Path::new(place))?;
        builder = builder.snapshot(place);
    }
    Ok(Arc::new(builder.open()?))
}

/// Rejects a file that does not begin as a snapshot, before the memory engine opens it: if this process has the file open
/// as an SQLite database, closing it would drop the locks of that database.
fn must_be_snapshot(file: &Path) -> Result<()> {
    if !file.is_file() {
        return Ok(());
    }
    match FileType::of(file)? {
        FileType::Sqlite | FileType::Unknown
            if file.metadata().is_ok_and(|file| file.len() > 0) =>
        {
            let message = format!(
                "the snapshot {} can't be read: it does not begin as a snapshot",
                file.display()
            );
            Err(Error::new(ErrorKind::Corrupt, message))
        }
        _ => Ok(()),
    }
}

fn memory_builder(settings: &[(String, String)]) -> Result<MemoryBuilder> {
    let mut builder = Memory::builder();
    for (name, value) in settings {
        builder = match name.as_str() {
            "format" => builder.format(choice(
                name,
                value,
                &[("binary", SnapshotFormat::Binary), ("json", SnapshotFormat::Json)],
            )?),
            "busy_timeout" => builder.busy_timeout(Duration::from_millis(number(name, value)?)),
            _ => return Err(unknown(name, "format, busy_timeout")),
        };
    }
    Ok(builder)
}

#[cfg(feature = "kv")]
fn key_value(place: &str, settings: &[(String, String)]) -> Result<Arc<dyn Engine>> {
    use bobak_kv::{Durability, Kv};
    if place.is_empty() {
        return Err(config("no file; write kv:FILE"));
    }
    let durabilities = [("immediate", Durability::Immediate), ("on_flush", Durability::OnFlush)];
    let switch = [("true", true), ("false", false)];
    let mut builder = Kv::builder();
    for (name, value) in settings {
        builder = match name.as_str() {
            "busy_timeout" => builder.busy_timeout(Duration::from_millis(number(name, value)?)),
            "cache_bytes" => builder.cache_bytes(number(name, value)?),
            "check_on_open" => builder.check_on_open(choice(name, value, &switch)?),
            "durability" => builder.durability(choice(name, value, &durabilities)?),
            _ => {
                return Err(unknown(name, "busy_timeout, cache_bytes, check_on_open, durability"));
            }
        };
    }
    Ok(Arc::new(builder.open(place)?))
}

#[cfg(feature = "sqlite")]
fn sqlite(place: &str, settings: &[(String, String)]) -> Result<Arc<dyn Engine>> {
    if place.is_empty() {
        return Err(config("no file; write sqlite:FILE or sqlite::memory:"));
    }
    let builder = sqlite_builder(settings)?;
    let engine = if place == ":memory:" { builder.open_memory()? } else { builder.open(place)? };
    Ok(Arc::new(engine))
}

#[cfg(feature = "sqlite")]
fn sqlite_builder(settings: &[(String, String)]) -> Result<bobak_sqlite::SqliteBuilder> {
    use bobak_sqlite::{JournalMode, Locking, Sqlite, Synchronous};
    let mut builder = Sqlite::builder();
    for (name, value) in settings {
        builder = match name.as_str() {
            "synchronous" => builder.synchronous(choice(
                name,
                value,
                &[
                    ("extra", Synchronous::Extra),
                    ("full", Synchronous::Full),
                    ("normal", Synchronous::Normal),
                    ("off", Synchronous::Off),
                ],
            )?),
            "journal" => builder.journal_mode(choice(
                name,
                value,
                &[
                    ("wal", JournalMode::Wal),
                    ("delete", JournalMode::Delete),
                    ("truncate", JournalMode::Truncate),
                    ("persist", JournalMode::Persist),
                    ("memory", JournalMode::Memory),
                    ("off", JournalMode::Off),
                ],
            )?),
            "locking" => builder.locking(choice(
                name,
                value,
                &[("normal", Locking::Normal), ("exclusive", Locking::Exclusive)],
            )?),
            "page_size" => builder.page_size(number(name, value)?),
            "cache_size" => builder.cache_bytes(number(name, value)?),
            "mmap_size" => builder.mmap_bytes(number(name, value)?),
            "max_value" => builder.max_value_bytes(number(name, value)?),
            "max_ahead" => builder.max_ahead_bytes(number(name, value)?),
            "busy_timeout" => builder.busy_timeout(Duration::from_millis(number(name, value)?)),
            "readers" => builder.readers(number(name, value)?),
            "vfs" => builder.vfs(value),
            "key_file" | "password_file" | "password_env" => with_key(builder, name, value)?,
            "key" | "password" => {
                return Err(config(format!(
                    "a {name} does not belong in a URL, which is shown and logged: name where it is, \
                     by key_file, password_file or password_env"
                )));
            }
            "mode" => {
                let modes =
                    &[("rwc", (false, true)), ("rw", (false, false)), ("ro", (true, false))];
                let (read_only, create) = choice(name, value, modes)?;
                builder.read_only(read_only).create(create)
            }
            "recover" => builder.recover(choice(name, value, &[("on", true), ("off", false)])?),
            _ => {
                return Err(unknown(
                    name,
                    "synchronous, journal, locking, page_size, cache_size, mmap_size, \
                     max_value, max_ahead, busy_timeout, readers, vfs, mode, recover, key_file, password_file, password_env",
                ));
            }
        };
    }
    Ok(builder)
}

/// The builder with the key of an encrypted file, read from where the URL says.
#[cfg(feature = "encryption")]
fn with_key(
    builder: bobak_sqlite::SqliteBuilder,
    name: &str,
    value: &str,
) -> Result<bobak_sqlite::SqliteBuilder> {
    use bobak_sqlite::Key;
    if builder.has_key() {
        return Err(config("one of key_file, password_file and password_env is enough"));
    }
    let key = match name {
        "key_file" => Key::from_file(value)?,
        "password_file" => Key::from_password_file(value)?,
        _ => {
            let password = std::env::var(value)
                .map_err(|_| config(format!("there is no environment variable {value}")))?;
            Key::password(password)?
        }
    };
    Ok(builder.key(key))
}

#[cfg(all(feature = "sqlite", not(feature = "encryption")))]
fn with_key(
    _: bobak_sqlite::SqliteBuilder,
    name: &str,
    _: &str,
) -> Result<bobak_sqlite::SqliteBuilder> {
    let message = format!(
        "this program was built without encryption, which {name} needs: enable the feature \
         `encryption` of bobak"
    );
    Err(Error::new(ErrorKind::Unsupported, message))
}

/// The decoded settings of a query such as `a=b&c=d`.
fn settings(query: &str) -> Result<Vec<(String, String)>> {
    let parts = query.split('&').filter(|part| !part.is_empty());
    let mut settings: Vec<(String, String)> = Vec::new();
    for part in parts {
        let (name, value) =
            part.split_once('=').ok_or_else(|| config(format!("'{part}' is not name=value")))?;
        let value = decode(value)?;
        if settings.iter().any(|(other, _)| other == name) {
            return Err(config(format!("'{name}' is there twice")));
        }
        settings.push((name.to_owned(), value));
    }
    Ok(settings)
}

fn unknown(name: &str, known: &str) -> Error {
    config(format!("unknown setting '{name}'; there are: {known}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_explain_malformed_urls() {
        for (url, expected) in [
            ("app.db", "no engine"),
            ("oracle:x", "unknown engine 'oracle'"),
            #[cfg(not(feature = "postgres"))]
            ("postgres://localhost/app", "enable the feature `postgres`"),
            #[cfg(not(feature = "mysql"))]
            ("mariadb://localhost/app", "enable the feature `mysql`"),
            #[cfg(not(feature = "sqlite"))]
            ("sqlite:app.db", "enable the feature `sqlite`"),
            #[cfg(not(feature = "kv"))]
            ("kv:app.kv", "enable the feature `kv`"),
            #[cfg(feature = "kv")]
            ("kv:", "no file; write kv:FILE"),
            #[cfg(feature = "kv")]
            ("kv:app.kv?durability=none", "durability is one of immediate, on_flush, not 'none'"),
            #[cfg(not(feature = "remote"))]
            ("bobak://localhost/app", "enable the feature `remote`"),
            ("memory:?format=xml", "format is one of binary, json, not 'xml'"),
            ("memory:?colour=red", "unknown setting 'colour'"),
            ("memory:?format", "'format' is not name=value"),
            ("memory:?format=json&format=json", "'format' is there twice"),
            #[cfg(feature = "remote")]
            (
                "bobak+stdio:bobak serve \"app.db\" --stdio",
                "begins with a quote; write a space as %20",
            ),
            ("memory:%zz", "a % without two hexadecimal digits"),
            ("memory:?busy_timeout=soon", "busy_timeout is a whole number, not 'soon'"),
        ] {
            let error = open(url).err().map(|error| (error.kind(), error.to_string()));
            let (kind, message) = error.expect(url);
            assert_eq!(kind, ErrorKind::Config, "{url}");
            assert!(message.contains(expected) && message.contains(url), "{message}");
        }
    }

    #[test]
    #[cfg(feature = "kv")]
    fn a_key_value_file_opens_with_its_settings() -> Result<()> {
        let folder = tempfile::tempdir().map_err(|error| Error::io("make a folder", error))?;
        let file = folder.path().join("app.kv");
        let url = format!("kv:{}?busy_timeout=50&cache_bytes=1000000", file.display());
        let engine = open(&url)?;
        assert_eq!(engine.name(), "kv");
        assert!(engine.capabilities().persistent);
        assert_eq!(open(&url).err().map(|error| error.kind()), Some(ErrorKind::Busy));
        drop(engine);
        open(&format!("{url}&check_on_open=true&durability=on_flush")).map(drop)
    }
}
