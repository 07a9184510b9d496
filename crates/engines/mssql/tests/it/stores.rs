//! A database for each test on the server that `BOBAK_TEST_MSSQL` names: none can be installed by these tests. Without it,
//! the tests that need a server do nothing.

use bobak_core::{Engine, Result};
use bobak_mssql::MssqlBuilder;
use bobak_testkit::{Fixture, RowByRow};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Whether the run is one with a server.
pub fn has_server() -> bool {
    let has = std::env::var_os("BOBAK_TEST_MSSQL").is_some();
    if !has {
        println!("skipped: BOBAK_TEST_MSSQL names no server");
    }
    has
}

/// The URL of a database that does not exist.
pub fn new_url() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = format!("test_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let url = std::env::var("BOBAK_TEST_MSSQL").unwrap_or_default();
    // The same place, under another name.
    let (place, settings) = url.split_once('?').unwrap_or((&url, ""));
    let server = place.rsplit_once('/').map_or(place, |(server, _)| server);
    format!("{server}/{name}?{settings}")
}

/// Settings for a new database.
pub fn settings() -> MssqlBuilder {
    MssqlBuilder::from_url(&new_url())
        .unwrap()
        .busy_timeout(Duration::from_millis(400))
        .create(true)
}

/// A new store. In a run without a server it is one of the memory engine, since each case needs a store.
pub fn fresh() -> Result<Fixture> {
    if !has_server() {
        return Ok(Fixture::volatile(bobak_memory::Memory::new()));
    }
    let settings = settings();
    Fixture::persistent(move || Ok(Box::new(settings.clone().connect()?) as Box<dyn Engine>))
}

/// With batches that are sent row by row.
pub fn row_by_row() -> Result<Fixture> {
    fresh()?.wrapped(|engine| Box::new(RowByRow::new(engine)))
}
