//! About how many rows tables have, for engines that must ask a server.

use crate::TableSchema;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long an answer is good.
const LIFETIME: Duration = Duration::from_secs(30);

/// What a server has said about its tables, remembered for half a minute: who plans a join asks
/// many times. For [`Engine::estimate`](crate::Engine::estimate).
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
    /// What is remembered of the table, or what `ask` says now; `None` where it does not know,
    /// which is not remembered.
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
