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
use bobak_servers::TestDatabase;
use std::sync::Arc;

/// URLs of new databases on every engine: files, and databases of servers.
pub fn on_each(test: impl Fn(&str)) {
    for place in ["memory:{}/a", "sqlite:{}/a.db", "kv:{}/a.kv"] {
        let folder = tempfile::tempdir().unwrap();
        let url = place.replace("{}", folder.path().to_str().unwrap());
        eprintln!("on {url}");
        test(&url);
    }
    let servers = [TestDatabase::on_postgres().unwrap(), TestDatabase::on_mariadb().unwrap()];
    for database in servers.iter().flatten() {
        eprintln!("on {}", database.url());
        test(database.url());
    }
}

/// The same, and a new database of Firebird, which has no change capture.
pub fn on_each_and_firebird(test: impl Fn(&str)) {
    on_each(&test);
    if let Some(database) = TestDatabase::on_firebird().unwrap() {
        eprintln!("on {}", database.url());
        test(database.url());
    }
}

fn drop_tables(engine: &dyn Engine) {
    for table in bobak::copy::by_reference(engine.tables().unwrap()).into_iter().rev() {
        engine.alter(&[SchemaChange::DropTable(Arc::new(table))]).unwrap();
    }
}
