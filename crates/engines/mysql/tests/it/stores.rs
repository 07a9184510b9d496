//! Databases of their own on the server, gone when their tests are over.

use bobak_core::{Engine, Result, Session};
use bobak_mysql::{MySql, MySqlBuilder};
use bobak_testkit::{Fixture, RowByRow};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// The server's URL.
pub fn server() -> Option<String> {
    let url = std::env::var("BOBAK_TEST_MARIADB").ok().filter(|url| !url.is_empty());
    if url.is_none() {
        println!("left out: BOBAK_TEST_MARIADB names no server");
    }
    url
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

/// A new store; the memory engine's where there is no server, so that tests of the suite pass.
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
