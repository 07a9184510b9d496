//! What a database has that [`TableSchema`]s do not express, with the dates that do not exist.

use crate::connection::Connection;
use crate::values::decode::DecodedValue;
use bobak_core::{InvalidDates, Result, SchemaDetails, TableSchema};
use bobak_sql::quote;
use bobak_sql::server::mysql_details;

/// Lists it.
pub(crate) fn read(connection: &mut Connection) -> Result<SchemaDetails> {
    let (mut details, dates) = mysql_details::read(connection)?;
    for (table, columns) in &dates {
        invalid_dates(connection, table, columns, &mut details)?;
    }
    Ok(details)
}

/// Counts dates that do not exist.
fn invalid_dates(
    connection: &mut Connection,
    table: &TableSchema,
    columns: &[String],
    details: &mut SchemaDetails,
) -> Result<()> {
    let dialect = connection.flavour.dialect;
    let sums = columns.iter().map(|column| {
        let name = quote(dialect, column);
        // LAST_DAY of some such dates is NULL, and of others the last day of a month.
        format!(
            "SUM(MONTH({name}) = 0 OR DAYOFMONTH({name}) = 0 \
             OR DAYOFMONTH({name}) > COALESCE(DAYOFMONTH(LAST_DAY({name})), 0))"
        )
    });
    let sums: Vec<String> = sums.collect();
    let sql = format!("SELECT {} FROM {}", sums.join(", "), quote(dialect, table.name()));
    // Of a table, so that the server's warnings about such dates are no errors.
    for row in connection.rows(Some(table), &sql, Vec::new())? {
        for (column, rows) in columns.iter().zip(row) {
            let DecodedValue::Int(rows @ 1..) = rows else { continue };
            let (table, column) = (table.name().to_owned(), column.clone());
            details.invalid_dates.push(InvalidDates { table, column, rows: rows.unsigned_abs() });
        }
    }
    Ok(())
}
