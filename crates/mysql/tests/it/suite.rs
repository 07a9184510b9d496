//! The conformance suite; each case in a database of its own.

mod prepared {
    use crate::stores::fresh;
    bobak_testkit::conformance!(fresh);
}

mod not_prepared {
    //! The suite again, with values written into the text. One test, so that it is told apart.
    #[test]
    fn the_suite_passes() {
        if crate::stores::server().is_some() {
            let failed = bobak_testkit::run(&crate::stores::unprepared);
            assert!(failed.is_empty(), "{failed:#?}");
        }
    }
}
