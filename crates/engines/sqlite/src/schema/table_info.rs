//! Properties that decide how a table is written, read once for each schema.

use crate::connection::Connection;
use crate::connection::table_info_cache::{CAPACITY, TableInfo};
use crate::schema::column::text;
use crate::schema::text::checks;
use bobak_core::change_log::is_capture_trigger;
use bobak_core::{ColumnSchema, Result, TableSchema, Value};
use bobak_sql::storage_check;

impl Connection {
    /// The properties of a table, as they were when they were first read.
    pub(crate) fn table_info(&mut self, table: &TableSchema) -> Result<TableInfo> {
        if let Some(&table_info) = self.table_infos.known.get(&table.id()) {
            return Ok(table_info);
        }
        let table_info = self.ask(table)?;
        if self.table_infos.known.len() >= CAPACITY {
            self.table_infos.known.clear();
        }
        self.table_infos.known.insert(table.id(), table_info);
        Ok(table_info)
    }

    /// As [`table_info`](Self::table_info), up to date: for operations that are worth the check.
    pub(crate) fn fresh_table_info(&mut self, table: &TableSchema) -> Result<TableInfo> {
        let versions = (
            self.first_integer("PRAGMA main.schema_version")?,
            self.first_integer("PRAGMA temp.schema_version")?,
        );
        if versions != self.table_infos.versions {
            self.table_infos.known.clear();
            self.table_infos.versions = versions;
        }
        self.table_info(table)
    }

    fn ask(&mut self, schema: &TableSchema) -> Result<TableInfo> {
        let table = schema.name();
        let sql = "SELECT \
             (SELECT wr FROM pragma_table_list WHERE schema = 'main' AND lower(name) = lower(?1)), \
             EXISTS (SELECT 1 FROM temp.sqlite_schema \
                     WHERE type = 'trigger' AND lower(tbl_name) = lower(?1)), \
             EXISTS (SELECT 1 FROM main.sqlite_schema WHERE type = 'table' \
                     AND lower(name) = lower(?1) AND instr(upper(sql), 'AUTOINCREMENT')), \
             EXISTS (SELECT 1 FROM main.sqlite_schema WHERE type = 'table' \
                     AND lower(name) = lower(?1) AND instr(upper(sql), 'CONFLICT')), \
             count(*) FILTER (WHERE lower(s.name) = lower(f.\"table\")), \
             count(*), \
             count(*) FILTER (WHERE lower(f.\"table\") = lower(?1)), \
             (SELECT sql FROM main.sqlite_schema WHERE type = 'table' AND lower(name) = lower(?1)) \
             FROM main.sqlite_schema AS s, pragma_foreign_key_list(s.name) AS f \
             WHERE s.type = 'table' \
             AND (lower(s.name) = lower(?1) OR lower(f.\"table\") = lower(?1))";
        let mut triggers = crate::schema::tables::triggers(self)?.into_iter();
        let has_triggers = triggers.any(|trigger| {
            trigger.table.eq_ignore_ascii_case(table) && !is_capture_trigger(&trigger.name)
        });
        let row = self.all_rows(sql, &[Value::from(table)])?.into_iter().next();
        let mut cells = row.unwrap_or_default().into_iter();
        let mut is_some = || matches!(cells.next(), Some(Value::Int(number)) if number != 0);
        Ok(TableInfo {
            rowids: !is_some(),
            has_triggers: is_some() || has_triggers,
            counts_keys: is_some(),
            resolves_conflicts: is_some(),
            refers_to_itself: is_some(),
            foreign_keys: is_some(),
            is_referenced: is_some(),
            checks_storage_only: checks_storage_only(schema, &text(cells.next())),
        })
    }
}

/// Whether each CHECK of a table's CREATE statement is that of a column's type.
fn checks_storage_only(table: &TableSchema, sql: &str) -> bool {
    let is_storage = |(name, check): &(Option<String>, String)| {
        let same = |column: &&ColumnSchema| {
            name.as_deref().is_some_and(|name| name.eq_ignore_ascii_case(&column.name))
        };
        let column = table.columns().iter().find(same);
        let column = column.filter(|column| column.generated.is_none());
        column.and_then(storage_check).as_ref() == Some(check)
    };
    checks(sql).iter().all(is_storage)
}
