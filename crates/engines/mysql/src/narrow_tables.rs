//! The money columns of other programs that have fewer decimals than Bobak's: see [`NarrowAmounts`].

use crate::connection::Connection;
use crate::values::decode::DecodedValue;
use bobak_core::{BulkChange, Result, Row, TableSchema, Type, Verb};
use bobak_engine_common::NarrowAmounts;
use mysql::Value as Wire;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

const DECIMALS: &str = "SELECT COLUMN_NAME, NUMERIC_SCALE FROM information_schema.COLUMNS \
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ? AND DATA_TYPE = 'decimal'";

/// Those of the tables that were written to, by schema.
#[derive(Debug, Default)]
pub(crate) struct NarrowTables(Mutex<HashMap<u64, Arc<NarrowAmounts>>>);

impl NarrowTables {
    /// Checks the amounts of a row that is written.
    ///
    /// # Errors
    /// `OutOfRange` for an amount that the server would round; those of the connection.
    pub fn check_row(
        &self,
        connection: &mut Connection,
        table: &TableSchema,
        verb: Verb,
        row: &dyn Row,
    ) -> Result<()> {
        if verb == Verb::Delete {
            return Ok(());
        }
        self.check(connection, table, |narrow| narrow.check_row(table, row))
    }

    /// Checks the amounts that rows get.
    ///
    /// # Errors
    /// As [`check_row`](Self::check_row).
    pub fn check_change(&self, connection: &mut Connection, change: &BulkChange<'_>) -> Result<()> {
        let Some(assigned) = change.assign else { return Ok(()) };
        let table = change.table;
        self.check(connection, table, |narrow| narrow.check_assigned(table, assigned))
    }

    /// Makes the check. Before it fails, asks the server again: another program may have altered the table.
    fn check(
        &self,
        connection: &mut Connection,
        table: &TableSchema,
        check: impl Fn(&NarrowAmounts) -> Result<()>,
    ) -> Result<()> {
        if !table.columns().iter().any(|column| column.ty == Type::Currency) {
            return Ok(());
        }
        // The map is consistent even after a panic.
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = lock().get(&table.id()).map(Arc::clone);
        if known.is_some_and(|known| check(&known).is_ok()) {
            return Ok(());
        }
        let found = read(connection, table)?;
        let checked = check(&found);
        lock().insert(table.id(), Arc::new(found));
        checked
    }
}

fn read(connection: &mut Connection, table: &TableSchema) -> Result<NarrowAmounts> {
    let name = Wire::from(table.name());
    let rows = connection.rows(Some(table), DECIMALS, vec![name])?;
    Ok(NarrowAmounts::new(table, |place| {
        let column = table.columns().get(place)?;
        rows.iter().find_map(|row| match &row[..] {
            [DecodedValue::Text(name), DecodedValue::Int(decimals)]
                if name.eq_ignore_ascii_case(&column.name) =>
            {
                u32::try_from(*decimals).ok()
            }
            _ => None,
        })
    }))
}
