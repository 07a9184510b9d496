//! Translates SQLite's result codes and messages to Bobak's errors.

use crate::ffi::{Failure, codes};
use bobak_core::check::CheckExpression;
use bobak_core::{ColumnSchema, Error, ErrorKind, TableSchema};
use std::fmt;

/// An error as SQLite reported it: the [`source`](std::error::Error::source) of translated
/// errors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqliteError {
    code: i32,
    message: String,
}

impl SqliteError {
    /// The extended result code, such as 2067 for `SQLITE_CONSTRAINT_UNIQUE`.
    #[must_use]
    pub const fn code(&self) -> i32 {
        self.code
    }

    /// SQLite's own message.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl From<Failure> for SqliteError {
    fn from(failure: Failure) -> Self {
        Self { code: failure.code, message: failure.message }
    }
}

impl fmt::Display for SqliteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (SQLite's code {})", self.message, self.code)
    }
}

impl std::error::Error for SqliteError {}

/// Translates the failure of a statement; `table` is the table it was about, if known.
#[cold]
pub(crate) fn translate(failure: Failure, table: Option<&TableSchema>) -> Error {
    let Failure { code, message, offset, cause, system, ends_commit } = failure;
    if let Some(cause) = cause {
        // The error of a virtual table or function, which SQLite only passes on.
        return cause;
    }
    let error = match code & 0xff {
        codes::SQLITE_CONSTRAINT => constraint(code, &message, table),
        codes::SQLITE_ERROR => from_text(&message, offset),
        _ if ends_commit => {
            let what = "the disk failed, perhaps during a commit: the transaction was committed \
                        completely or not at all";
            Error::new(ErrorKind::Unknown, format!("{what} (code {code})"))
        }
        codes::SQLITE_IOERR | codes::SQLITE_CANTOPEN if system.is_some_and(is_full) => {
            // SQLite reports a full disk for the database and the journal only, not for the log's
            // index.
            Error::new(ErrorKind::Full, format!("the disk is full (code {code})"))
        }
        primary => by_code(primary, code, &message),
    };
    let error = match table {
        Some(table) => error.in_table(table.name().to_owned()),
        None => error,
    };
    error.with_code(code).with_source(SqliteError { code, message })
}

/// Whether the error is about the row, not about the statement or the database.
pub(crate) fn is_row_error(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::NotFound
            | ErrorKind::Duplicate
            | ErrorKind::Conflict
            | ErrorKind::Constraint
            | ErrorKind::TooLong
            | ErrorKind::OutOfRange
            | ErrorKind::Mismatch
            | ErrorKind::Schema
    )
}

/// The error for a call in the wrong state.
#[cold]
pub(crate) fn misuse(message: &str) -> Error {
    Error::new(ErrorKind::Misuse, message)
}

fn constraint(code: i32, message: &str, table: Option<&TableSchema>) -> Error {
    let subject = message.split_once(": ").map_or("", |(_, subject)| subject);
    match code {
        codes::SQLITE_CONSTRAINT_PRIMARYKEY | codes::SQLITE_CONSTRAINT_ROWID => {
            let error = Error::new(ErrorKind::Duplicate, "another row has this key already");
            name_columns(error, subject)
        }
        codes::SQLITE_CONSTRAINT_UNIQUE => {
            let what = match subject.contains(", ") {
                true => "another row has these values already",
                false => "another row has this value already",
            };
            name_columns(Error::new(ErrorKind::Duplicate, what), subject)
        }
        codes::SQLITE_CONSTRAINT_NOTNULL => {
            let error = Error::new(ErrorKind::Constraint, "a required value is NULL");
            name_columns(error, subject)
        }
        codes::SQLITE_CONSTRAINT_CHECK => {
            if let Some(error) = table.and_then(|table| too_large(subject, table)) {
                return error;
            }
            match table.and_then(|table| Some((table, violated_check(subject, table)?))) {
                Some((table, check)) => Error::check_violation(table, &check),
                None => Error::new(
                    ErrorKind::Constraint,
                    format!("the check '{subject}' rejects the row"),
                ),
            }
        }
        codes::SQLITE_CONSTRAINT_FOREIGNKEY => {
            let what = "a foreign key references a row that does not exist";
            Error::new(ErrorKind::Constraint, what)
        }
        codes::SQLITE_CONSTRAINT_DATATYPE => Error::new(ErrorKind::Mismatch, lower(message)),
        _ => Error::new(ErrorKind::Constraint, lower(message)),
    }
}

/// The error for a computed number that its column can't hold, which a check of the column rejects.
fn too_large(subject: &str, table: &TableSchema) -> Option<Error> {
    let is_own = |column: &&ColumnSchema| {
        column.generated.is_some() && bobak_sql::storage_check(column).as_deref() == Some(subject)
    };
    let column = table.columns().iter().find(is_own)?;
    let error = Error::new(ErrorKind::OutOfRange, "the computed value does not fit");
    Some(error.in_table(table.name().to_owned()).in_column(column.name.to_string()))
}

