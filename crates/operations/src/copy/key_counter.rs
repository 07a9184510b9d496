//! The largest key that a table which never reuses keys ever made: the target must not make it again.

use super::table_copy::count;
use bobak_core::{Engine, Result, SchemaLoss, Select, Source, TableSchema, Value, ValueRef};
use std::sync::Arc;

/// The largest key that the source made for rows of the table, if it may be larger than those of all rows.
///
/// # Errors
/// Those of the engine.
pub(super) fn last_key(
    from: &dyn Engine,
    table: &Arc<TableSchema>,
    losses: &mut Vec<SchemaLoss>,
) -> Result<Option<i64>> {
    let Some(text) = query_text(from.name()) else {
        if matches!(from.name(), "memory" | "kv") {
            let what = "AUTOINCREMENT: the source does not tell the largest key that it made, so the target may make \
                        keys of deleted rows again";
            losses.push(SchemaLoss::new(table.name().to_owned(), what.to_owned()));
        }
        return Ok(None);
    };
    let session = from.session()?;
    let parameters = [Value::from(table.name()).into()];
    let mut last = None;
    session.query(&Source::Sql { text, parameters: &parameters }, &mut |row| {
        if let ValueRef::Int(key) = row.get(0) {
            last = Some(key);
        }
        Ok(false)
    })?;
    let last = last.filter(|key| *key > 0);
    if let Some(key) = last
        && count(&*session, Select::all(table))? == 0
    {
        let what = format!(
            "AUTOINCREMENT has made keys up to {key}, and there is no row: the target begins at 1"
        );
        losses.push(SchemaLoss::new(table.name().to_owned(), what));
        return Ok(None);
    }
    Ok(last)
}

/// The SQL text that asks an engine with this name for the largest key that it made: each keeps it in a catalog of its
/// own. The memory and the key-value engine keep it with the table, and have no SQL to ask for it.
fn query_text(engine: &str) -> Option<&'static str> {
    Some(match engine {
        "sqlite" => "SELECT seq FROM sqlite_sequence WHERE name = ?1 COLLATE NOCASE",
        "postgres" => {
            "SELECT pg_sequence_last_value(\
             pg_get_serial_sequence(quote_ident(c.relname), a.attname)::regclass) FROM pg_class c \
             JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary \
             JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0] \
             WHERE c.relname = ? AND c.relnamespace = \
             (SELECT oid FROM pg_namespace WHERE nspname = current_schema())"
        }
        "mysql" => {
            "SELECT CAST(AUTO_INCREMENT - 1 AS SIGNED) FROM information_schema.TABLES \
             WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ?"
        }
        _ => return None,
    })
}
