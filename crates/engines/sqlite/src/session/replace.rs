//! Replacing rows of a table that other rows refer to.

use super::write::{WriteValues, check_count, insert};
use crate::connection::Connection;
use crate::error::translate;
use bobak_core::{Outcome, Result, TableSchema, Verb};
use bobak_sql::{Dialect, quote};

/// Replaces rows that others may refer to: deletes them by statements of their own, at the end of which nothing may refer to
/// them any more.
pub(super) fn replace<'v>(
    connection: &mut Connection,
    table: &TableSchema,
    values: impl WriteValues<'v>,
) -> Result<Outcome> {
    check_count(table, values)?;
    let inside = !connection.db.is_autocommit();
    let mut outcome = Outcome::Ignored;
    connection.atomically(inside, |connection| {
        let unique = table.indexes().iter().filter(|index| index.unique);
        let ways = std::iter::once(table.key()).chain(unique.map(|index| &index.columns[..]));
        for columns in ways.filter(|columns| columns.iter().all(|place| !values.is_null(*place))) {
            let equal = |&place: &usize| {
                let column = table.columns().get(place)?;
                Some(format!("{} = ?", quote(Dialect::Sqlite, &column.name)))
            };
            let equal: Vec<String> = columns.iter().filter_map(equal).collect();
            let name = quote(Dialect::Sqlite, table.name());
            let id = connection
                .text_statement(&format!("DELETE FROM {name} WHERE {}", equal.join(" AND ")))?;
            connection
                .db
                .execute(id, columns.iter().map(|&place| values.value(place)))
                .map_err(|failure| translate(failure, Some(table)))?;
        }
        outcome = insert(connection, table, Verb::InsertOrReplace, values)?;
        Ok(())
    })?;
    Ok(outcome)
}
