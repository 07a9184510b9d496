//! A database for each test on one server: the one that `BOBAK_TEST_MARIADB` names, or a private one that is started for
//! the whole run. With `BOBAK_NO_SERVERS` set, which `cargo xtask test --no-servers` does, these tests do nothing.

use bobak_core::{Engine, Result, Session};
use bobak_mysql::{MySql, MySqlBuilder};
use bobak_servers::MariaDb;
use bobak_testkit::{Fixture, RowByRow};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// The URL of a private server. The server ends with this process.
static PRIVATE: LazyLock<(String, MariaDb)> = LazyLock::new(|| {
    let server = MariaDb::start().unwrap_or_else(|error| {
        panic!(
            "{error}: install MariaDB, name a running server in BOBAK_TEST_MARIADB, or set BOBAK_NO_SERVERS to skip \
             the tests that need one"
        )
    });
    (server.url(), server)
});

/// The server's URL; `None` only if the run is one without servers.
pub fn server() -> Option<String> {
    if let Ok(url) = std::env::var("BOBAK_TEST_MARIADB") {
        return Some(url);
    }
    if std::env::var_os("BOBAK_NO_SERVERS").is_some() {
        println!("skipped: BOBAK_NO_SERVERS is set");
        return None;
    }
    Some(PRIVATE.0.clone())
}

/// A database without tables, dropped with this.
pub struct Database {
    server: MySql,
    pub name: String,
    pub settings: MySqlBuilder,
}

impl Database {
    pub fn new(url: &str) -> Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("bobak_test_{}_{number}", std::process::id());
        let settings = MySqlBuilder::from_url(url)?.busy_timeout(Duration::from_secs(1));
        let server = settings.clone().connect()?;
        run(&server, &format!("CREATE DATABASE {name}"))?;
        Ok(Self { server, settings: settings.database(name.clone()), name })
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let _ = run(&self.server, &format!("DROP DATABASE {}", self.name));
    }
}

/// Runs a statement.
pub fn run(engine: &MySql, sql: &str) -> Result<u64> {
    let session: Box<dyn Session + '_> = engine.session()?;
    session.execute(sql, &[])
}

/// A new store. In a run without servers it is one of the memory engine, since each case needs a store.
pub fn fresh() -> Result<Fixture> {
    with(|settings| settings)
}

/// With statements that are not prepared.
pub fn unprepared() -> Result<Fixture> {
    with(|settings| settings.prepared(false))
}

/// With batches that are sent row by row.
pub fn row_by_row() -> Result<Fixture> {
    fresh()?.wrapped(|engine| Box::new(RowByRow::new(engine)))
}

fn with(set: impl Fn(MySqlBuilder) -> MySqlBuilder + 'static) -> Result<Fixture> {
    let Some(url) = server() else {
        return Ok(Fixture::volatile(bobak_memory::Memory::new()));
    };
    let database = Database::new(&url)?;
    Fixture::persistent(move || {
        Ok(Box::new(set(database.settings.clone()).connect()?) as Box<dyn Engine>)
    })
}
