//! What undoes an operation of a transaction that has failed.
//!
//! A savepoint costs the server a subtransaction, so an operation sets one only if there is none yet: the first one after a
//! `BEGIN` or a savepoint is undone by going back to that. Nothing else has happened since.

use crate::connection::Connection;
use crate::session::state::SessionState;
use bobak_core::Result;

const SAVEPOINT: &str = "SAVEPOINT bobak_operation";
const RELEASE: &str = "RELEASE bobak_operation";
const ROLLBACK_TO: &str = "ROLLBACK TO bobak_operation";
const ROLLBACK_TO_BATCH: &str = "ROLLBACK TO bobak_batch";

/// What undoes an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UndoPoint {
    /// The end of the transaction.
    Nothing,
    /// The operation's own savepoint.
    Operation,
    /// That of a batch.
    Batch,
    /// That of a caller, by its number.
    Mark(u64),
    /// The begin of the transaction, by this text.
    Begin(&'static str),
}

impl UndoPoint {
    /// Appends what undoes the operation. All points but the operation's own savepoint stay.
    pub fn undo(self, connection: &mut Connection) {
        match self {
            Self::Nothing => {}
            Self::Operation => {
                connection.utility(ROLLBACK_TO);
                connection.utility(RELEASE);
            }
            Self::Batch => connection.utility(ROLLBACK_TO_BATCH),
            Self::Mark(number) => connection.append(&format!("ROLLBACK TO bobak_mark_{number}")),
            Self::Begin(text) => {
                connection.utility("ROLLBACK");
                connection.utility(text);
            }
        }
    }

    /// Appends the end of an operation that has succeeded.
    pub fn release(self, connection: &mut Connection) {
        if self == Self::Operation {
            connection.utility(RELEASE);
        }
    }

    /// The point, if it is still there when the operation was undone.
    fn kept(self) -> Option<Self> {
        Some(self).filter(|point| !matches!(point, Self::Nothing | Self::Operation))
    }
}

impl SessionState<'_> {
    /// Begins an operation: appends a savepoint unless something else undoes it.
    pub fn protect(&mut self, connection: &mut Connection) -> UndoPoint {
        match self.unused.take() {
            _ if !self.open => UndoPoint::Nothing,
            Some(point) => point,
            None => {
                connection.utility(SAVEPOINT);
                UndoPoint::Operation
            }
        }
    }

    /// Notes that nothing was done, or that it was undone.
    pub fn nothing_done(&mut self, point: UndoPoint) {
        self.unused = point.kept();
    }

    /// Undoes an operation that the server has rejected, so that the transaction can go on.
    ///
    /// # Errors
    /// Those of the server and the connection.
    pub fn undo(&mut self, connection: &mut Connection, point: UndoPoint) -> Result<()> {
        point.undo(connection);
        connection.sync();
        connection.send("undoing it").and_then(|()| connection.finish(|_| Ok(())))?;
        self.nothing_done(point);
        Ok(())
    }
}
