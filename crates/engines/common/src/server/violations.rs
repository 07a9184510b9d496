//! Errors of servers, with the table and the columns that they are about.

use crate::{check_name, index_name, key_name, reference_name};
use bobak_core::check::CheckExpression;
use bobak_core::{Error, ErrorKind, TableSchema};
use std::io;

/// The error of a row that this table has already.
pub const DUPLICATE: &str = "a row with this value already exists";
/// The error of a row that refers to none, or that others refer to.
pub const REFERENCE: &str = "a foreign key rejects this";
/// The error of a row without a value that it must have.
pub const REQUIRED: &str = "a required value is NULL";

/// An error about these columns of a table.
#[must_use]
pub fn column_error(
    table: &TableSchema,
    columns: &[usize],
    (kind, text): (ErrorKind, &str),
) -> Error {
    Error::new(kind, text).in_table(table.name().to_owned()).in_columns(table, columns)
}

/// An error about a table, unless it is one of the connection, or names a table.
#[must_use]
pub fn about_table(error: Error, table: Option<&TableSchema>) -> Error {
    let is_of_connection = matches!(
        error.kind(),
        ErrorKind::Unreachable
            | ErrorKind::Denied
            | ErrorKind::Unknown
            | ErrorKind::Interrupted
            | ErrorKind::Timeout
    );
    match table.filter(|_| !is_of_connection && error.table().is_none()) {
        Some(table) => error.in_table(table.name().to_owned()),
        None => error,
    }
}

/// An error with the table and the columns of its constraint; with this table if there is none.
#[must_use]
pub fn in_constraint(
    error: Error,
    found: Option<(String, String)>,
    table: Option<&TableSchema>,
) -> Error {
    match (found, table) {
        (Some((table, columns)), _) => error.in_table(table).in_column(columns),
        (None, Some(table)) => error.in_table(table.name().to_owned()),
        (None, None) => error,
    }
}

/// The columns of the key or an index, by its name in the database: one of Bobak's, or that of another program's index.
pub fn index_columns(
    table: &TableSchema,
    mut is_own: impl FnMut(&str) -> bool,
    is_other: impl Fn(&str) -> bool,
) -> Option<&[usize]> {
    if is_own(&key_name(table)) {
        return Some(table.key());
    }
    let indexes = table.indexes().iter();
    let own = indexes.clone().find(|index| is_own(&index_name(table, &index.name)));
    let found = own.or_else(|| indexes.clone().find(|index| is_other(&index.name)))?;
    Some(&found.columns)
}

/// The error of a row that a check of Bobak's rejects; `is_named` finds the check's name.
pub fn violated_check(table: &TableSchema, is_named: impl Fn(&str) -> bool) -> Option<Error> {
    let mut columns = table.columns().iter();
    let column = columns.find(|column| is_named(&check_name(table, &column.name)))?;
    let check = CheckExpression::parse(column.check.as_deref()?, table).ok()?;
    Some(Error::check_violation(table, &check))
}

/// The error of a row that a foreign key of Bobak's rejects; `is_named` finds the foreign key's name.
pub fn violated_reference(table: &TableSchema, is_named: impl Fn(&str) -> bool) -> Option<Error> {
    let mut keys = table.all_foreign_keys().into_iter();
    let key = keys.find(|key| is_named(&reference_name(table, &key.columns, &key.table)))?;
    Some(column_error(table, &key.columns, (ErrorKind::Constraint, REFERENCE)))
}

/// Why a connection cannot be opened.
#[must_use]
pub fn connecting_text(error: &io::Error) -> String {
    match connecting_kind(error) {
        ErrorKind::Timeout => "the server did not answer in time (`connect_timeout`)".to_owned(),
        _ => error.to_string(),
    }
}

/// What it means that a connection cannot be opened.
#[must_use]
pub fn connecting_kind(error: &io::Error) -> ErrorKind {
    match error.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => ErrorKind::Timeout,
        // What responds is another server.
        io::ErrorKind::InvalidData => ErrorKind::Config,
        _ => ErrorKind::Unreachable,
    }
}
