//! The anomalies of each isolation level are those of the documentation.

use crate::support::{Schema, url};
use bobak_core::Engine;
use bobak_postgres::Postgres;
use bobak_testkit::isolation;

const DOCUMENT: &str = include_str!("../../../../../docs/isolation.md");

#[test]
fn the_page_has_the_anomalies_of_each_level() {
    let Some(url) = url() else { return };
    for level in ["serializable", "repeatable-read", "read-committed"] {
        let schema = Schema::new(&url).unwrap();
        let engine = Postgres::open(&schema.url(&format!("isolation={level}"))).unwrap();
        let name = format!("PostgreSQL, `isolation={level}`");
        isolation::agrees_with_document(DOCUMENT, &engine, &name).unwrap();
    }
}

#[test]
fn the_page_has_the_capabilities() {
    let Some(url) = url() else { return };
    let schema = Schema::new(&url).unwrap();
    let document = include_str!("../../../../../docs/engines.md");
    let capabilities = Postgres::open(&schema.url("")).unwrap().capabilities();
    bobak_testkit::capability_table::agrees_with_document(document, "PostgreSQL", capabilities)
        .unwrap();
}
