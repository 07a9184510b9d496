//! The conformance suite; each case in a database of its own.

mod h2 {
    use crate::stores::h2;
    bobak_testkit::conformance!(h2);
}

mod oracle {
    use crate::stores::oracle;
    bobak_testkit::conformance!(oracle);
}
