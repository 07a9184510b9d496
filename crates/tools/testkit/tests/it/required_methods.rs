//! The defaults of the engine contract: batches row by row, buffered cursors, lookups and bulk changes by queries.

mod conformance {
    bobak_testkit::conformance!(fresh);

    fn fresh() -> bobak_core::Result<bobak_testkit::Fixture> {
        crate::stores::required_methods(crate::stores::memory)()
    }
}
