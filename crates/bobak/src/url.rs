//! Opening engines by URL: `engine:place?setting=value&…`.

#[cfg(feature = "remote")]
mod remote;

use bobak_core::settings::{Configurable, SettingInfo};
use bobak_core::url::{config, decode, without_password};
use bobak_core::{Engine, Error, ErrorKind, Result};
use bobak_memory::{Memory, MemoryBuilder};
use bobak_operations::DatabaseFile;
use bobak_operations::backup::FileType;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Opens the engine that a URL names, without a database around it. See
/// [`Db::open`](crate::Db::open).
///
/// # Errors
/// `Config` if the URL is malformed, or the feature of its engine is disabled; those of the engine.
pub fn open(url: &str) -> Result<Arc<dyn Engine>> {
    let shown = without_secrets(url);
    let bad = |message: String| Error::new(ErrorKind::Config, format!("'{shown}': {message}"));
    let (scheme, place, query) = parts(url).map_err(|error| in_url(error, bad))?;
    #[cfg(feature = "remote")]
    let raw = place;
    let place = decode(place).map_err(|error| in_url(error, bad))?;
    match scheme {
        "memory" => memory(&place, query).map_err(|error| in_url(error, bad)),
        #[cfg(feature = "kv")]
        "kv" => key_value(&place, query).map_err(|error| in_url(error, bad)),
        #[cfg(feature = "sqlite")]
        "sqlite" => sqlite(&place, query).map_err(|error| in_url(error, bad)),
        #[cfg(feature = "postgres")]
        "postgres" | "postgresql" => bobak_postgres::Postgres::open(url)
            .map(|engine| Arc::new(engine) as Arc<dyn Engine>)
            .map_err(|error| in_url(error, bad)),
        #[cfg(feature = "mysql")]
        "mysql" | "mariadb" => bobak_mysql::MySql::open(url)
            .map(|engine| Arc::new(engine) as Arc<dyn Engine>)
            .map_err(|error| in_url(error, bad)),
        #[cfg(feature = "firebird")]
        "firebird" => bobak_firebird::Firebird::open(url)
            .map(|engine| Arc::new(engine) as Arc<dyn Engine>)
            .map_err(|error| in_url(error, bad)),
        #[cfg(feature = "mssql")]
        "mssql" => bobak_mssql::Mssql::open(url)
            .map(|engine| Arc::new(engine) as Arc<dyn Engine>)
            .map_err(|error| in_url(error, bad)),
        #[cfg(feature = "oracle")]
        "oracle" => bobak_oracle::Oracle::open(url)
            .map(|engine| Arc::new(engine) as Arc<dyn Engine>)
            .map_err(|error| in_url(error, bad)),
        #[cfg(feature = "access")]
        "access" => access(&place, query).map_err(|error| in_url(error, bad)),
        #[cfg(feature = "odbc")]
        "odbc" => bobak_odbc::Odbc::open(url)
            .map(|engine| Arc::new(engine) as Arc<dyn Engine>)
            .map_err(|error| in_url(error, bad)),
        #[cfg(feature = "remote")]
        "bobak" => remote::tcp(&place, query).map_err(|error| in_url(error, bad)),
        #[cfg(all(feature = "remote", unix))]
        "bobak+unix" => remote::unix(&place, query).map_err(|error| in_url(error, bad)),
        #[cfg(feature = "remote")]
        "bobak+stdio" => remote::stdio(raw, query).map_err(|error| in_url(error, bad)),
        _ => Err(bad(unknown_engine(scheme))),
    }
}

/// The engine, the place and the settings of a URL. A text without a colon names an SQLite file.
fn parts(url: &str) -> Result<(&str, &str, &str)> {
    let (scheme, rest) = url.split_once(':').unwrap_or(("sqlite", url));
    if url.is_empty() {
        return Err(config(NO_ENGINE));
    }
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    // Libraries differ in whether `//x.db` is in the current folder or in the root.
    if let Some(path) =
        place.strip_prefix("//").filter(|_| matches!(scheme, "sqlite" | "kv" | "memory" | "access"))
    {
        let name = path.trim_start_matches('/');
        return Err(config(format!(
            "omit the '//' before a file name: write {scheme}:{name} for one in the current \
             folder, or \
             {scheme}:/{name}"
        )));
    }
    Ok((scheme, place, query))
}

