//! The server's errors as Bobak's, by their numbers.

use crate::wire::{MssqlError, TdsError};
use bobak_core::{Error, ErrorKind, TableSchema};
use bobak_engine_common::{
    DUPLICATE, REQUIRED, ServerPhase, about_table, column_error, connecting_kind, connecting_text,
    index_columns, no_key_left, violated_check, violated_reference,
};

/// A constraint rejects the row.
const CONSTRAINT: i32 = 547;
const DUPLICATE_KEY: i32 = 2_627;
const DUPLICATE_INDEX: i32 = 2_601;
const NULL: i32 = 515;

const SERIALIZATION: &str =
    "another transaction has changed the row since this one began: repeat the transaction";
const DEADLOCK: &str = "two transactions wait for each other: repeat this one";
const RANGE: &str = "the value is out of range";
const CONVERSION: &str = "the value is none of the type";

/// The kinds of errors that Bobak tells apart.
const KINDS: &[(i32, ErrorKind, &str)] = &[
    (102, ErrorKind::Syntax, "the statement has an unexpected word"),
    (105, ErrorKind::Syntax, "a text in the statement has no end"),
    (156, ErrorKind::Syntax, "the statement has an unexpected word"),
    (170, ErrorKind::Syntax, "the statement has an unexpected word"),
    (207, ErrorKind::Schema, "there is no such column"),
    (208, ErrorKind::Schema, "there is no such table"),
    (213, ErrorKind::Schema, "the table has another number of columns"),
    (220, ErrorKind::OutOfRange, RANGE),
    (229, ErrorKind::Denied, "the user may not do this"),
    (232, ErrorKind::OutOfRange, RANGE),
    (241, ErrorKind::Mismatch, CONVERSION),
    (242, ErrorKind::OutOfRange, RANGE),
    (245, ErrorKind::Mismatch, CONVERSION),
    (262, ErrorKind::Denied, "the user may not do this"),
    (334, ErrorKind::Unsupported, "the table has triggers, which exclude OUTPUT"),
    (NULL, ErrorKind::Constraint, REQUIRED),
    (CONSTRAINT, ErrorKind::Constraint, "a constraint rejects this"),
    (911, ErrorKind::Config, "there is no database of this name"),
    (1_105, ErrorKind::Full, "the disk, or the database's file, is full"),
    (1_204, ErrorKind::Busy, "the server has no more locks"),
    (1_205, ErrorKind::Serialization, DEADLOCK),
    (1_222, ErrorKind::Busy, "another transaction has locked this"),
    (1_785, ErrorKind::Unsupported, "the foreign key's action would reach a table twice"),
    (1_946, ErrorKind::TooLong, "the value is too long for an index"),
    (DUPLICATE_INDEX, ErrorKind::Duplicate, DUPLICATE),
    (DUPLICATE_KEY, ErrorKind::Duplicate, DUPLICATE),
    (1_505, ErrorKind::Duplicate, DUPLICATE),
    (2_628, ErrorKind::TooLong, "the value is too long"),
    (2_714, ErrorKind::Schema, "there is such a table already"),
    (3_701, ErrorKind::Schema, "there is no such table"),
    (3_906, ErrorKind::ReadOnly, "the database is read-only"),
    (
        3_952,
        ErrorKind::Config,
        "the database does not allow snapshot isolation: ALTER DATABASE … SET \
        ALLOW_SNAPSHOT_ISOLATION ON, or connect with isolation=serializable",
    ),
    (3_960, ErrorKind::Serialization, SERIALIZATION),
    (
        3_961,
        ErrorKind::Serialization,
        "the schema has changed since the transaction began: repeat it",
    ),
    (4_060, ErrorKind::Config, "the database could not be opened"),
    (4_815, ErrorKind::TooLong, "the value is too long"),
    (4_863, ErrorKind::TooLong, "the value is too long"),
    (8_114, ErrorKind::Mismatch, CONVERSION),
    (8_115, ErrorKind::OutOfRange, RANGE),
    (8_134, ErrorKind::OutOfRange, "something is divided by zero"),
    (8_152, ErrorKind::TooLong, "the value is too long"),
    (8_178, ErrorKind::Misuse, "a parameter has no value"),
    (9_002, ErrorKind::Full, "the transaction log is full"),
    (18_452, ErrorKind::Denied, "the user or the password is wrong"),
    (18_456, ErrorKind::Denied, "the user or the password is wrong"),
    (18_488, ErrorKind::Denied, "the password must be changed"),
    (40_197, ErrorKind::Unreachable, "the server is being replaced"),
    (40_501, ErrorKind::Busy, "the server is busy"),
    (40_613, ErrorKind::Unreachable, "the database is not available"),
];

