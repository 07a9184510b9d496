//! The server's errors as Bobak's, by its own numbers and by SQLSTATE.

use crate::names::swap_case;
use crate::wire::{Status, WireError};
use bobak_core::{Error, ErrorKind, TableSchema};
use bobak_engine_common::{
    DUPLICATE, REFERENCE, REQUIRED, ServerPhase, about_table, connecting_kind, connecting_text,
    index_columns, violated_check,
};

const LOCK_CONFLICT: i32 = 335_544_345;
const DEADLOCK: i32 = 335_544_336;
const UPDATE_CONFLICT: i32 = 335_544_451;
const NOT_VALID: i32 = 335_544_347;
const NO_DUPLICATES: i32 = 335_544_349;
const UNIQUE_KEY: i32 = 335_544_665;
const FOREIGN_KEY: i32 = 335_544_466;
const IN_USE: i32 = 335_544_453;
/// Names the other transaction.
const CONCURRENT: i32 = 335_544_878;
const CANCELLED: i32 = 335_544_794;
const CHECK: i32 = 335_544_558;
/// What a code of SQL goes with.
const SQL_CODE: i32 = 335_544_436;
const KEY_TOO_BIG: i32 = 335_544_468;

/// The kinds of errors that Firebird has numbers for; the first that occurs counts.
const KINDS: &[(i32, ErrorKind, &str)] = &[
    (CANCELLED, ErrorKind::Interrupted, "the call was cancelled"),
    (LOCK_CONFLICT, ErrorKind::Busy, "another transaction has locked this"),
    (335_544_510, ErrorKind::Busy, "another transaction has locked this"),
    (IN_USE, ErrorKind::Busy, "the table is in use"),
    (UNIQUE_KEY, ErrorKind::Duplicate, DUPLICATE),
    (NO_DUPLICATES, ErrorKind::Duplicate, DUPLICATE),
    (FOREIGN_KEY, ErrorKind::Constraint, REFERENCE),
    (NOT_VALID, ErrorKind::Constraint, REQUIRED),
    (CHECK, ErrorKind::Constraint, "a check rejects the row"),
    (
        UPDATE_CONFLICT,
        ErrorKind::Serialization,
        "another transaction has changed the row since this one began: repeat the transaction",
    ),
    (DEADLOCK, ErrorKind::Serialization, "two transactions wait for each other: repeat this one"),
    (KEY_TOO_BIG, ErrorKind::TooLong, "the value is too long for an index"),
    (335_544_914, ErrorKind::TooLong, "the value is too long"),
    (335_544_472, ErrorKind::Denied, "the user or the password is wrong"),
    (335_544_352, ErrorKind::Denied, "the user may not do this"),
    (335_544_361, ErrorKind::ReadOnly, "the transaction only reads"),
    (335_544_765, ErrorKind::ReadOnly, "the database is read-only"),
    (335_544_580, ErrorKind::Schema, "there is no such table"),
    (335_544_578, ErrorKind::Schema, "there is no such column"),
    (335_544_916, ErrorKind::OutOfRange, "the value is out of range"),
    (335_544_779, ErrorKind::OutOfRange, "the value is out of range"),
    (335_544_772, ErrorKind::OutOfRange, "something is divided by zero"),
    (335_544_778, ErrorKind::OutOfRange, "something is divided by zero"),
    (335_544_634, ErrorKind::Syntax, "the statement has an unexpected word"),
    (335_544_334, ErrorKind::Mismatch, "the text is no value of the type"),
    (335_544_721, ErrorKind::Unreachable, "the server could not be reached"),
    (335_544_741, ErrorKind::Unreachable, "the server has closed the connection"),
    (335_544_856, ErrorKind::Unreachable, "the server has closed the connection"),
    (335_544_734, ErrorKind::Config, "the database file could not be opened"),
    (335_544_344, ErrorKind::Config, "the database file could not be opened"),
    (335_544_375, ErrorKind::Config, "the database is not available"),
    (335_544_325, ErrorKind::Config, "there is no database of this name"),
];

/// By the code of SQL, what has no number above.
const SQL_CODES: &[(&str, ErrorKind)] = &[
    ("-104", ErrorKind::Syntax),
    ("-204", ErrorKind::Schema),
    ("-206", ErrorKind::Schema),
    ("-607", ErrorKind::Schema),
    ("-804", ErrorKind::Misuse),
];

/// Whether a table is in use: the call may be repeated.
pub(crate) fn is_in_use(error: &WireError) -> bool {
    matches!(error, WireError::Server(status) if status.has(IN_USE))
}