/// The settings of each engine of this program, by the engine's name in URLs.
#[must_use]
pub fn all_settings() -> Vec<(&'static str, &'static [SettingInfo])> {
    vec![
        #[cfg(feature = "sqlite")]
        ("sqlite", bobak_sqlite::SqliteBuilder::SETTINGS),
        ("memory", MemoryBuilder::SETTINGS),
        #[cfg(feature = "kv")]
        ("kv", bobak_kv::KvBuilder::SETTINGS),
        #[cfg(feature = "postgres")]
        ("postgres", bobak_postgres::PostgresBuilder::SETTINGS),
        #[cfg(feature = "mysql")]
        ("mysql", bobak_mysql::MySqlBuilder::SETTINGS),
        #[cfg(feature = "firebird")]
        ("firebird", bobak_firebird::FirebirdBuilder::SETTINGS),
        #[cfg(feature = "mssql")]
        ("mssql", bobak_mssql::MssqlBuilder::SETTINGS),
        #[cfg(feature = "oracle")]
        ("oracle", bobak_oracle::OracleBuilder::SETTINGS),
        #[cfg(feature = "access")]
        ("access", bobak_access::MsAccessBuilder::SETTINGS),
        #[cfg(feature = "odbc")]
        ("odbc", bobak_odbc::OdbcBuilder::SETTINGS),
        #[cfg(feature = "remote")]
        ("bobak", bobak_remote::RemoteBuilder::SETTINGS),
    ]
}

/// The message for a scheme that this program can't open: its engine's feature is disabled, or no engine has it.
fn unknown_engine(scheme: &str) -> String {
    let feature = match scheme {
        "kv" => "kv",
        "sqlite" => "sqlite",
        "postgres" | "postgresql" => "postgres",
        "mysql" | "mariadb" => "mysql",
        "firebird" => "firebird",
        "mssql" => "mssql",
        "oracle" => "oracle",
        "access" => "access",
        "odbc" => "odbc",
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
    #[cfg(feature = "firebird")]
    "firebird",
    #[cfg(feature = "mssql")]
    "mssql",
    #[cfg(feature = "oracle")]
    "oracle",
    #[cfg(feature = "access")]
    "access",
    #[cfg(feature = "odbc")]
    "odbc",
    #[cfg(feature = "remote")]
    "bobak, bobak+unix, bobak+stdio",
];

/// The file that a URL names, if the engine keeps its tables in one file of this machine; `None` for other URLs.
///
/// ```
/// use bobak::engine::file_of_url;
/// assert_eq!(file_of_url("sqlite:my%20shop.db?journal_mode=wal"), Some("my shop.db".into()));
/// assert_eq!(file_of_url("sqlite::memory:"), None);
/// assert_eq!(file_of_url("postgres://localhost/shop"), None);
/// ```
#[must_use]
pub fn file_of_url(url: &str) -> Option<PathBuf> {
    let (scheme, rest) = url.split_once(':')?;
    let place = decode(rest.split('?').next()?).ok()?;
    let in_file = matches!(scheme, "sqlite" | "memory" | "kv" | "access");
    (in_file && !place.is_empty() && place != ":memory:").then(|| PathBuf::from(place))
}

/// A URL without its secrets, for messages and logs: the password, key and token are `…`.
///
/// ```
/// use bobak::engine::without_secrets;
/// assert_eq!(without_secrets("postgres://ada:x1@db1/shop"), "postgres://ada:…@db1/shop");
/// assert_eq!(without_secrets("odbc:DSN=shop;UID=ada;PWD={x;1}"), "odbc:DSN=shop;UID=ada;PWD=…");
/// assert_eq!(without_secrets("odbc:PWD=x1;DSN=shop"), "odbc:PWD=…;DSN=shop");
/// ```
#[must_use]
pub fn without_secrets(url: &str) -> String {
    let Some((place, query)) = url.split_once('?') else { return place_without_password(url) };
    let place = place_without_password(place);
    let shown = query.split('&').map(|part| match part.split_once('=') {
        Some((name @ ("token" | "password" | "key"), _)) => format!("{name}=…"),
        _ => part.to_owned(),
    });
    format!("{place}?{}", shown.collect::<Vec<_>>().join("&"))
}

/// `engine://user:password@host` without the password, or `odbc:` without that of its connection string.
fn place_without_password(place: &str) -> String {
    if let Some(text) = place.strip_prefix("odbc:") {
        return format!("odbc:{}", without_password(text));
    }
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
    let bad = |message: String| config(format!("'{shown}': {message}"));
    let (scheme, place, query) = parts(url).map_err(|error| in_url(error, bad))?;
    let read = || -> Result<DatabaseFile> {
        let path = PathBuf::from(decode(place)?);
        match scheme {
            "memory" if !place.is_empty() => {
                Ok(DatabaseFile::Memory { path, builder: memory_builder(query)? })
            }
            #[cfg(feature = "sqlite")]
            "sqlite" if !place.is_empty() && place != ":memory:" => {
                Ok(DatabaseFile::Sqlite { path, builder: Box::new(sqlite_builder(query)?) })
            }
            _ => {
                let message = format!("'{shown}' is not a file: write sqlite:FILE or memory:FILE");
                Err(Error::new(ErrorKind::Unsupported, message))
            }
        }
    };
    read().map_err(|error| in_url(error, bad))
}

fn memory(place: &str, query: &str) -> Result<Arc<dyn Engine>> {
    let mut builder = memory_builder(query)?;
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
            let message =
                format!("the snapshot {} can't be read: it is not a snapshot", file.display());
            Err(Error::new(ErrorKind::Corrupt, message))
        }
        _ => Ok(()),
    }
}

