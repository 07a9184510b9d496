//! A schema or a database for each test, on the servers that are named or on private ones, which end with this process.
//! With `BOBAK_NO_SERVERS` set, which `cargo xtask test --no-servers` does, these tests do nothing.

use bobak_core::{Engine, Result};
use bobak_odbc::Odbc;
use bobak_servers::{MariaDb, Postgres};
use bobak_testkit::Fixture;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

static POSTGRES: LazyLock<(String, Option<Postgres>)> = LazyLock::new(|| {
    named("BOBAK_TEST_POSTGRES").map(|url| (url, None)).unwrap_or_else(|| {
        let server = Postgres::start().unwrap_or_else(|error| panic!("{error}: {CURE}"));
        (server.url(), Some(server))
    })
});

static MARIADB: LazyLock<(String, Option<MariaDb>)> = LazyLock::new(|| {
    named("BOBAK_TEST_MARIADB").map(|url| (url, None)).unwrap_or_else(|| {
        let server = MariaDb::start().unwrap_or_else(|error| panic!("{error}: {CURE}"));
        (server.url(), Some(server))
    })
});

const CURE: &str =
    "install PostgreSQL and MariaDB, or set BOBAK_NO_SERVERS to skip the tests that need them";

fn named(variable: &str) -> Option<String> {
    std::env::var(variable).ok()
}

/// Whether the run is one without servers.
pub fn is_without_servers() -> bool {
    let is_without = std::env::var_os("BOBAK_NO_SERVERS").is_some();
    if is_without {
        println!("skipped: BOBAK_NO_SERVERS is set");
    }
    is_without
}

fn next(prefix: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("{prefix}_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// The parts of `scheme://user:password@host:port/database`, as a connection string.
fn connection_string(url: &str, driver: &str, database: Option<&str>) -> String {
    let (_, rest) = url.split_once("://").unwrap();
    let (place, _) = rest.split_once('?').unwrap_or((rest, ""));
    let (login, place) = place.rsplit_once('@').unwrap_or(("bobak", place));
    let (user, password) = login.split_once(':').unwrap_or((login, ""));
    let (host, own) = place.split_once('/').unwrap_or((place, ""));
    let (host, port) = host.split_once(':').unwrap();
    let database = database.unwrap_or(own);
    format!(
        "Driver={{{driver}}};Server={host};Port={port};Database={database};UID={user};PWD={password}"
    )
}

/// A schema or a database that goes with it.
pub struct Place {
    pub connection_string: String,
    admin: Odbc,
    drop: String,
}

impl Place {
    pub fn postgres() -> Self {
        let admin = connection_string(&POSTGRES.0, "PostgreSQL Unicode", None);
        let name = next("odbc");
        let settings = format!("{admin};ConnSettings=SET search_path = {name}");
        Self::new(
            &admin,
            settings,
            format!("CREATE SCHEMA {name}"),
            format!("DROP SCHEMA {name} CASCADE"),
        )
    }

    pub fn mariadb() -> Self {
        let admin = connection_string(&MARIADB.0, "MariaDB Unicode", None);
        let name = next("odbc");
        let own = connection_string(&MARIADB.0, "MariaDB Unicode", Some(&name));
        Self::new(&admin, own, format!("CREATE DATABASE {name}"), format!("DROP DATABASE {name}"))
    }

    fn new(admin: &str, connection_string: String, create: String, drop: String) -> Self {
        let admin = Odbc::builder(admin).connections(1).connect().unwrap();
        admin.session().unwrap().execute(&create, &[]).unwrap();
        Self { connection_string, admin, drop }
    }

    pub fn open(&self) -> Result<Odbc> {
        Odbc::builder(self.connection_string.clone())
            .busy_timeout(Duration::from_millis(400))
            .connect()
    }

    /// Runs a statement on a connection other than the engine's.
    pub fn admin(&self, sql: &str) -> Result<u64> {
        self.admin.session()?.execute(sql, &[])
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // What is left behind goes with the server.
        let _ = self.admin(&self.drop);
    }
}

/// A new store. In a run without servers it is one of the memory engine, since each case needs a store.
pub fn fresh(place: fn() -> Place) -> Result<Fixture> {
    if is_without_servers() {
        return Ok(Fixture::volatile(bobak_memory::Memory::new()));
    }
    let place = place();
    Fixture::persistent(move || Ok(Box::new(place.open()?) as Box<dyn Engine>))
}
