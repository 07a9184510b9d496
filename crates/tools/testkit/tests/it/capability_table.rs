//! The capabilities of embedded engines are those of the documentation.

use crate::stores::{kv, memory, sqlite_wal};
use bobak_testkit::{Harness, capability_table};

#[test]
fn the_page_has_the_capabilities_of_embedded_engines() {
    let document = include_str!("../../../../../docs/engines.md");
    let stores: [(&str, &dyn Harness); 3] =
        [("SQLite", &sqlite_wal), ("memory", &memory), ("kv", &kv)];
    for (name, harness) in stores {
        let store = harness.fresh().unwrap();
        let capabilities = store.engine().capabilities();
        capability_table::agrees_with_document(document, name, capabilities).unwrap();
    }
}
