//! Stores on the test server, each in a schema of its own.

use bobak_core::{Engine, Result};
use bobak_postgres::Postgres;
use bobak_testkit::{Fixture, RowByRow};
use std::sync::atomic::{AtomicU64, Ordering};

/// The server's URL. Without a server it is `None`, after a line on standard output.
pub fn url() -> Option<String> {
    let url = std::env::var("BOBAK_TEST_POSTGRES").ok();
    if url.is_none() {
        println!("skipped: BOBAK_TEST_POSTGRES names no server");
    }
    url
}

/// A schema that goes with it.
pub struct Schema {
    url: String,
    pub name: String,
}

impl Schema {
    pub fn new(url: &str) -> Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("t{}_{number}", std::process::id());
        let schema = Self { url: url.to_owned(), name };
        schema.admin(&format!("CREATE SCHEMA {}", schema.name))?;
        Ok(schema)
    }

    /// Runs a statement on a connection other than the engine's.
    pub fn admin(&self, sql: &str) -> Result<()> {
        let admin = Postgres::open(&self.with("connections=1"))?;
        admin.session()?.execute(sql, &[]).map(drop)
    }

    /// The URL with settings.
    fn with(&self, settings: &str) -> String {
        let mark = if self.url.contains('?') { '&' } else { '?' };
        format!("{}{mark}{settings}", self.url)
    }

    /// The URL of this schema, with more settings.
    pub fn url(&self, settings: &str) -> String {
        let timeout = if settings.contains("busy_timeout") { "" } else { "busy_timeout=300&" };
        self.with(&format!("schema={}&{timeout}{settings}", self.name))
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        // What is left behind goes with the server.
        let _ = self.admin(&format!("DROP SCHEMA IF EXISTS {} CASCADE", self.name));
    }
}

/// Stores with these settings.
pub fn stores(url: &str, settings: &'static str) -> impl Fn() -> Result<Fixture> + use<> {
    let url = url.to_owned();
    move || {
        let schema = Schema::new(&url)?;
        Fixture::persistent(move || {
            let engine = Postgres::open(&schema.url(settings))?;
            Ok(Box::new(engine) as Box<dyn Engine>)
        })
    }
}

/// The same with batches that are sent row by row.
pub fn row_by_row(url: &str) -> impl Fn() -> Result<Fixture> + use<> {
    let stores = stores(url, "");
    move || stores()?.wrapped(|engine| Box::new(RowByRow::new(engine)))
}
