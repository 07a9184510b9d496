//! Where a backup's pages come from.

use super::wal_extension::WalExtension;
use crate::connection::Connection;
use crate::error::translate;
use crate::session::checkpoints::CheckpointHold;
use crate::session::database::Database;
use bobak_core::{Result, Value};

/// At its end a backup moves the log's pages to the file this many times at most: others write
/// meanwhile, and what is left then is theirs to move.
const MOVES: u32 = 4;
/// So many pages are left to them without another look.
const FEW: i64 = 250;

/// The connection that the pages come from.
pub(super) enum BackupSource<'e> {
    /// One of its own, in a read transaction.
    Snapshot(Snapshot<'e>),
    /// The writing one, for a step at a time.
    Shared(&'e Database),
}

/// A read transaction, which keeps the log from being used anew.
pub(super) struct Snapshot<'e> {
    connection: Box<Connection>,
    inner: &'e Database,
    extension: Option<WalExtension>,
    _held: CheckpointHold,
}

impl<'e> BackupSource<'e> {
    /// With a log its own, else the writing one.
    pub(super) fn open(inner: &'e Database) -> Result<Self> {
        if inner.is_single() {
            return Ok(Self::Shared(inner));
        }
        let mut connection = inner.new_reader()?;
        // The file's own mode: where it is only read the settings do not change it.
        let mode = connection.all_rows("PRAGMA journal_mode", &[])?;
        if mode.first().and_then(|row| row.first()) != Some(&Value::from("wal")) {
            return Ok(Self::Shared(inner));
        }
        let page_size = connection.first_integer("PRAGMA page_size")?;
        // What others' collations order is only counted here.
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

    /// Lends the connection.
    ///
    /// # Errors
    /// Those of `work`; `Busy` where others kept it for the whole busy time-out.
    pub(super) fn with<R>(&mut self, work: impl FnOnce(&mut Connection) -> Result<R>) -> Result<R> {
        match self {
            Self::Snapshot(snapshot) => work(&mut snapshot.connection),
            Self::Shared(inner) => work(&mut *inner.write()?),
        }
    }

    /// To be called between two steps: sees that the log has room for what others write.
    pub(super) fn make_room(&mut self) {
        if let Self::Snapshot(Snapshot { inner, extension, .. }) = self
            && let Some(made) = extension.as_mut().map(|extension| extension.make(inner))
            && made.is_err()
        {
            // It is only for speed: on a disk that is full, say, the log grows by itself.
            *extension = None;
        }
    }
}

impl Drop for Snapshot<'_> {
    /// Ends the transaction, and moves what gathered in the log to the file: else the next writer
    /// would have to. The backup is over: that others keep the log, say, is no failure of it.
    fn drop(&mut self) {
        let _ = self.connection.run("COMMIT");
        for _ in 0..MOVES {
            match move_log(&mut self.connection) {
                Ok(left) if left > FEW => {}
                _ => break,
            }
        }
    }
}

/// Moves the log's pages to the file, as far as others allow; gives how many are left.
fn move_log(connection: &mut Connection) -> Result<i64> {
    let told = connection.all_rows("PRAGMA wal_checkpoint(PASSIVE)", &[])?;
    match told.first().map(Vec::as_slice) {
        Some([_, Value::Int(pages), Value::Int(moved)]) => Ok(pages - moved),
        _ => Ok(0),
    }
}
