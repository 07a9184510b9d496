//! A database for each test: in H2 if `BOBAK_TEST_H2` names its jar, or a new user on the server that `BOBAK_TEST_ORACLE` names, who
//! may create users. Without them, it is one of the memory engine, since each case needs a store.

use crate::peer::{H2, jar};
use bobak_core::{Engine, Result};
use bobak_oracle::{Oracle, OracleBuilder};
use bobak_testkit::{Fixture, RowByRow};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Some cases wait until it has passed.
const BUSY: Duration = Duration::from_millis(400);

static NEXT: AtomicU32 = AtomicU32::new(0);

/// Whether the run is one with a server.
pub fn has_server() -> bool {
    std::env::var_os("BOBAK_TEST_ORACLE").is_some()
}

/// A new database of H2's.
pub fn h2() -> Result<Fixture> {
    if jar().is_none() {
        println!("skipped: BOBAK_TEST_H2 names no jar of H2");
        return Ok(Fixture::volatile(bobak_memory::Memory::new()));
    }
    let name = format!("test_{}", NEXT.fetch_add(1, Ordering::Relaxed));
    let settings = Oracle::builder("h2", name).busy_timeout(BUSY);
    Fixture::persistent(move || {
        let engine = settings.clone().connect_through(Arc::new(H2))?;
        Ok(Box::new(engine) as Box<dyn Engine>)
    })
}

/// The schema of a new user on the server.
pub fn oracle() -> Result<Fixture> {
    let Ok(url) = std::env::var("BOBAK_TEST_ORACLE") else {
        println!("skipped: BOBAK_TEST_ORACLE names no server");
        return Ok(Fixture::volatile(bobak_memory::Memory::new()));
    };
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let (user, password) = (format!("BOBAK_{}_{number}", std::process::id()), "Bobak_test_1");
    let admin = OracleBuilder::from_url(&url)?;
    let engine = admin.clone().connect()?;
    let session = engine.session()?;
    session.execute(&format!("CREATE USER {user} IDENTIFIED BY \"{password}\""), &[])?;
    session.execute(&format!("GRANT CONNECT, RESOURCE, UNLIMITED TABLESPACE TO {user}"), &[])?;
    let settings = admin.login(user, password).busy_timeout(BUSY);
    Fixture::persistent(move || Ok(Box::new(settings.clone().connect()?) as Box<dyn Engine>))
}

/// The same with batches that are sent row by row.
pub fn row_by_row(store: fn() -> Result<Fixture>) -> Result<Fixture> {
    store()?.wrapped(|engine| Box::new(RowByRow::new(engine)))
}
