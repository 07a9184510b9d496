//! The server's errors as Bobak's, by their numbers.

use crate::driver::OracleFailure;
use crate::names::{stored, type_check_name};
use bobak_core::{Error, ErrorKind, TableSchema};
use bobak_engine_common::{
    DUPLICATE, REFERENCE, REQUIRED, ServerPhase, about_table, column_error, index_columns,
    no_key_left, violated_check, violated_reference,
};

const UNIQUE: u32 = 1;
const NULL: u32 = 1_400;
const NULL_UPDATE: u32 = 1_407;
const CHECK: u32 = 2_290;
const NO_PARENT: u32 = 2_291;
const HAS_CHILDREN: u32 = 2_292;
/// A sequence is at its end.
const NO_KEY: u32 = 8_004;

const SYNTAX: &str = "the statement has an unexpected word";
const CONVERSION: &str = "the value is none of the type";
const RANGE: &str = "the value is out of range";
const LONG: &str = "the value is too long";
const DATE: &str = "the date is out of range";
const FULL: &str = "the server has no space left";
const DENIED: &str = "the user may not do this";
const AGAIN: &str =
    "another transaction has changed the row since this one began: repeat the transaction";

/// The kinds of errors that Bobak tells apart.
const KINDS: &[(u32, ErrorKind, &str)] = &[
    (UNIQUE, ErrorKind::Duplicate, DUPLICATE),
    (18, ErrorKind::Busy, "the server has no session left"),
    (20, ErrorKind::Busy, "the server has no process left"),
    (54, ErrorKind::Busy, "another transaction has locked this"),
    (60, ErrorKind::Serialization, "two transactions wait for each other: repeat this one"),
    (904, ErrorKind::Schema, "there is no such column"),
    (911, ErrorKind::Syntax, "the statement has an unexpected character"),
    (932, ErrorKind::Mismatch, CONVERSION),
    (942, ErrorKind::Schema, "there is no such table"),
    (955, ErrorKind::Schema, "there is such a table already"),
    (1_013, ErrorKind::Timeout, "the server has cancelled the statement"),
    (1_017, ErrorKind::Denied, "the user or the password is wrong"),
    (1_031, ErrorKind::Denied, DENIED),
    (1_045, ErrorKind::Denied, "the user may not connect"),
    (NULL, ErrorKind::Constraint, REQUIRED),
    (NULL_UPDATE, ErrorKind::Constraint, REQUIRED),
    (1_426, ErrorKind::OutOfRange, RANGE),
    (1_438, ErrorKind::OutOfRange, RANGE),
    (1_450, ErrorKind::TooLong, "the value is too long for an index"),
    (1_461, ErrorKind::TooLong, LONG),
    (1_476, ErrorKind::OutOfRange, "something is divided by zero"),
    (1_489, ErrorKind::TooLong, LONG),
    (1_536, ErrorKind::Full, FULL),
    (
        1_555,
        ErrorKind::Serialization,
        "the server has forgotten the moment of the transaction: repeat it",
    ),
    (1_653, ErrorKind::Full, FULL),
    (1_654, ErrorKind::Full, FULL),
    (1_722, ErrorKind::Mismatch, CONVERSION),
    (1_830, ErrorKind::Mismatch, CONVERSION),
    (1_841, ErrorKind::OutOfRange, DATE),
    (1_843, ErrorKind::OutOfRange, DATE),
    (1_847, ErrorKind::OutOfRange, DATE),
    (1_861, ErrorKind::Mismatch, CONVERSION),
    (2_289, ErrorKind::Schema, "there is no such sequence"),
    (CHECK, ErrorKind::Constraint, "a constraint rejects this"),
    (NO_PARENT, ErrorKind::Constraint, REFERENCE),
    (HAS_CHILDREN, ErrorKind::Constraint, REFERENCE),
    (NO_KEY, ErrorKind::OutOfRange, "the sequence is at its end"),
    (8_177, ErrorKind::Serialization, AGAIN),
    (12_899, ErrorKind::TooLong, LONG),
    (16_000, ErrorKind::ReadOnly, "the database is read-only"),
    (22_835, ErrorKind::TooLong, LONG),
    (25_153, ErrorKind::Full, FULL),
    (28_000, ErrorKind::Denied, "the account is locked"),
    (28_001, ErrorKind::Denied, "the password must be changed"),
    (30_006, ErrorKind::Busy, "another transaction has locked this"),
    (30_036, ErrorKind::Full, FULL),
];

/// The server is gone, or ends the session.
const GONE: &[u32] = &[
    28, 600, 1_012, 1_033, 1_034, 1_041, 1_089, 1_090, 1_092, 2_396, 3_113, 3_114, 3_135, 7_445,
    12_570,
];

/// Nobody answers at the address, or not for this service.
const NOWHERE: &[u32] = &[12_505, 12_514, 12_516, 12_520, 12_521, 12_541, 12_545];

