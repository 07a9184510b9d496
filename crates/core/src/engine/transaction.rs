//! Steps of a transaction.

use crate::{Result, Session};

/// A step of a transaction. See [`Session::control`].
///
/// Names of savepoints consist of ASCII letters, digits and `_`. If two savepoints have the same
/// name, the later one counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionControl<'a> {
    /// Begins a transaction that may write. An engine without
    /// [`concurrent_writers`](crate::Capabilities::concurrent_writers) waits here, not later, for
    /// other writers.
    Begin,
    /// Commits the transaction. Whatever the result, no transaction is open afterwards.
    Commit,
    /// Rolls the transaction back.
    Rollback,
    /// Sets a savepoint.
    Savepoint(&'a str),
    /// Removes a savepoint, and keeps the changes made since.
    Release(&'a str),
    /// Undoes the changes made since a savepoint, and keeps the savepoint.
    RollbackTo(&'a str),
}

/// Runs `work` in a transaction, or under a savepoint if one is open already. An error undoes
/// everything that `work` did.
///
/// `savepoint` should be a name that no caller uses.
///
/// # Errors
/// Those of `work` and of [`Session::control`].
pub fn atomically<S: Session + ?Sized, R>(
    session: &S,
    savepoint: &str,
    work: impl FnOnce() -> Result<R>,
) -> Result<R> {
    let nested = session.in_transaction();
    let [begin, end, undo] = match nested {
        true => [
            TransactionControl::Savepoint(savepoint),
            TransactionControl::Release(savepoint),
            TransactionControl::RollbackTo(savepoint),
        ],
        false => {
            [TransactionControl::Begin, TransactionControl::Commit, TransactionControl::Rollback]
        }
    };
    session.control(begin)?;
    match work() {
        Ok(result) => session.control(end).map(|()| result),
        Err(error) => {
            // If undoing fails, the engine has ended the transaction and reports that at the next
            // call; the first error says more.
            let _ = session.control(undo);
            if nested {
                let _ = session.control(end);
            }
            Err(error)
        }
    }
}
