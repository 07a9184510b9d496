//! New databases on servers that the tests of a process share.

use std::env;
use std::fmt;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::{Error, Firebird, MariaDb, Options, Postgres, Result};

/// A new database on a server that the process starts once, for a test that does not stop it or change its users and settings.
/// It is dropped with this; the server ends with the process.
pub struct TestDatabase {
    url: String,
    drop: Box<dyn Fn() + Send + Sync>,
}

type SharedServer<S> = LazyLock<Result<S>>;

impl TestDatabase {
    /// On PostgreSQL; `None`, and a line on standard output, if `BOBAK_TEST_POSTGRES` is not set.
    ///
    /// # Errors
    /// As [`Postgres::start`], and if the database cannot be created.
    pub fn on_postgres() -> Result<Option<Self>> {
        static SERVER: SharedServer<Postgres> = LazyLock::new(|| {
            Postgres::start_with(&Options::new().setting("max_connections", "300"))
        });
        if !is_wanted("BOBAK_TEST_POSTGRES") {
            return Ok(None);
        }
        let (server, name) = (shared(&SERVER)?, new_name());
        server.run(&format!("CREATE DATABASE {name}"))?;
        let url = renamed(&server.url(), &name);
        let drop = move || drop(server.run(&format!("DROP DATABASE {name} WITH (FORCE)")));
        Ok(Some(Self { url, drop: Box::new(drop) }))
    }

    /// On MariaDB; `None`, and a line on standard output, if `BOBAK_TEST_MARIADB` is not set.
    ///
    /// # Errors
    /// As [`MariaDb::start`], and if the database cannot be created.
    pub fn on_mariadb() -> Result<Option<Self>> {
        static SERVER: SharedServer<MariaDb> = LazyLock::new(|| {
            MariaDb::start_with(&Options::new().setting("max-connections", "300"))
        });
        if !is_wanted("BOBAK_TEST_MARIADB") {
            return Ok(None);
        }
        let (server, name) = (shared(&SERVER)?, new_name());
        server.run(&format!("CREATE DATABASE {name}"))?;
        let url = renamed(&server.url(), &name);
        let drop = move || drop(server.run(&format!("DROP DATABASE {name}")));
        Ok(Some(Self { url, drop: Box::new(drop) }))
    }

    /// On Firebird; `None`, and a line on standard output, if `BOBAK_TEST_FIREBIRD` is not set. Who opens the URL first
    /// creates the database.
    ///
    /// # Errors
    /// As [`Firebird::start`].
    pub fn on_firebird() -> Result<Option<Self>> {
        static SERVER: SharedServer<Firebird> = LazyLock::new(Firebird::start);
        if !is_wanted("BOBAK_TEST_FIREBIRD") {
            return Ok(None);
        }
        let (server, name) = (shared(&SERVER)?, format!("{}.fdb", new_name()));
        let url = server.url_of(&name);
        Ok(Some(Self { url, drop: Box::new(move || drop(server.remove(&name))) }))
    }

    /// Its URL.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        (self.drop)();
    }
}

impl fmt::Debug for TestDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TestDatabase").field(&self.url).finish()
    }
}

/// Whether the tests run with this server.
fn is_wanted(variable: &str) -> bool {
    let is_wanted = env::var_os(variable).is_some();
    if !is_wanted {
        println!("not run: {variable} is not set");
    }
    is_wanted
}

fn shared<S>(server: &'static SharedServer<S>) -> Result<&'static S> {
    server.as_ref().map_err(|error| Error::new(error.to_string()))
}

fn new_name() -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    format!("test_{}", NUMBER.fetch_add(1, Ordering::Relaxed))
}

/// The URL of the server's database `bobak`, with another name.
fn renamed(url: &str, name: &str) -> String {
    format!("{}{name}", url.strip_suffix("bobak").unwrap_or(url))
}
