//! Whether a database has tracked tables.
//!
//! The caller's name is recorded with each change of a tracked table, which costs a transaction. So
//! the engine has to know whether any table is tracked, without asking the database at each write.

use bobak_changes::tracked;
use bobak_core::Session;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a result is used: another program may start to track a table.
const MAX_AGE: Duration = Duration::from_secs(1);

/// The last result, and when it was found.
#[derive(Debug, Default)]
pub(super) struct TrackingCache(Mutex<Option<(Instant, bool)>>);

impl TrackingCache {
    /// The cached result; `None` if it is too old.
    pub fn cached(&self) -> Option<bool> {
        let cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        cached.filter(|(since, _)| since.elapsed() < MAX_AGE).map(|(_, is_tracking)| is_tracking)
    }

    /// Whether any table is tracked. Asks the session, which must be in no transaction, if the
    /// result is too old.
    pub fn is_tracking(&self, session: &dyn Session) -> bool {
        if let Some(is_tracking) = self.cached() {
            return is_tracking;
        }
        // If asking fails, the last result stays: the operation that follows fails by itself.
        let found = tracked(session).map(|tables| !tables.is_empty());
        let mut cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_tracking =
            found.unwrap_or_else(|_| cached.is_some_and(|(_, is_tracking)| is_tracking));
        *cached = Some((Instant::now(), is_tracking));
        is_tracking
    }

    /// Forgets the result. Call it when the schema has changed.
    pub fn clear(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}
