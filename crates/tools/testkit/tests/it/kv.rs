//! The suite on the key-value engine: as it is, with the contract's defaults, and past its sessions.

mod file {
    use crate::stores::kv;
    bobak_testkit::conformance!(kv);
}

mod required_methods {
    use crate::stores::{kv, required_methods};
    bobak_testkit::conformance!(required_methods(kv));
}

mod direct_calls {
    use crate::stores::{direct_calls, kv};
    bobak_testkit::conformance!(direct_calls(kv));
}
