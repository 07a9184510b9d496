//! Where a backup's pages come from.

use crate::connection::Connection;
use crate::engine::Inner;
use crate::open;
use bobak_core::{Result, Value};

/// The connection that the pages come from.
pub(super) enum Source<'e> {
    /// One of its own, in a read transaction.
    Snapshot(Box<Connection>),
    /// The writing one, for a step at a time.
    Shared(&'e Inner),
}

impl<'e> Source<'e> {
    /// With a log its own, else the writing one.
    pub(super) fn open(inner: &'e Inner) -> Result<Self> {
        if inner.is_single() {
            return Ok(Self::Shared(inner));
        }
        let mut connection = open::reader(inner.settings())?;
        // The file's own mode: where it is only read the settings do not change it.
        let mode = connection.all_rows("PRAGMA journal_mode", &[])?;
        if mode.first().and_then(|row| row.first()) != Some(&Value::from("wal")) {
            return Ok(Self::Shared(inner));
        }
        connection.run("BEGIN")?;
        // The transaction begins with the first read.
        connection.first_integer("SELECT count(*) FROM sqlite_schema")?;
        Ok(Self::Snapshot(connection))
    }

    pub(super) fn is_snapshot(&self) -> bool {
        matches!(self, Self::Snapshot(_))
    }

    /// Lends the connection.
    ///
    /// # Errors
    /// Those of `work`; `Busy` where others kept it for the whole busy time-out.
    pub(super) fn with<R>(&mut self, work: impl FnOnce(&mut Connection) -> Result<R>) -> Result<R> {
        match self {
            Self::Snapshot(connection) => work(connection),
            Self::Shared(inner) => work(&mut *inner.write()?),
        }
    }

    /// Ends the read transaction, which kept the log from being used anew, and moves what gathered
    /// in the log to the file: else the next writer would have to.
    pub(super) fn end(&mut self) {
        if let Self::Snapshot(connection) = self {
            // The backup is whole: that others keep the log, say, is no failure of it.
            let _ = connection.run("COMMIT");
            let _ = connection.first_integer("PRAGMA wal_checkpoint(PASSIVE)");
        }
    }
}
