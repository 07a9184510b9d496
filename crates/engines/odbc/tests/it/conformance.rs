//! The suite that every engine passes, each case in a schema or database of its own.

mod psqlodbc {
    use crate::stores::{Place, fresh as store};
    use bobak_core::Result;
    use bobak_testkit::Fixture;

    fn fresh() -> Result<Fixture> {
        store(Place::postgres)
    }
    bobak_testkit::conformance!(fresh);
}

mod mariadb {
    use crate::stores::{Place, fresh as store};
    use bobak_core::Result;
    use bobak_testkit::Fixture;

    fn fresh() -> Result<Fixture> {
        store(Place::mariadb)
    }
    bobak_testkit::conformance!(fresh);
}
