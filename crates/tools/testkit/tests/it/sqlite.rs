//! The suite on SQLite: a file in each mode that changes what happens, and memory.

mod wal {
    use crate::stores::sqlite_wal;
    bobak_testkit::conformance!(sqlite_wal);
}

mod delete_journal {
    use crate::stores::sqlite_delete;
    bobak_testkit::conformance!(sqlite_delete);
}

mod exclusive {
    use crate::stores::sqlite_exclusive;
    bobak_testkit::conformance!(sqlite_exclusive);
}

mod in_memory {
    use crate::stores::sqlite_memory;
    bobak_testkit::conformance!(sqlite_memory);
}
