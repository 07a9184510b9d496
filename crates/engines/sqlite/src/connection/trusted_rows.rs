//! Statements that write rows of values, without the CHECKs of how Bobak stores its types.
//!
//! These CHECKs are for SQL text and for other programs: `UPDATE … SET total = 1.5` would otherwise store an amount that no
//! reader understands. Rows of values are checked before they reach an engine, and evaluating four CHECKs per row again costs
//! an insert an eighth of its rate. SQLite decides when it compiles a statement whether it has CHECKs. If it compiles one
//! again after a change of the schema, the statement has them, and is only slower.

use super::Connection;
use super::statement_cache::StatementKind;
use crate::error::translate;
use crate::ffi::{Failure, StatementId};
use bobak_core::{Result, TableSchema};
use bobak_sql::storage_check;

impl Connection {
    /// Prepares a table statement.
    pub(super) fn prepare_for_rows(
        &mut self,
        kind: StatementKind,
        table: &TableSchema,
        sql: &str,
    ) -> Result<StatementId> {
        let prepared = match self.trusts_rows(kind, table) {
            true => self.prepare_without_checks(sql),
            false => self.db.prepare(sql),
        };
        let (id, _) = prepared.map_err(|failure| translate(failure, Some(table)))?;
        id.ok_or_else(super::no_statement)
    }

    /// Whether only CHECKs of storage would be left out. Those of other tables would be too, in triggers and in the
    /// actions of foreign keys, which inserts never begin.
    fn trusts_rows(&mut self, kind: StatementKind, table: &TableSchema) -> bool {
        use StatementKind::{Insert, InsertOrFail, InsertOrIgnore, Update, Upsert, UpsertOn};
        let is_insert = matches!(kind, Insert | InsertOrFail | InsertOrIgnore);
        let is_update = matches!(kind, Update | Upsert | UpsertOn(_));
        let has_checks = || table.columns().iter().any(|column| storage_check(column).is_some());
        // If the table cannot be read, the statement's own error is the better one.
        (is_insert || is_update)
            && has_checks()
            && self.fresh_table_info(table).is_ok_and(|info| {
                info.checks_storage_only && !info.has_triggers && (is_insert || !info.foreign_keys)
            })
    }

    fn prepare_without_checks(
        &mut self,
        sql: &str,
    ) -> Result<(Option<StatementId>, usize), Failure> {
        self.set_ignores_checks(true)?;
        let prepared = self.db.prepare(sql);
        self.set_ignores_checks(false)?;
        prepared
    }

    /// Has the statements that are prepared from now on ignore CHECKs. SQLite sets the flag when it compiles the pragma.
    /// Running the pragma too would make it compile all other statements again.
    fn set_ignores_checks(&mut self, ignores: bool) -> Result<(), Failure> {
        let number = u8::from(ignores);
        let (id, _) = self.db.prepare(format!("PRAGMA ignore_check_constraints = {number}"))?;
        if let Some(id) = id {
            self.db.finalize(id);
        }
        Ok(())
    }
}