/// The check with this text. SQLite shows one that begins with a quoted name by that name alone.
fn violated_check(subject: &str, table: &TableSchema) -> Option<CheckExpression> {
    let is_name = table.column(subject).is_ok();
    if let Some(check) = CheckExpression::parse_stored(subject, table).ok().filter(|_| !is_name) {
        return Some(check);
    }
    let checks = table.columns().iter().filter_map(|column| column.check.as_deref());
    let checks = checks.filter_map(|text| CheckExpression::parse(text, table).ok());
    let mut named = checks.filter(|check| {
        let text = check.to_text(table);
        text.trim_start_matches('"').starts_with(subject)
    });
    named.next().filter(|_| named.next().is_none())
}

/// Parses table and columns from `table.column, table.column`.
fn name_columns(error: Error, subject: &str) -> Error {
    let mut columns = Vec::new();
    let mut table = None;
    for part in subject.split(", ") {
        let Some((before, column)) = part.split_once('.') else {
            // An index on expressions: `index 'name'`.
            return error;
        };
        table = Some(before);
        columns.push(column);
    }
    match table {
        Some(table) => error.in_table(table).in_column(columns.join(", ")),
        None => error,
    }
}

/// The error after waiting too long for another writer.
#[cold]
pub(crate) fn kept_waiting() -> Error {
    Error::new(ErrorKind::Busy, "another session held the write lock for the whole busy timeout")
}

/// Whether the operating system's error number means a full disk.
fn is_full(system: i32) -> bool {
    Error::io("write", std::io::Error::from_raw_os_error(system)).kind() == ErrorKind::Full
}

fn by_code(primary: i32, code: i32, message: &str) -> Error {
    let (kind, what) = match primary {
        codes::SQLITE_BUSY | codes::SQLITE_LOCKED | codes::SQLITE_PROTOCOL => {
            let what = "another connection held the database for the whole busy timeout";
            (ErrorKind::Busy, what.to_owned())
        }
        codes::SQLITE_FULL => {
            (ErrorKind::Full, "the disk, or the database at its largest size, is full".to_owned())
        }
        _ if code == codes::SQLITE_READONLY_DBMOVED => {
            let what = "the file was replaced or removed while it was open: open it again";
            (ErrorKind::Io, what.to_owned())
        }
        codes::SQLITE_READONLY | codes::SQLITE_PERM => {
            (ErrorKind::ReadOnly, "the database is read-only".to_owned())
        }
        codes::SQLITE_NOTADB => {
            let what =
                "the file is not an SQLite database, or it is encrypted: if so, give its key";
            (ErrorKind::Corrupt, what.to_owned())
        }
        _ if code == codes::SQLITE_IOERR_DATA => {
            let what = "an encrypted page was damaged, or is another page's";
            (ErrorKind::Corrupt, format!("the database is damaged: {what}"))
        }
        _ if code == codes::SQLITE_CORRUPT_VTAB => {
            let what = "a virtual table does not match the tables that it keeps its content in: \
                        rebuild it";
            (ErrorKind::Corrupt, what.to_owned())
        }
        codes::SQLITE_CORRUPT => {
            (ErrorKind::Corrupt, format!("the database is damaged: {}", lower(message)))
        }
        codes::SQLITE_TOOBIG if message.starts_with("a pattern") => {
            (ErrorKind::OutOfRange, message.to_owned())
        }
        codes::SQLITE_TOOBIG => (
            ErrorKind::OutOfRange,
            "a value or row exceeds the maximum size (setting `max_value_bytes`)".to_owned(),
        ),
        codes::SQLITE_MISMATCH => {
            (ErrorKind::Mismatch, "a value is not of its column's type".to_owned())
        }
        codes::SQLITE_INTERRUPT => (ErrorKind::Interrupted, "interrupted".to_owned()),
        codes::SQLITE_IOERR | codes::SQLITE_CANTOPEN | codes::SQLITE_NOLFS => {
            (ErrorKind::Io, format!("{} (code {code})", lower(message)))
        }
        codes::SQLITE_AUTH => {
            let what = "the schema of an attached engine cannot be changed by SQL: use its API";
            (ErrorKind::Unsupported, what.to_owned())
        }
        codes::SQLITE_SCHEMA => (ErrorKind::Schema, lower(message)),
        codes::SQLITE_MISUSE | codes::SQLITE_RANGE => (ErrorKind::Misuse, lower(message)),
        _ => (ErrorKind::Engine, lower(message)),
    };
    Error::new(kind, what)
}

