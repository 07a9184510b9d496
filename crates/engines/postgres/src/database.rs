//! What the sessions of an engine share.

use crate::connection::pool::{self, Pool};
use crate::protocol::message::Message;
use crate::settings::Settings;
use crate::table_info::{SQL, TableInfo};
use bobak_core::{Result, RowEstimates, TableSchema};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The settings, the connections, and what is known about tables.
pub(crate) struct Database {
    pub settings: Arc<Settings>,
    pub pool: Pool,
    table_info: Mutex<HashMap<u64, Arc<TableInfo>>>,
    estimates: RowEstimates,
}

impl Database {
    /// Opens a connection, so that wrong settings show at once.
    ///
    /// # Errors
    /// Those of connecting.
    pub fn open(settings: Settings) -> Result<Self> {
        let settings = Arc::new(settings);
        let pool = pool::pool(&settings);
        drop(pool.acquire()?);
        let (table_info, estimates) = Default::default();
        Ok(Self { settings, pool, table_info, estimates })
    }

    /// How many rows the table has, about.
    pub fn estimated_rows(&self, table: &TableSchema) -> Option<u64> {
        self.estimates.rows(table, || self.ask_planner(table))
    }

    /// What is known about tables, by the ids of their schemas.
    pub fn table_info(&self) -> MutexGuard<'_, HashMap<u64, Arc<TableInfo>>> {
        self.table_info.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many rows the server's planner expects. It also looks at the size of the table's files, so it has an
    /// estimate before the first ANALYZE.
    fn ask_planner(&self, table: &TableSchema) -> Option<u64> {
        // Without waiting: the caller may hold all connections.
        let mut pooled = self.pool.try_acquire().ok()?;
        let name = bobak_sql::quote(SQL, table.name());
        let mut rows = None;
        let explained = pooled.statement(&format!("EXPLAIN SELECT * FROM {name}"), |message| {
            if let (Message::Row(body), None) = (message, rows) {
                rows = expected_rows(&String::from_utf8_lossy(body));
            }
        });
        explained.ok().and(rows)
    }
}

/// The number in `Seq Scan on person  (cost=0.00..1.50 rows=50 width=44)`.
fn expected_rows(line: &str) -> Option<u64> {
    let (_, rest) = line.rsplit_once(" rows=")?;
    rest.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_from_a_plan() {
        let line = "Seq Scan on \"a rows=7 b\"  (cost=0.00..1.50 rows=50 width=44)";
        assert_eq!(expected_rows(line), Some(50));
        assert_eq!(expected_rows("  estimated row count: 50"), None);
    }
}
