//! The actions of a statement, as SQLite's authorizer reports them while it is prepared.

use bobak_core::{Error, SqlAction, SqlAuthorizer};
use std::sync::{Arc, Mutex, PoisonError};

/// One action of a statement, as SQLite's authorizer reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatementAction {
    /// It reads a table of this database.
    Read {
        /// The database's name: `main`, `temp`, or an attached one's.
        database: String,
        /// The table's name.
        table: String,
    },
    /// It inserts, updates or deletes rows.
    Write {
        /// The database's name.
        database: String,
        /// The table's name.
        table: String,
        /// What it does there.
        kind: WriteKind,
    },
    /// It calls a function.
    Function(String),
    /// It detaches a database.
    Detach(String),
    /// It changes the schema of this database.
    Schema(String),
    /// It attaches a database.
    Attach,
    /// A pragma, with its value where it has one.
    Pragma(String, Option<String>),
    /// Anything else: a step of a transaction, …
    Other,
}

/// What a statement does to rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteKind {
    /// `INSERT`, `REPLACE`
    Insert,
    /// `UPDATE`
    Update,
    /// `DELETE`
    Delete,
}

/// What the statement that is being prepared does, as SQLite tells it.
#[derive(Clone, Default)]
pub(crate) struct Watch(Arc<Mutex<Watched>>);

#[derive(Default)]
struct Watched {
    actions: Vec<StatementAction>,
    refuse: Option<fn(&StatementAction, &[String]) -> bool>,
    /// The databases that belong to the host.
    owned: Vec<String>,
    /// Who is asked about pragmas: most take effect while they are prepared.
    guard: Option<Arc<dyn SqlAuthorizer>>,
    refusal: Option<Error>,
}

impl Watch {
    /// Forgets what was told.
    pub(crate) fn clear(&self) {
        self.lock().actions.clear();
    }

    /// What was told since then, each thing once.
    pub(crate) fn take(&self) -> Vec<StatementAction> {
        std::mem::take(&mut self.lock().actions)
    }

    /// Has statements refused that do something of which `refuse` says so, given the names set
    /// here; `None` lets all pass.
    pub(crate) fn set_refusal(
        &self,
        refuse: Option<fn(&StatementAction, &[String]) -> bool>,
        owned: Vec<String>,
    ) {
        let mut watched = self.lock();
        watched.refuse = refuse;
        watched.owned = owned;
    }

    /// From now on a guard is asked about pragmas, and what it refuses is not prepared; gives what
    /// was refused by the one before.
    pub(crate) fn set_authorizer(&self, guard: Option<Arc<dyn SqlAuthorizer>>) -> Option<Error> {
        let mut watched = self.lock();
        watched.guard = guard;
        watched.refusal.take()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Watched> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes an action; `false` where it is refused.
    pub(super) fn note(&self, action: StatementAction) -> bool {
        let mut watched = self.lock();
        let mut refused = watched.refuse.is_some_and(|refuse| refuse(&action, &watched.owned));
        if let (StatementAction::Pragma(name, value), Some(guard)) = (&action, &watched.guard)
            && let Err(error) = guard.check(SqlAction::Pragma { name, value: value.as_deref() })
        {
            watched.refusal = Some(error);
            refused = true;
        }
        if !watched.actions.contains(&action) {
            watched.actions.push(action);
        }
        !refused
    }
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch").field("actions", &self.lock().actions).finish()
    }
}
