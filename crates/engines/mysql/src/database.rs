//! What the sessions of an engine share.

use crate::connection::connector::ServerConnector;
use crate::connection::pool::{self, Pool};
use crate::narrow_tables::NarrowTables;
use crate::settings::Settings;
use crate::sql_texts::SqlTextCache;
use crate::values::decode::BorrowedRow;
use bobak_core::{Result, Row, RowEstimates, TableSchema, ValueRef};
use bobak_engine_common::ServerPhase;
use bobak_sql::Dialect;
use std::sync::Arc;

/// The connections, the SQL texts, and what is known about tables.
#[derive(Debug)]
pub(crate) struct Database {
    pub pool: Arc<Pool>,
    pub sql_texts: SqlTextCache,
    pub narrow_tables: NarrowTables,
    /// The dialect of the server that was connected to first. The others must have the same.
    pub dialect: Dialect,
    estimates: RowEstimates,
}

impl Database {
    /// Opens a connection, so that wrong settings show at once.
    ///
    /// # Errors
    /// Those of connecting.
    pub fn open(settings: Settings) -> Result<Self> {
        let pool = pool::pool(ServerConnector::new(settings));
        let dialect = pool.acquire()?.flavour.dialect;
        let (sql_texts, narrow_tables, estimates) = Default::default();
        Ok(Self { pool, sql_texts, narrow_tables, dialect, estimates })
    }

    /// How many rows the table has, about.
    pub fn estimated_rows(&self, table: &TableSchema) -> Option<u64> {
        self.estimates.rows(table, || self.ask_planner(table))
    }

    /// How many rows the server's planner expects.
    fn ask_planner(&self, table: &TableSchema) -> Option<u64> {
        // Without waiting: the caller may hold all connections.
        let mut pooled = self.pool.try_acquire().ok()?;
        pooled.phase = ServerPhase::Read;
        let text =
            format!("EXPLAIN SELECT * FROM {}", bobak_sql::quote(self.dialect, table.name()));
        let mut rows = None;
        let explained = pooled.each(Some(table), &text, Vec::new(), &mut |cells, columns| {
            let row = BorrowedRow { cells, columns };
            let place = columns.iter().position(|column| column.name.eq_ignore_ascii_case("rows"));
            rows = place.and_then(|place| match row.get(place) {
                ValueRef::Int(rows) => u64::try_from(rows).ok(),
                ValueRef::Text(rows) => rows.parse().ok(),
                _ => None,
            });
            Ok(false)
        });
        explained.ok().and(rows)
    }
}
