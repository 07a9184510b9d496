//! The tables and rows of a snapshot, with all checks.

use crate::alter::{add_checked, check_references};
use crate::state::DatabaseState;
use crate::table::TableState;
use bobak_core::{Error, ErrorKind, Result, TableSchema};
use bobak_engine_common::{table_from_json, table_to_json};
use serde_json::Value as Json;
use std::sync::Arc;

/// A state that is being loaded, and the number of rows loaded into its last table.
pub(super) struct LoadingState {
    pub state: DatabaseState,
    pub rows: u64,
}

impl LoadingState {
    pub fn new() -> Self {
        Self { state: DatabaseState::default(), rows: 0 }
    }

    /// Begins a table, as [`describe`] described it.
    pub fn begin_table(&mut self, described: &Json) -> Result<()> {
        let schema = table_from_json(described)?;
        if self.state.position(schema.name()).is_some() {
            return Err(corrupt("a table exists twice").in_table(schema.name()));
        }
        let mut table = TableState::new(Arc::new(schema))?;
        table.raise_largest_key(described.get(LARGEST_KEY).and_then(Json::as_i64));
        self.state.tables.push(Arc::new(table));
        self.rows = 0;
        Ok(())
    }

    pub fn schema(&self) -> Result<Arc<TableSchema>> {
        let table = self.state.tables.last();
        table.map(|table| Arc::clone(&table.schema)).ok_or_else(|| corrupt("rows without a table"))
    }

    /// Adds a row, whose bytes were validated, to the last table.
    pub fn add(&mut self, row: Arc<[u8]>) -> Result<()> {
        let position = self.state.tables.len().checked_sub(1);
        let position = position.ok_or_else(|| corrupt("rows without a table"))?;
        add_checked(self.state.table_mut(position), row).map_err(|e| e.at_row(self.rows))?;
        self.rows += 1;
        Ok(())
    }

    pub fn finish(mut self) -> Result<DatabaseState> {
        self.state.link()?;
        for position in 0..self.state.tables.len() {
            check_references(&self.state, position)?;
        }
        Ok(self.state)
    }
}

/// The member of a table's description with the largest key that it ever had, if it never reuses keys.
const LARGEST_KEY: &str = "largest_key";

/// The description of a table: its schema, and its largest key.
pub(super) fn describe(table: &TableState) -> Json {
    let mut json = table_to_json(&table.schema);
    if let Some(key) = table.largest_key() {
        json[LARGEST_KEY] = key.into();
    }
    json
}

/// An error about a damaged snapshot.
pub(super) fn corrupt(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Corrupt, message)
}
