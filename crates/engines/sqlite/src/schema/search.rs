//! What a table is searched by: its FTS5 table.

use super::column::text;
use crate::connection::Connection;
use bobak_core::search::SearchLanguage;
use bobak_core::{Result, TableSchema, Value};
use bobak_sql::{Dialect, SEARCH_COMMENT, create_search, parse_search_table, search_table};

/// The language and the columns of a table's search, if it has one that Bobak made.
pub(super) fn read(
    connection: &mut Connection,
    table: &str,
) -> Result<Option<(SearchLanguage, Vec<String>)>> {
    let name = Value::from(search_table(table));
    let sql =
        "SELECT sql FROM main.sqlite_schema WHERE type = 'table' AND name = ?1 COLLATE NOCASE";
    let found = connection.all_rows(sql, std::slice::from_ref(&name))?.into_iter().flatten().next();
    let Some(language) = parse_search_table(&text(found)) else { return Ok(None) };
    let sql = "SELECT name FROM pragma_table_info(?1, 'main') ORDER BY cid";
    let columns = connection.all_rows(sql, std::slice::from_ref(&name))?;
    let columns = columns.into_iter().map(|row| text(row.into_iter().next())).collect();
    Ok(Some((language, columns)))
}

/// Makes the table searchable, if it is declared so.
pub(super) fn create(connection: &mut Connection, table: &TableSchema) -> Result<()> {
    let texts = create_search(Dialect::Sqlite, table)?;
    if texts.is_empty() {
        return Ok(());
    }
    let located = |error: bobak_core::Error| error.in_table(table.name().to_owned());
    texts.iter().try_for_each(|sql| connection.run_owned(sql).map_err(located))?;
    // So that rows deleted by REPLACE fire the triggers.
    connection.run_owned("PRAGMA recursive_triggers = on")
}

/// Whether a trigger with this text keeps a search up to date.
pub(crate) fn is_search_trigger(sql: &str) -> bool {
    sql.contains(&format!("BEGIN /* {SEARCH_COMMENT}*/"))
}