/// An error of a call.
#[cold]
pub(crate) fn translate(error: TdsError, phase: ServerPhase, table: Option<&TableSchema>) -> Error {
    let translated = match &error {
        TdsError::Io(io) => phase.lost(io),
        TdsError::Server(server) => of_server(server, phase, table),
        TdsError::Cancelled => Error::new(ErrorKind::Interrupted, "the call was cancelled"),
        TdsError::Tls(message) => Error::new(ErrorKind::Denied, message.clone()),
    };
    // A foreign key that rejects this may be that of another table.
    let table = table.filter(|_| constraint(&error).is_none());
    let located = about_table(translated, table);
    located.with_source(error)
}

fn of_server(server: &MssqlError, phase: ServerPhase, table: Option<&TableSchema>) -> Error {
    let known = KINDS.iter().find(|(number, ..)| *number == server.number);
    let (kind, text) = match known {
        Some((_, kind, text)) => (*kind, format!("{text} ({})", server.message.trim_end())),
        None => {
            (ErrorKind::Engine, format!("SQL Server's error {}: {}", server.number, server.message))
        }
    };
    if kind == ErrorKind::Unreachable || server.severity >= 20 {
        return phase.lost(server.message.clone());
    }
    if let Some(rejected) = table.and_then(|table| violated(table, server)) {
        return rejected.with_code(server.number);
    }
    Error::new(kind, text).with_code(server.number)
}

/// The texts in quotes of a message: names of constraints, tables and columns. Messages of other languages have them, too.
fn quoted_parts(message: &str) -> Vec<&str> {
    let quotes = ['\'', '"', '\u{ab}', '\u{bb}'];
    message.split(quotes).skip(1).step_by(2).collect()
}

/// The error of a row that a constraint of Bobak's rejects, with its columns.
fn violated(table: &TableSchema, server: &MssqlError) -> Option<Error> {
    let parts = quoted_parts(&server.message);
    let named = |name: &str| parts.contains(&name);
    match server.number {
        NULL => {
            let column = table.columns().iter().position(|column| named(&column.name))?;
            Some(column_error(table, &[column], (ErrorKind::Constraint, REQUIRED)))
        }
        DUPLICATE_KEY | DUPLICATE_INDEX => {
            let is_own = |own: &str| named(own) || server.message.contains(own);
            let columns = index_columns(table, is_own, named)?;
            Some(column_error(table, columns, (ErrorKind::Duplicate, DUPLICATE)))
        }
        // The key that the server would make is beyond its type.
        8_115 if server.message.contains("IDENTITY") => Some(no_key_left(table)),
        CONSTRAINT => violated_check(table, named).or_else(|| violated_reference(table, named)),
        _ => None,
    }
}

/// The name of the constraint that an error is about.
pub(crate) fn constraint(error: &TdsError) -> Option<String> {
    match error {
        TdsError::Server(server) if server.number == CONSTRAINT => {
            quoted_parts(&server.message).first().map(|name| (*name).to_owned())
        }
        _ => None,
    }
}

/// An error at the opening of a connection.
#[cold]
pub(crate) fn connecting(error: TdsError, place: &str) -> Error {
    let (kind, text) = match &error {
        TdsError::Server(server) => {
            let error = of_server(server, ServerPhase::Read, None);
            (error.kind(), error.message().to_owned())
        }
        TdsError::Io(io) => (connecting_kind(io), connecting_text(io)),
        TdsError::Tls(message) => (ErrorKind::Denied, message.clone()),
        TdsError::Cancelled => (ErrorKind::Timeout, error.to_string()),
    };
    Error::new(kind, format!("could not connect to '{place}': {text}")).with_source(error)
}
