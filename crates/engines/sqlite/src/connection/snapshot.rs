//! Several reads of the same content, and the version of that content.

use super::Connection;
use super::pinned_read::PINNING_QUERY;
use bobak_core::{Result, ValueRef};

impl Connection {
    /// Runs `work` in a transaction that reads. It begins with the first read.
    pub(crate) fn in_snapshot<R>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<R>,
    ) -> Result<R> {
        self.run("BEGIN")?;
        let result = work(self);
        // After some errors SQLite has ended the transaction by itself.
        if !self.db.is_autocommit() {
            self.run("COMMIT")?;
        }
        result
    }

    /// The version of the newest content, outside a transaction: see
    /// [`data_version`](crate::ffi::Connection::data_version). `None` if it can't be read now.
    pub(crate) fn newest_version(&mut self) -> Option<u32> {
        let id = self.text_statement(PINNING_QUERY).ok()?;
        self.db.begin(id, std::iter::empty::<ValueRef<'_>>()).ok()?;
        let is_reading = matches!(self.db.step(id), Ok(Some(_)));
        let version = self.db.data_version().filter(|_| is_reading);
        self.db.reset(id);
        version
    }
}
