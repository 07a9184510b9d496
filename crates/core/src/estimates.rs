//! Cached row counts, for engines that have to ask a server.

use crate::TableSchema;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a row count is used.
const LIFETIME: Duration = Duration::from_secs(30);

/// The row counts that a server reported, cached for half a minute: a join planner asks for the same
/// table many times. For [`Engine::estimate`](crate::Engine::estimate).
///
/// ```
/// use bobak_core::{ColumnSchema, RowEstimates, TableSchema};
///
/// let table = TableSchema::builder("t").column(ColumnSchema::of::<i64>("id")).key(["id"]).build()?;
/// let estimates = RowEstimates::default();
/// assert_eq!(estimates.rows(&table, || None), None);
/// assert_eq!(estimates.rows(&table, || Some(7)), Some(7));
/// assert_eq!(estimates.rows(&table, || Some(8)), Some(7));
/// # Ok::<(), bobak_core::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct RowEstimates(Mutex<HashMap<u64, (Instant, u64)>>);

impl RowEstimates {
    /// The cached row count of a table, or the result of `ask`; `None` if that is unknown, which is not
    /// cached.
    pub fn rows(&self, table: &TableSchema, ask: impl FnOnce() -> Option<u64>) -> Option<u64> {
        let known = self.lock().get(&table.id()).copied();
        if let Some((_, rows)) = known.filter(|(when, _)| when.elapsed() < LIFETIME) {
            return Some(rows);
        }
        let rows = ask()?;
        self.lock().insert(table.id(), (Instant::now(), rows));
        Some(rows)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<u64, (Instant, u64)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
