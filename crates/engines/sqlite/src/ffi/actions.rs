//! The actions of a statement, as SQLite's authorizer reports them while it is prepared.

use bobak_core::{Error, SqlAction, SqlAuthorizer};
use std::sync::{Arc, Mutex, PoisonError};

/// One action of a statement, as SQLite's authorizer reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatementAction {
    /// Reads a table of this database.
    Read {
        /// The database's name: `main`, `temp`, or that of an attached one.
        database: String,
        /// The table's name.
        table: String,
    },
    /// Inserts, updates or deletes rows.
    Write {
        /// The database's name.
        database: String,
        /// The table's name.
        table: String,
        /// The kind of write.
        kind: WriteKind,
    },
    /// Calls a function.
    Function(String),
    /// Detaches a database.
    Detach(String),
    /// Changes the schema of this database.
    Schema(String),
    /// Attaches a database.
    Attach,
    /// Runs a pragma, with an optional value.
    Pragma(String, Option<String>),
    /// Anything else, such as a transaction step.
    Other,
}

/// How a statement writes rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteKind {
    /// `INSERT`, `REPLACE`
    Insert,
    /// `UPDATE`
    Update,
    /// `DELETE`
    Delete,
}

/// Collects the actions of the statement that is being prepared, and denies some.
#[derive(Clone, Default)]
pub(crate) struct StatementWatch(Arc<Mutex<WatchState>>);

#[derive(Default)]
struct WatchState {
    actions: Vec<StatementAction>,
    denies: Option<fn(&StatementAction, &[String]) -> bool>,
    /// The names passed to the `denies` function.
    names: Vec<String>,
    /// Decides about pragmas: most take effect while they are prepared.
    authorizer: Option<Arc<dyn SqlAuthorizer>>,
    rejection: Option<Error>,
}

impl StatementWatch {
    /// Discards the collected actions.
    pub(crate) fn clear(&self) {
        self.lock().actions.clear();
    }

    /// Takes the actions collected since the last call, each once.
    pub(crate) fn take(&self) -> Vec<StatementAction> {
        std::mem::take(&mut self.lock().actions)
    }

    /// Denies actions for which the function, given the names, returns `true`. `None` allows
    /// everything.
    pub(crate) fn set_denial(
        &self,
        denies: Option<fn(&StatementAction, &[String]) -> bool>,
        names: Vec<String>,
    ) {
        let mut state = self.lock();
        state.denies = denies;
        state.names = names;
    }

    /// Sets the authorizer for pragmas; those that it rejects are not prepared. Returns the
    /// rejection of the previous authorizer, if any.
    pub(crate) fn set_authorizer(
        &self,
        authorizer: Option<Arc<dyn SqlAuthorizer>>,
    ) -> Option<Error> {
        let mut state = self.lock();
        state.authorizer = authorizer;
        state.rejection.take()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, WatchState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Collects an action; `false` if it is denied.
    pub(super) fn note(&self, action: StatementAction) -> bool {
        let mut state = self.lock();
        let mut denied = state.denies.is_some_and(|denies| denies(&action, &state.names));
        if let (StatementAction::Pragma(name, value), Some(authorizer)) =
            (&action, &state.authorizer)
            && let Err(error) =
                authorizer.check(SqlAction::Pragma { name, value: value.as_deref() })
        {
            state.rejection = Some(error);
            denied = true;
        }
        if !state.actions.contains(&action) {
            state.actions.push(action);
        }
        !denied
    }
}

impl std::fmt::Debug for StatementWatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StatementWatch").field("actions", &self.lock().actions).finish()
    }
}
