//! The helpers on every engine.

#![allow(missing_docs, clippy::unwrap_used, reason = "tests: a failure names its line")]

mod conversions;
mod double;
mod fixtures;
mod foreign_key_steps;
mod key_reuse;
mod online_indexes;
mod online_rules;
mod rollback;
mod sample;
mod shop;
mod tracked_migrations;

use bobak::engine::{Engine, SchemaChange};
use bobak_servers::{Firebird, MariaDb, Postgres};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// URLs of databases on every engine: new files, and the servers' databases without tables. The tests that use servers run
/// one after the other.
pub fn on_each(test: impl Fn(&str)) {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn: MutexGuard<'_, ()> = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    for place in ["memory:{}/a", "sqlite:{}/a.db", "kv:{}/a.kv"] {
        let folder = tempfile::tempdir().unwrap();
        let url = place.replace("{}", folder.path().to_str().unwrap());
        eprintln!("on {url}");
        test(&url);
    }
    static SERVERS: OnceLock<Option<(Postgres, MariaDb)>> = OnceLock::new();
    let servers = SERVERS.get_or_init(|| {
        let is_set = |name: &&str| std::env::var_os(name).is_some();
        let all = ["BOBAK_TEST_POSTGRES", "BOBAK_TEST_MARIADB"];
        all.iter().all(is_set).then(|| (Postgres::start().unwrap(), MariaDb::start().unwrap()))
    });
    let Some((postgres, mariadb)) = servers else {
        println!("no servers: BOBAK_TEST_POSTGRES and BOBAK_TEST_MARIADB are not set");
        return;
    };
    for url in [postgres.url(), mariadb.url()] {
        eprintln!("on {url}");
        drop_tables(&*bobak::engine::open(&url).unwrap());
        test(&url);
    }
}

/// The same, and a new database of Firebird, which has no change capture.
pub fn on_each_and_firebird(test: impl Fn(&str)) {
    on_each(&test);
    if std::env::var_os("BOBAK_TEST_FIREBIRD").is_none() {
        println!("not run: BOBAK_TEST_FIREBIRD is not set");
        return;
    }
    let server = Firebird::start().unwrap();
    eprintln!("on {}", server.url());
    test(&server.url());
}

fn drop_tables(engine: &dyn Engine) {
    for table in bobak::copy::by_reference(engine.tables().unwrap()).into_iter().rev() {
        engine.alter(&[SchemaChange::DropTable(Arc::new(table))]).unwrap();
    }
}
