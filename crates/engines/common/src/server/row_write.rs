//! Parts of the write of one row, for engines of servers with SQL texts of their own.

use bobak_core::{
    ColumnSchema, Error, ErrorKind, KeyGeneration, Result, Row, TableSchema, Type, Verb,
};

/// Checks that a row has a value for each column, or for each column of the key if it is deleted.
///
/// # Errors
/// `Misuse`.
pub fn check_row_length(table: &TableSchema, verb: Verb, row: &dyn Row) -> Result<()> {
    let wanted = if verb == Verb::Delete { table.key().len() } else { table.columns().len() };
    if row.len() == wanted {
        return Ok(());
    }
    let error = Error::wrong_number(ErrorKind::Misuse, row.len(), wanted, "column");
    Err(error.in_table(table.name().to_owned()))
}

/// Rejects a row in which a required value is NULL: before duplicates, and whatever an update sets.
///
/// # Errors
/// `Constraint`.
pub fn reject_null(table: &TableSchema, row: &dyn Row) -> Result<()> {
    let makes_key = needs_key(table, row);
    for (place, column) in table.columns().iter().enumerate() {
        let is_made = (makes_key && table.key().contains(&place)) || table.is_generated(place);
        if !column.nullable && row.get(place).is_null() && !is_made {
            return Err(Error::new(ErrorKind::Constraint, "a required value is NULL")
                .in_table(table.name().to_owned())
                .in_column(column.name.to_string()));
        }
    }
    Ok(())
}

/// Whether the engine is to make this row's key.
#[must_use]
pub fn needs_key(table: &TableSchema, row: &dyn Row) -> bool {
    table.key_generation() == KeyGeneration::Engine
        && table.key().first().is_some_and(|&place| row.get(place).is_null())
}

/// The rows that were written: none if a value by which they are found is too long, or out of range, to be that of any row.
///
/// # Errors
/// All other errors of `done`.
pub fn none_if_beyond(done: Result<u64>, table: &TableSchema, columns: &[usize]) -> Result<u64> {
    let is_beyond = |error: &Error| {
        let mut names = columns.iter().filter_map(|place| table.columns().get(*place));
        matches!(error.kind(), ErrorKind::TooLong | ErrorKind::OutOfRange)
            && names.any(|column| error.column() == Some(&*column.name))
    };
    match done {
        Err(error) if is_beyond(&error) => Ok(0),
        other => other,
    }
}

/// The error with the table, and the column at this place if there is one.
#[must_use]
pub fn in_column(error: Error, table: &TableSchema, place: Option<usize>) -> Error {
    let error = error.in_table(table.name().to_owned());
    match place.and_then(|place| table.columns().get(place)) {
        Some(column) => error.in_column(column.name.to_string()),
        None => error,
    }
}

/// The type whose values a column keeps.
#[must_use]
pub fn kept_type(table: &TableSchema, place: usize) -> Type {
    table
        .columns()
        .get(place)
        .map_or(Type::Any, |column| if column.is_kept_as_text() { Type::Text } else { column.ty })
}

/// Whether the values of a column are texts in the database.
#[must_use]
pub fn is_text(column: &ColumnSchema) -> bool {
    column.is_kept_as_text() || matches!(column.ty, Type::Text | Type::Json | Type::Decimal)
}

/// Rejects a value that is too long for its column.
///
/// # Errors
/// `TooLong`; what is counted, and the server's name, are for the message.
pub fn check_length(length: usize, limit: usize, (units, server): (&str, &str)) -> Result<()> {
    if length <= limit {
        return Ok(());
    }
    let message =
        format!("the value has {length} {units}, and the column in {server} at most {limit}");
    Err(Error::new(ErrorKind::TooLong, message))
}

/// The error of a server that has made keys and did not return them.
#[cold]
#[must_use]
pub fn no_key_returned(table: &TableSchema) -> Error {
    let message = "the server did not return the keys that it made";
    Error::new(ErrorKind::Engine, message).in_table(table.name().to_owned())
}

/// Whether an error is that a row with this key exists.
#[must_use]
pub fn is_of_key(table: &TableSchema, error: &Error) -> bool {
    error.kind() == ErrorKind::Duplicate && error.column() == Some(&table.column_names(table.key()))
}

/// Whether a column is in the key, a unique index or a foreign key, so that its values must be unique or match exactly.
#[must_use]
pub fn is_exact(table: &TableSchema, place: usize) -> bool {
    table.key().contains(&place)
        || table.indexes().iter().any(|index| index.unique && index.columns.contains(&place))
        || table.all_foreign_keys().iter().any(|key| key.columns.contains(&place))
}

/// Whether rows of a table may refer to each other by a foreign key.
#[must_use]
pub fn refers_to_itself(table: &TableSchema) -> bool {
    let columns = table.columns().iter().filter_map(|column| column.reference.as_ref());
    let mut named =
        columns.map(|to| &to.table).chain(table.foreign_keys().iter().map(|k| &k.table));
    named.any(|name| name.eq_ignore_ascii_case(table.name()))
}

/// Whether the server makes the values of a column.
#[must_use]
pub fn makes_key(table: &TableSchema, place: usize) -> bool {
    table.has_integer_key()
        && table.key() == [place]
        && table.key_generation() == KeyGeneration::Engine
}

/// Whether an error means that the database has undone the whole transaction, not the statement alone.
#[must_use]
pub const fn ends_transaction(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Serialization | ErrorKind::Unreachable | ErrorKind::Unknown)
}

/// Whether an error is about the one row that was sent: a batch may go on without it.
#[must_use]
pub const fn is_row_error(kind: ErrorKind) -> bool {
    use ErrorKind as K;
    matches!(
        kind,
        K::Duplicate
            | K::Constraint
            | K::NotFound
            | K::Conflict
            | K::TooLong
            | K::OutOfRange
            | K::Mismatch
            | K::Schema
            | K::Misuse
            | K::Full
            | K::Unsupported
    )
}