/// The number of the transaction that is in the way.
pub(crate) fn holder(error: &Error) -> Option<i64> {
    let Some(WireError::Server(status)) = std::error::Error::source(error)?.downcast_ref() else {
        return None;
    };
    status.find(CONCURRENT)?.arguments.first()?.parse().ok()
}

/// The name of the constraint or index that an error is about.
pub(crate) fn violated(error: &WireError) -> Option<&str> {
    let WireError::Server(status) = error else { return None };
    let found =
        [UNIQUE_KEY, FOREIGN_KEY, NO_DUPLICATES].into_iter().find_map(|code| status.find(code));
    found?.arguments.first().map(String::as_str)
}

/// Whether the error is one of a foreign key, and not of a unique value.
pub(crate) fn is_foreign(error: &WireError) -> bool {
    matches!(error, WireError::Server(status) if status.has(FOREIGN_KEY))
}

/// The column that a NULL was written to.
fn null_column(status: &Status) -> Option<String> {
    let complaint = status.find(NOT_VALID)?;
    // "TABLE"."COLUMN", then the value.
    let full = complaint.arguments.first()?;
    let name = full.rsplit_once("\".\"").map_or(full.as_str(), |(_, column)| column);
    Some(name.trim_matches('"').to_owned())
}

/// An error of a call.
#[cold]
pub(crate) fn translate(
    error: WireError,
    phase: ServerPhase,
    table: Option<&TableSchema>,
) -> Error {
    let translated = match &error {
        WireError::Io(io) => phase.lost(io),
        WireError::Server(status) => of_status(status, phase),
    };
    let name = match &error {
        WireError::Server(status) => null_column(status),
        WireError::Io(_) => None,
    };
    if let (Some(table), WireError::Server(status)) = (table, &error)
        && let Some(rejected) = broken_check(table, status)
    {
        return rejected.with_source(error);
    }
    let mut located = about_table(translated, table);
    if let Some(name) = name {
        located = located.in_column(swap_case(&name).into_owned());
    }
    if let (Some(table), Some(index)) = (table, violated(&error))
        && let Some(columns) = indexed(table, index)
    {
        located = located.in_column(table.column_names(columns));
    }
    located.with_source(error)
}

/// The error of a row that one of the table's checks rejects.
fn broken_check(table: &TableSchema, status: &Status) -> Option<Error> {
    let name = status.find(CHECK)?.arguments.first()?;
    violated_check(table, |own| own.eq_ignore_ascii_case(name))
}

/// The columns of an index of a table, by its name in the database.
pub(crate) fn indexed<'t>(table: &'t TableSchema, name: &str) -> Option<&'t [usize]> {
    index_columns(table, |own| own.eq_ignore_ascii_case(name), |other| swap_case(other) == name)
}

fn of_status(status: &Status, phase: ServerPhase) -> Error {
    let code = status.complaints.first().map_or(0, |complaint| complaint.code);
    let details: Vec<&str> = status
        .complaints
        .iter()
        .flat_map(|complaint| complaint.arguments.iter().map(String::as_str))
        .filter(|text| !text.is_empty())
        .collect();
    let details = details.join(", ");
    let known = KINDS.iter().find(|(code, ..)| status.has(*code));
    if let Some((_, kind, text)) = known {
        if *kind == ErrorKind::Unreachable {
            return phase.lost(*text);
        }
        let more = if details.is_empty() { String::new() } else { format!(" ({details})") };
        return Error::new(*kind, format!("{text}{more}")).with_code(code);
    }
    let given = status.find(SQL_CODE).and_then(|complaint| complaint.arguments.first());
    let kind = SQL_CODES.iter().find(|(code, _)| given.is_some_and(|given| given == code));
    let kind = kind.map_or(ErrorKind::Engine, |(_, kind)| *kind);
    let more = if details.is_empty() { String::new() } else { format!(": {details}") };
    let text = format!("Firebird's error {code}{more}");
    Error::new(kind, text).with_code(code)
}

/// An error at the opening of a connection.
#[cold]
pub(crate) fn connecting(error: WireError, place: &str) -> Error {
    let (kind, text) = match &error {
        WireError::Server(status) => {
            let error = of_status(status, ServerPhase::Read);
            (error.kind(), error.message().to_owned())
        }
        WireError::Io(io) => (connecting_kind(io), connecting_text(io)),
    };
    Error::new(kind, format!("could not connect to '{place}': {text}")).with_source(error)
}
