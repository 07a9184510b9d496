//! The conformance suite, on new files of both kinds.

use bobak_access::MsAccess;
use bobak_core::{Engine, Result};
use bobak_testkit::Fixture;
use std::time::Duration;

fn fresh(name: &'static str) -> Result<Fixture> {
    let folder = tempfile::tempdir().unwrap();
    Fixture::persistent(move || {
        let builder = MsAccess::builder().busy_timeout(Duration::from_millis(200));
        Ok(Box::new(builder.open(folder.path().join(name))?) as Box<dyn Engine>)
    })
}

mod accdb {
    fn fresh() -> bobak_core::Result<bobak_testkit::Fixture> {
        super::fresh("suite.accdb")
    }
    bobak_testkit::conformance!(fresh);
}

mod mdb {
    fn fresh() -> bobak_core::Result<bobak_testkit::Fixture> {
        super::fresh("suite.mdb")
    }
    bobak_testkit::conformance!(fresh);
}
