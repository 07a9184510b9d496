//! The anomalies of each isolation level are those of the documentation.

use crate::stores::{Database, server};
use bobak_core::Engine;
use bobak_mysql::Isolation;
use bobak_testkit::isolation;

const DOCUMENT: &str = include_str!("../../../../../docs/isolation.md");

#[test]
fn the_page_has_the_anomalies_of_each_level() {
    let Some(url) = server() else { return };
    for (level, name) in [
        (Isolation::Serializable, "serializable"),
        (Isolation::RepeatableRead, "repeatable-read"),
        (Isolation::ReadCommitted, "read-committed"),
    ] {
        let database = Database::new(&url).unwrap();
        let engine = database.settings.clone().isolation(level).connect().unwrap();
        let name = format!("MariaDB, `isolation={name}`");
        isolation::agrees_with_document(DOCUMENT, &engine, &name).unwrap();
    }
}

#[test]
fn the_page_has_the_capabilities() {
    let Some(url) = server() else { return };
    let database = Database::new(&url).unwrap();
    let document = include_str!("../../../../../docs/engines.md");
    let capabilities = database.settings.clone().connect().unwrap().capabilities();
    bobak_testkit::capability_table::agrees_with_document(document, "MariaDB, MySQL", capabilities)
        .unwrap();
}
