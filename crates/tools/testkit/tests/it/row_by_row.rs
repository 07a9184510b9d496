//! The engine that sends batches row by row: it must be right before fast paths are compared with it.

use crate::stores;

#[test]
fn it_passes_the_suite() {
    let failed = bobak_testkit::run(&stores::row_by_row(stores::memory));
    assert!(failed.is_empty(), "{failed:#?}");
}
