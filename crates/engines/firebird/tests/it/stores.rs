//! A database for each test on one server: the one that `BOBAK_TEST_FIREBIRD` names, or a private one that is started for
//! the whole run. With `BOBAK_NO_SERVERS` set, which `cargo xtask test --no-servers` does, these tests do nothing.

use bobak_core::{Engine, Result, TransactionControl};
use bobak_firebird::FirebirdBuilder;
use bobak_testkit::{Fixture, Harness, RowByRow};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{self, Sender};
use std::time::Duration;

/// A private server, which ends with this process.
static PRIVATE: LazyLock<bobak_servers::Firebird> = LazyLock::new(|| {
    bobak_servers::Firebird::start().unwrap_or_else(|error| {
        panic!(
            "{error}: install Firebird, name a database of a running server in BOBAK_TEST_FIREBIRD, or set \
             BOBAK_NO_SERVERS to skip the tests that need one"
        )
    })
});

/// Whether the run is one with a server.
pub fn has_server() -> bool {
    let has = std::env::var_os("BOBAK_NO_SERVERS").is_none();
    if !has {
        println!("skipped: BOBAK_NO_SERVERS is set");
    }
    has
}

/// The URL of a database that does not exist.
pub fn new_url() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = format!("test_{}_{}.fdb", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    match std::env::var("BOBAK_TEST_FIREBIRD") {
        // The same place, under another name.
        Ok(url) => {
            let (place, settings) = url.split_once('?').unwrap_or((&url, ""));
            let folder = place.rsplit_once('/').map_or(place, |(folder, _)| folder);
            format!("{folder}/{name}?{settings}")
        }
        Err(_) => PRIVATE.url_of(&name),
    }
}

/// Settings for a new database.
pub fn settings() -> FirebirdBuilder {
    FirebirdBuilder::from_url(&new_url())
        .unwrap()
        .busy_timeout(Duration::from_millis(400))
        .create(true)
}

/// New stores. In a run without servers they are those of the memory engine, since each case needs one.
pub struct Stores;

impl Harness for Stores {
    fn fresh(&self) -> Result<Fixture> {
        fresh()
    }

    fn for_writers(&self) -> Result<Fixture> {
        if !has_server() {
            return fresh();
        }
        let settings = settings();
        let transaction = hold_transaction(settings.clone());
        Fixture::persistent(move || {
            let _held = &transaction;
            Ok(Box::new(settings.clone().connect()?) as Box<dyn Engine>)
        })
    }
}

/// As of [`Stores`].
pub fn fresh() -> Result<Fixture> {
    if !has_server() {
        return Ok(Fixture::volatile(bobak_memory::Memory::new()));
    }
    let settings = settings();
    Fixture::persistent(move || Ok(Box::new(settings.clone().connect()?) as Box<dyn Engine>))
}

/// A transaction that is open until the sender is dropped. While there is one, Firebird 3 keeps the rows that other transactions
/// read; without, it removes some of them too early (docs/firebird.md).
fn hold_transaction(settings: FirebirdBuilder) -> Sender<()> {
    let (end, ended) = mpsc::channel();
    let (begun, has_begun) = mpsc::channel();
    std::thread::spawn(move || {
        let engine = settings.connect().unwrap();
        let session = engine.session().unwrap();
        session.control(TransactionControl::Begin).unwrap();
        begun.send(()).unwrap();
        // Until the sender is dropped.
        let _ = ended.recv();
    });
    has_begun.recv().unwrap();
    end
}

/// With batches that are sent row by row.
pub fn row_by_row() -> Result<Fixture> {
    fresh()?.wrapped(|engine| Box::new(RowByRow::new(engine)))
}
