//! The conformance suite over each transport.

mod tcp {
    use crate::transports::tcp;
    bobak_testkit::conformance!(tcp);
}

mod tls {
    use crate::transports::tls;
    bobak_testkit::conformance!(tls);
}

mod unix {
    use crate::transports::unix;
    bobak_testkit::conformance!(unix);
}

mod pipes {
    use crate::transports::pipes;
    bobak_testkit::conformance!(pipes);
}
