//! The connection that a backup copies from.

use super::wal_extension::WalExtension;
use crate::connection::Connection;
use crate::error::translate;
use crate::session::checkpoints::CheckpointHold;
use crate::session::database::Database;
use bobak_core::{Result, Value};

/// How often a backup checkpoints the log at its end: others write meanwhile, and the rest is
/// theirs.
const MOVES: u32 = 4;
/// The number of remaining pages at which it stops.
const MAX_REMAINING_PAGES: i64 = 250;

/// The connection that the pages come from.
pub(super) enum BackupSource<'e> {
    /// One of its own, in a read transaction.
    Snapshot(Snapshot<'e>),
    /// The writing connection, for one step at a time.
    Shared(&'e Database),
}

/// A read transaction, which prevents that the log starts over.
pub(super) struct Snapshot<'e> {
    connection: Box<Connection>,
    inner: &'e Database,
    extension: Option<WalExtension>,
    _held: CheckpointHold,
}

impl<'e> BackupSource<'e> {
    /// Opens a snapshot if there is a write-ahead log; else uses the writing connection.
    pub(super) fn open(inner: &'e Database) -> Result<Self> {
        if inner.is_single() {
            return Ok(Self::Shared(inner));
        }
        let mut connection = inner.new_reader()?;
        // The file's actual mode: the settings do not change that of a read-only file.
        let mode = connection.all_rows("PRAGMA journal_mode", &[])?;
        if mode.first().and_then(|row| row.first()) != Some(&Value::from("wal")) {
            return Ok(Self::Shared(inner));
        }
        let page_size = connection.first_integer("PRAGMA page_size")?;
        // Counting rows does not depend on the order of unknown collations.
        connection.db.stub_collations().map_err(|failure| translate(failure, None))?;
        connection.run("BEGIN")?;
        // The transaction begins with the first read.
        connection.first_integer("SELECT count(*) FROM sqlite_schema")?;
        let extension = WalExtension::of(inner, u64::try_from(page_size).unwrap_or(4_096));
        Ok(Self::Snapshot(Snapshot { connection, inner, extension, _held: inner.log().hold() }))
    }

    pub(super) fn is_snapshot(&self) -> bool {
        matches!(self, Self::Snapshot(_))
    }

    /// Runs `work` with the connection.
    /// | # Errors
    /// Those of `work`; `Busy` if others held it for the whole busy timeout.
    pub(super) fn with<R>(&mut self, work: impl FnOnce(&mut Connection) -> Result<R>) -> Result<R> {
        match self {
            Self::Snapshot(snapshot) => work(&mut snapshot.connection),
            Self::Shared(inner) => work(&mut *inner.write()?),
        }
    }

    /// Called between two steps: ensures that the log has room for others' writes.
    pub(super) fn make_room(&mut self) {
        if let Self::Snapshot(Snapshot { inner, extension, .. }) = self
            && let Some(made) = extension.as_mut().map(|extension| extension.make(inner))
            && made.is_err()
        {
            // It is only an optimization: otherwise, for example on a full disk, the log grows by
            // itself.
            *extension = None;
        }
    }
}

impl Drop for Snapshot<'_> {
    /// Ends the transaction, and checkpoints the pages that accumulated: otherwise the next
    /// writer would have to. Failures are ignored: the backup is complete.
    fn drop(&mut self) {
        let _ = self.connection.run("COMMIT");
        for _ in 0..MOVES {
            match move_log(&mut self.connection) {
                Ok(left) if left > MAX_REMAINING_PAGES => {}
                _ => break,
            }
        }
    }
}

/// Checkpoints the log as far as others allow. Returns the number of remaining pages.
fn move_log(connection: &mut Connection) -> Result<i64> {
    let reply = connection.all_rows("PRAGMA wal_checkpoint(PASSIVE)", &[])?;
    match reply.first().map(Vec::as_slice) {
        Some([_, Value::Int(pages), Value::Int(moved)]) => Ok(pages - moved),
        _ => Ok(0),
    }
}