fn memory_builder(query: &str) -> Result<MemoryBuilder> {
    must_have_no_secret(query)?;
    let mut builder = Memory::builder();
    builder.set_query(query)?;
    Ok(builder)
}

#[cfg(feature = "kv")]
fn key_value(place: &str, query: &str) -> Result<Arc<dyn Engine>> {
    if place.is_empty() {
        return Err(config("no file; write kv:FILE"));
    }
    let mut builder = bobak_kv::Kv::builder();
    builder.set_query(query)?;
    Ok(Arc::new(builder.open(place)?))
}

#[cfg(feature = "access")]
fn access(place: &str, query: &str) -> Result<Arc<dyn Engine>> {
    if place.is_empty() {
        return Err(config("no file; write access:FILE"));
    }
    let mut builder = bobak_access::MsAccess::builder();
    builder.set_query(query)?;
    Ok(Arc::new(builder.open(place)?))
}

#[cfg(feature = "sqlite")]
fn sqlite(place: &str, query: &str) -> Result<Arc<dyn Engine>> {
    if place.is_empty() {
        return Err(config("no file; write sqlite:FILE or sqlite::memory:"));
    }
    let builder = sqlite_builder(query)?;
    let engine = if place == ":memory:" { builder.open_memory()? } else { builder.open(place)? };
    Ok(Arc::new(engine))
}

#[cfg(feature = "sqlite")]
fn sqlite_builder(query: &str) -> Result<bobak_sqlite::SqliteBuilder> {
    must_have_no_secret(query)?;
    let mut builder = bobak_sqlite::Sqlite::builder();
    builder.set_query(query)?;
    Ok(builder)
}