/// An error of a call.
#[cold]
pub(crate) fn translate(
    failure: &OracleFailure,
    phase: ServerPhase,
    table: Option<&TableSchema>,
) -> Error {
    let translated = match failure {
        OracleFailure::Lost(message) | OracleFailure::Unreachable(message) => phase.lost(message),
        OracleFailure::Server(number, message) => of_server(*number, message, phase, table),
        OracleFailure::TimedOut => Error::new(
            ErrorKind::Timeout,
            "the server did not answer in time; the call was cancelled",
        ),
        OracleFailure::Tls(message) => Error::new(ErrorKind::Denied, message.clone()),
        OracleFailure::Settings(message) => Error::new(ErrorKind::Config, message.clone()),
        OracleFailure::Driver(message) => Error::new(ErrorKind::Engine, message.clone()),
    };
    // Rows of another table refer to this one.
    let is_other = matches!(failure, OracleFailure::Server(HAS_CHILDREN, _));
    about_table(translated, table.filter(|_| !is_other))
}

/// Whether the connection is lost.
pub(crate) fn is_lost(failure: &OracleFailure) -> bool {
    match failure {
        OracleFailure::Lost(_) | OracleFailure::Unreachable(_) => true,
        OracleFailure::Server(number, _) => GONE.contains(number),
        _ => false,
    }
}

fn of_server(number: u32, message: &str, phase: ServerPhase, table: Option<&TableSchema>) -> Error {
    // What follows are the callers in PL/SQL, or a link to the manual.
    let message = message.lines().next().unwrap_or(message);
    if GONE.contains(&number) {
        return phase.lost(message);
    }
    let code = i32::try_from(number).unwrap_or(0);
    if let Some(rejected) = table.and_then(|table| violated(table, number, message)) {
        return rejected.with_code(code);
    }
    let known = KINDS.iter().find(|(known, ..)| *known == number);
    let (kind, text) = match known {
        Some((_, kind, text)) => (*kind, format!("{text} ({message})")),
        None if NOWHERE.contains(&number) => (ErrorKind::Unreachable, message.to_owned()),
        None if (900..1_000).contains(&number) => {
            (ErrorKind::Syntax, format!("{SYNTAX} ({message})"))
        }
        None => (ErrorKind::Engine, message.to_owned()),
    };
    Error::new(kind, text).with_code(code)
}

/// The name of the constraint that a message is about: `ORA-00001: unique constraint (SHOP.NAME) violated`.
pub(crate) fn constraint(failure: &OracleFailure) -> Option<&str> {
    match failure {
        OracleFailure::Server(UNIQUE | CHECK | NO_PARENT | HAS_CHILDREN, message) => named(message),
        _ => None,
    }
}

fn named(message: &str) -> Option<&str> {
    let (_, rest) = message.split_once('(')?;
    let (name, _) = rest.split_once(')')?;
    Some(name.split_once('.').map_or(name, |(_, name)| name))
}

/// The column that a message is about: `cannot insert NULL into ("SHOP"."PERSON"."NAME")`.
fn named_column(message: &str) -> Option<&str> {
    message.split('"').skip(1).step_by(2).nth(2)
}

/// The error of a row that a constraint of Bobak's rejects, with its columns.
fn violated(table: &TableSchema, number: u32, message: &str) -> Option<Error> {
    let columns = || table.columns().iter().enumerate();
    match number {
        NULL | NULL_UPDATE | 12_899 => {
            let name = named_column(message)?;
            let (place, _) = columns().find(|(_, column)| *stored(&column.name) == *name)?;
            let (kind, text) = match number {
                12_899 => (ErrorKind::TooLong, LONG),
                _ => (ErrorKind::Constraint, REQUIRED),
            };
            Some(column_error(table, &[place], (kind, text)))
        }
        UNIQUE => {
            let name = named(message)?;
            let found = index_columns(table, |own| own == name, |other| *stored(other) == *name);
            Some(column_error(table, found?, (ErrorKind::Duplicate, DUPLICATE)))
        }
        CHECK => {
            let name = named(message)?;
            if let Some((place, _)) =
                columns().find(|(_, column)| type_check_name(table, &column.name) == name)
            {
                let (kind, text) = match table.version() == Some(place) {
                    true => (ErrorKind::OutOfRange, RANGE),
                    false => (ErrorKind::Mismatch, CONVERSION),
                };
                return Some(column_error(table, &[place], (kind, text)));
            }
            violated_check(table, |own| own == name)
        }
        NO_KEY => Some(no_key_left(table)),
        NO_PARENT => {
            let name = named(message)?;
            violated_reference(table, |own| own == name)
        }
        _ => None,
    }
}

/// An error at the opening of a connection.
#[cold]
pub(crate) fn connecting(failure: &OracleFailure, place: &str) -> Error {
    let error = match failure {
        OracleFailure::Lost(message) | OracleFailure::Unreachable(message) => {
            Error::new(ErrorKind::Unreachable, message.clone())
        }
        other => translate(other, ServerPhase::Read, None),
    };
    Error::new(error.kind(), format!("could not connect to '{place}': {}", error.message()))
}
