//! The anomalies of embedded engines are those of the documentation.

use crate::stores::{kv, memory, sqlite_delete, sqlite_exclusive, sqlite_wal};
use bobak_testkit::{Harness, isolation};

const DOCUMENT: &str = include_str!("../../../../../docs/isolation.md");

#[test]
fn the_page_has_the_anomalies_of_embedded_engines() {
    let stores: [(&str, &dyn Harness); 5] = [
        ("memory", &memory),
        ("key-value file", &kv),
        ("SQLite", &sqlite_wal),
        ("SQLite, `journal_mode=delete`", &sqlite_delete),
        ("SQLite, `locking=exclusive`", &sqlite_exclusive),
    ];
    for (name, harness) in stores {
        let store = harness.fresh().unwrap();
        isolation::agrees_with_document(DOCUMENT, store.engine(), name).unwrap();
    }
}
