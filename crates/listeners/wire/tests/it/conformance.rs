//! The conformance suite through each door.

mod tcp {
    use crate::doors::tcp;
    bobak_testkit::conformance!(tcp);
}

mod tls {
    use crate::doors::tls;
    bobak_testkit::conformance!(tls);
}

mod unix {
    use crate::doors::unix;
    bobak_testkit::conformance!(unix);
}

mod pipes {
    use crate::doors::pipes;
    bobak_testkit::conformance!(pipes);
}
