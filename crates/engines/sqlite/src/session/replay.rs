//! Transactions that replay changes: triggers and foreign keys have no effect in them.
//!
//! Foreign keys are disabled for the connection before the transaction begins: SQLite ignores the
//! setting inside one. Triggers are dropped in the transaction and created again before its commit,
//! so a rollback restores them too. The connection enables foreign keys again when it is returned,
//! however the transaction ended.

use super::SqliteSession;
use crate::connection::Connection;
use crate::schema::alter;
use crate::schema::search::is_search_trigger;
use bobak_core::change_log::is_capture_trigger;
use bobak_core::{Result, SchemaChange, Session, Value};
use bobak_sql::{Dialect, quote};

impl SqliteSession<'_> {
    /// Changes the schema. Tables are rebuilt without foreign keys, as changes are replayed.
    pub(super) fn alter_schema(&self, changes: &[SchemaChange]) -> Result<()> {
        let may_rebuild =
            changes.iter().any(|change| matches!(change, SchemaChange::AlterTable(_)));
        let apply = |connection: &mut Connection| {
            self.engine.writer().schema_changed();
            connection.take_quoted_strings(true);
            let applied = alter::apply(connection, changes);
            connection.take_quoted_strings(false);
            applied
        };
        if !may_rebuild || self.in_transaction() {
            return self.atomically(apply);
        }
        self.begin_replay(&[])?;
        let altered = self.atomically(apply);
        let ended = if altered.is_ok() { "COMMIT" } else { "ROLLBACK" };
        altered.and(self.end(ended))
    }
}

impl Connection {
    /// Disables foreign keys until the connection is returned.
    pub(crate) fn begin_replay(&mut self) {
        self.db.set_foreign_keys(false);
        self.replay = Some(Vec::new());
    }

    /// Drops the triggers on these tables, except for those of change capture and of searches.
    pub(crate) fn drop_triggers(&mut self, tables: &[&str]) -> Result<()> {
        let sql = "SELECT tbl_name, name, sql FROM main.sqlite_schema WHERE type = 'trigger' \
                   ORDER BY rowid";
        let mut dropped = Vec::new();
        for row in self.all_rows(sql, &[])? {
            let [Value::Text(table), Value::Text(name), Value::Text(sql)] = &row[..] else {
                continue;
            };
            let is_replayed = tables.iter().any(|replayed| replayed.eq_ignore_ascii_case(table));
            if is_replayed && !is_capture_trigger(name) && !is_search_trigger(sql) {
                self.run_owned(&format!("DROP TRIGGER main.{}", quote(Dialect::Sqlite, name)))?;
                dropped.push(sql.clone().into_owned());
            }
        }
        self.replay = Some(dropped);
        Ok(())
    }

    /// Creates the dropped triggers again, before the transaction commits.
    pub(crate) fn restore_triggers(&mut self) -> Result<()> {
        let dropped = self.replay.as_mut().map(std::mem::take).unwrap_or_default();
        dropped.iter().try_for_each(|sql| self.run_owned(sql))
    }

    /// Enables foreign keys again. Not inside a transaction.
    #[cold]
    pub(crate) fn end_replay(&mut self) {
        self.replay = None;
        self.db.set_foreign_keys(true);
    }
}
