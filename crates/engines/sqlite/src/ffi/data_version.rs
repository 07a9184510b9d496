//! Whether the content of a connection's main database has changed.

use super::connection::Connection;
use libsqlite3_sys as sys;
use std::ffi::c_uint;

impl Connection {
    /// A number that changes with each commit to the main database, by this connection or by another one in any process. In
    /// a read transaction it is the number of the content that the transaction reads. Numbers of two connections
    /// have nothing in common.
    /// | It is the number by which SQLite itself knows whether its cached pages are current.
    pub(crate) fn data_version(&self) -> Option<u32> {
        let mut version: c_uint = 0;
        let (main, place) = (c"main".as_ptr(), (&raw mut version).cast());
        let option = sys::SQLITE_FCNTL_DATA_VERSION;
        // SAFETY: the handle is open, the name ends with NUL, and this call gives an unsigned int.
        let code = unsafe { sys::sqlite3_file_control(self.raw.as_ptr(), main, option, place) };
        (code == sys::SQLITE_OK).then_some(version)
    }

    /// Whether the main database is in a read or write transaction, also that of a running statement.
    pub(crate) fn is_in_transaction(&self) -> bool {
        // SAFETY: the handle is open; the name ends with NUL.
        let state = unsafe { sys::sqlite3_txn_state(self.raw.as_ptr(), c"main".as_ptr()) };
        state != sys::SQLITE_TXN_NONE
    }
}
