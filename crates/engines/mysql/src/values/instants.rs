//! Which `DATETIME` columns are instants: a result does not say it, and the comment of the column does.

use mysql::consts::ColumnType;
use mysql::prelude::Queryable;
use mysql::{Column, Conn};
use std::collections::HashMap;

/// The `DATETIME` columns of the database's tables and views, by table and column, with whether they are instants.
pub(crate) type Instants = HashMap<(String, String), bool>;

/// The table and the column that a column of a result comes from, if it is a `DATETIME` of a table.
pub(crate) fn origin(column: &Column) -> Option<(String, String)> {
    let is_datetime = matches!(
        column.column_type(),
        ColumnType::MYSQL_TYPE_DATETIME | ColumnType::MYSQL_TYPE_DATETIME2
    );
    let (table, name) = (column.org_table_str(), column.org_name_str());
    (is_datetime && !table.is_empty()).then(|| (table.into_owned(), name.into_owned()))
}

/// Reads them, with those of other databases among `columns`, which the server is not asked for again.
pub(crate) fn read(conn: &mut Conn, columns: &[Column]) -> mysql::Result<Instants> {
    let rows: Vec<(String, String, String)> = conn.query(
        "SELECT TABLE_NAME, COLUMN_NAME, COLUMN_COMMENT FROM information_schema.COLUMNS \
         WHERE TABLE_SCHEMA = DATABASE() AND DATA_TYPE = 'datetime'",
    )?;
    let is_instant = |comment: &str| comment.split(',').next() == Some("bobak:timestamp");
    let entry = |(table, column, comment): (String, String, String)| {
        ((table, column), is_instant(&comment))
    };
    let mut instants: Instants = rows.into_iter().map(entry).collect();
    for column in columns.iter().filter_map(origin) {
        instants.entry(column).or_insert(false);
    }
    Ok(instants)
}