/// Rejects a key in a URL, which says where the key is instead.
fn must_have_no_secret(query: &str) -> Result<()> {
    let mut names = query.split('&').filter_map(|part| part.split_once('='));
    match names.find(|(name, _)| matches!(*name, "key" | "password")) {
        None => Ok(()),
        Some((name, _)) => Err(config(format!(
            "a URL is shown and logged, so it cannot contain a {name}: use key_file, \
             password_file or password_env"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bobak_core::settings::SettingKind;

    /// Sets each setting to a value that is not its default, and to wrong ones.
    fn check<C: Configurable + std::fmt::Debug>() {
        for info in C::SETTINGS {
            let (value, wrong): (_, &[&str]) = match info.kind {
                SettingKind::Switch if info.default() == "on" => ("off", &["yes"]),
                SettingKind::Switch => ("on", &["yes"]),
                SettingKind::Word(words) => (*words.last().unwrap(), &["", "some"]),
                SettingKind::Number | SettingKind::Duration => ("9", &["-1", "many", "1s"]),
                SettingKind::Text | SettingKind::List => ("x", &[]),
            };
            let mut settings = C::default();
            settings.set_query(&format!("{}={value}", info.key)).unwrap();
            let is_same = format!("{settings:?}") == format!("{:?}", C::default());
            assert_eq!(is_same, info.secret || value == info.default(), "{}", info.key);
            let bounds = [info.min.checked_sub(1), info.max.checked_add(1)].into_iter().flatten();
            let bounds: Vec<String> = bounds.map(|bound| bound.to_string()).collect();
            for wrong in wrong.iter().copied().chain(bounds.iter().map(String::as_str)) {
                let error = C::default().set(info.key, wrong).unwrap_err();
                let expected = format!("{} is {}, not '{wrong}'", info.key, info.expected());
                assert_eq!((error.kind(), error.message()), (ErrorKind::Config, &*expected));
            }
        }
    }

    #[test]
    fn every_setting_is_in_urls() {
        check::<MemoryBuilder>();
        #[cfg(feature = "kv")]
        check::<bobak_kv::KvBuilder>();
        #[cfg(feature = "sqlite")]
        check::<bobak_sqlite::SqliteBuilder>();
        #[cfg(feature = "postgres")]
        check::<bobak_postgres::PostgresBuilder>();
        #[cfg(feature = "firebird")]
        check::<bobak_firebird::FirebirdBuilder>();
        #[cfg(feature = "mssql")]
        check::<bobak_mssql::MssqlBuilder>();
        #[cfg(feature = "oracle")]
        check::<bobak_oracle::OracleBuilder>();
        #[cfg(feature = "access")]
        check::<bobak_access::MsAccessBuilder>();
        #[cfg(feature = "odbc")]
        check::<bobak_odbc::OdbcBuilder>();
        #[cfg(feature = "mysql")]
        check::<bobak_mysql::MySqlBuilder>();
        #[cfg(feature = "remote")]
        check::<bobak_remote::RemoteBuilder>();
        assert!(all_settings().iter().any(|(name, infos)| *name == "memory" && !infos.is_empty()));
    }

    #[test]
    fn errors_explain_malformed_urls() {
        for (url, expected) in [
            ("", "no engine"),
            ("?mode=ro", "no file"),
            (
                "sqlite://app.db",
                "write sqlite:app.db for one in the current folder, or sqlite:/app.db",
            ),
            ("sqlite:///app.db", "write sqlite:app.db for one in the current folder"),
            ("memory://app.bobak", "write memory:app.bobak"),
            ("db2:x", "'db2:x': unknown engine 'db2'; there are: "),
            #[cfg(not(feature = "postgres"))]
            ("postgres://localhost/app", "enable the feature `postgres`"),
            #[cfg(not(feature = "mysql"))]
            ("mariadb://localhost/app", "enable the feature `mysql`"),
            #[cfg(not(feature = "firebird"))]
            ("firebird://ada:secret@db1/shop", "enable the feature `firebird`"),
            #[cfg(feature = "firebird")]
            ("firebird://db1", "write firebird://user:password@host:port/path-or-alias"),
            #[cfg(not(feature = "mssql"))]
            ("mssql://ada:secret@db1/shop", "enable the feature `mssql`"),
            #[cfg(feature = "mssql")]
            ("mssql://db1", "write mssql://user:password@host:port/database"),
            #[cfg(not(feature = "oracle"))]
            ("oracle://ada:secret@db1/shop", "enable the feature `oracle`"),
            #[cfg(feature = "oracle")]
            ("oracle://db1", "write oracle://user:password@host:port/service"),
            #[cfg(not(feature = "access"))]
            ("access:shop.accdb", "enable the feature `access`"),
            #[cfg(feature = "access")]
            ("access:", "no file; write access:FILE"),
            #[cfg(not(feature = "odbc"))]
            ("odbc:shop;PWD=secret", "'odbc:shop;PWD=…': this program was built without"),
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
            #[cfg(feature = "remote")]
            ("bobak://ada:sec%20ret@localhost/app", "the password are settings"),
            #[cfg(feature = "remote")]
            ("bobak://localhost:99999/app", "the port is no number up to 65535"),
            ("memory:?format=xml", "format is one of binary, json, not 'xml'"),
            ("memory:?colour=red", "unknown setting 'colour'"),
            ("memory:?format", "'format' is not name=value"),
            ("memory:?format=json&format=json", "'format' is given twice"),
            #[cfg(feature = "remote")]
            (
                "bobak+stdio:bobak serve \"app.db\" --stdio",
                "begins with a quote; write a space as %20",
            ),
            ("memory:%zz", "a % without two hexadecimal digits"),
            (
                "memory:?busy_timeout=soon",
                "busy_timeout is a whole number of milliseconds, not 'soon'",
            ),
        ] {
            let error = open(url).err().map(|error| (error.kind(), error.to_string()));
            let (kind, message) = error.expect(url);
            assert_eq!(kind, ErrorKind::Config, "{url}");
            assert!(
                message.contains(expected) && message.contains(&without_secrets(url)),
                "{message}"
            );
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
        open(&format!("{url}&check_on_open=on&durability=on_flush")).map(drop)
    }
}