/// Translates errors that SQLite distinguishes by their message only.
fn from_text(message: &str, offset: Option<usize>) -> Error {
    let after = |start: &str| message.strip_prefix(start).map(str::to_owned);
    if let Some(table) = after("no such table: ") {
        let table = table.strip_prefix("main.").map_or(table.clone(), str::to_owned);
        return Error::new(ErrorKind::Schema, "there is no such table").in_table(table);
    }
    if let Some(column) = after("no such column: ") {
        let error = Error::new(ErrorKind::Schema, "there is no such column");
        // For a name in double quotes, SQLite asks whether it is meant as a string.
        return error.in_column(match column.split_once(" - should this be") {
            Some((quoted, _)) => quoted.trim_matches('"').replace("\"\"", "\""),
            None => column,
        });
    }
    if let Some(rest) = after("table ")
        && let Some((table, column)) = rest.split_once(" has no column named ")
    {
        let error = Error::new(ErrorKind::Schema, "there is no such column");
        return error.in_table(table).in_column(column);
    }
    if let Some(table) = after("UPSERT not implemented for virtual table ") {
        let what = "ON CONFLICT is not available for tables of attached engines: \
                    use INSERT OR IGNORE or INSERT OR REPLACE";
        return Error::new(ErrorKind::Unsupported, what)
            .in_table(table.trim_matches('"').to_owned());
    }
    if let Some(what) = after("virtual tables may not be ") {
        let what =
            format!("tables of attached engines, and other virtual ones, cannot be {what} by SQL");
        return Error::new(ErrorKind::Unsupported, what);
    }
    let says = |words: &[&str]| words.iter().any(|part| message.contains(part));
    if says(&["integer overflow"]) {
        let message = "the result of a calculation is too large for an integer of 64 bits";
        return Error::new(ErrorKind::OutOfRange, message);
    }
    if says(&["RETURNING is not available"]) {
        let message = "RETURNING is not available for this table, which is virtual or belongs to an engine without SQL: \
                       read the rows by a statement of their own";
        return Error::new(ErrorKind::Unsupported, message);
    }
    let kind = if says(&["syntax error", "incomplete input", "unrecognized token"]) {
        ErrorKind::Syntax
    } else if says(&[
        "already exists",
        "already another",
        "duplicate column name",
        "no such index",
        "no such collation",
        "no such view",
        "foreign key mismatch",
        "cannot add",
    ]) {
        ErrorKind::Schema
    } else if says(&["no such savepoint", "transaction"]) {
        ErrorKind::Misuse
    } else if says(&["malformed JSON"]) {
        ErrorKind::Mismatch
    } else {
        // All statement errors without a code of their own: unequal numbers of columns in a
        // UNION, an unknown function, and others.
        ErrorKind::Syntax
    };
    let place = match offset {
        Some(offset) if kind == ErrorKind::Syntax => format!(" (at byte {offset} of the SQL)"),
        _ => String::new(),
    };
    Error::new(kind, format!("{}{place}", lower(message)))
}

/// Starts with a lower-case letter, unlike some of SQLite's messages.
fn lower(message: &str) -> String {
    let mut characters = message.chars();
    match (characters.next(), characters.next()) {
        (Some(first), Some(second)) if second.is_lowercase() => {
            first.to_lowercase().chain(message.chars().skip(1)).collect()
        }
        _ => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(code: i32, message: &str) -> Error {
        translate(Failure::own(code, message), None)
    }

    #[test]
    fn texts_are_taken_apart() {
        let e = error(2067, "UNIQUE constraint failed: person.a, person.b");
        assert_eq!(e.kind(), ErrorKind::Duplicate);
        assert_eq!((e.table(), e.column()), (Some("person"), Some("a, b")));
        let e = error(1, "no such table: main.plane");
        assert_eq!((e.kind(), e.table()), (ErrorKind::Schema, Some("plane")));
        let e = error(1, "table plane has no column named x");
        assert_eq!((e.table(), e.column()), (Some("plane"), Some("x")));
        let e = error(
            1,
            "no such column: \"a\"\"b\" - should this be a string literal in single-quotes?",
        );
        assert_eq!(e.column(), Some("a\"b"));
        let e = error(1299, "NOT NULL constraint failed: t.c");
        assert_eq!((e.kind(), e.column()), (ErrorKind::Constraint, Some("c")));
        let e = error(275, "CHECK constraint failed: amount >= 0");
        assert!(e.to_string().contains("amount >= 0"), "{e}");
        let e = error(1, "near \"SELEC\": syntax error");
        assert_eq!(e.kind(), ErrorKind::Syntax);
        let source = std::error::Error::source(&e).unwrap().to_string();
        assert_eq!(source, "near \"SELEC\": syntax error (SQLite's code 1)");
        let e = error(1, "integer overflow");
        assert_eq!(e.kind(), ErrorKind::OutOfRange);
        assert!(e.message().starts_with("the result of a calculation is too large"), "{e}");
        assert_eq!(error(5, "database is locked").kind(), ErrorKind::Busy);
    }
}
