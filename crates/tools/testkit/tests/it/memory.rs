//! The suite on the memory engine.

mod volatile {
    use crate::stores::memory;
    bobak_testkit::conformance!(memory);
}

mod with_snapshot {
    use crate::stores::memory_with_snapshot;
    bobak_testkit::conformance!(memory_with_snapshot);
}
