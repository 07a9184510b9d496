//! Translates the server's errors, by number: their texts differ between servers and languages.

use bobak_core::check::CheckExpression;
use bobak_core::{Error, ErrorKind, TableSchema};
use mysql::error::{DriverError, MySqlError};
use std::io;

/// What a connection is doing: it decides what a lost connection means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Nothing that could change anything.
    Read,
    /// A statement that writes and commits by itself.
    Write,
    /// Inside a transaction that is not yet committed: the server undoes it with the connection.
    Inside,
    /// A COMMIT.
    Commit,
}

/// The error of a value that the server converted to compare it.
#[cold]
pub(crate) fn conversion(warning: &str) -> Error {
    let message =
        format!("{}: write a literal of the type that it is compared with", lower(warning));
    Error::new(ErrorKind::Mismatch, message)
}

/// Whether the connection is unusable after this error.
pub(crate) fn is_fatal(error: &mysql::Error) -> bool {
    match error {
        // Shut down; a node that has left its cluster; killed; lines that the server gave up.
        mysql::Error::MySqlError(error) => {
            matches!(error.code, 1047 | 1053 | 1077..=1081 | 1152..=1161 | 1184 | 1927 | 4031)
        }
        // Nothing was sent.
        mysql::Error::DriverError(
            DriverError::MismatchedStmtParams(..) | DriverError::PacketTooLarge,
        ) => false,
        _ => true,
    }
}

/// Whether the server has undone the whole transaction, not the statement alone.
pub(crate) fn ends_transaction(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Serialization | ErrorKind::Unreachable | ErrorKind::Unknown)
}

/// Whether the error is about the one row that was sent: a batch may go on without it.
pub(crate) fn is_row_error(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::Duplicate
            | ErrorKind::Constraint
            | ErrorKind::NotFound
            | ErrorKind::Conflict
            | ErrorKind::TooLong
            | ErrorKind::OutOfRange
            | ErrorKind::Mismatch
            | ErrorKind::Schema
            | ErrorKind::Misuse
            | ErrorKind::Full
    )
}

/// The driver's error as Bobak's.
#[cold]
pub(crate) fn translate(
    error: mysql::Error,
    phase: Phase,
    table: Option<&TableSchema>,
    lock_wait_ends_transaction: bool,
) -> Error {
    let mut translated = match &error {
        mysql::Error::MySqlError(server) => {
            let mut kind = kind_of(server.code);
            if server.code == 1205 && lock_wait_ends_transaction && phase == Phase::Inside {
                kind = ErrorKind::Serialization;
            }
            // The server ended the connection, or itself, while it was at it.
            if kind == ErrorKind::Unreachable && matches!(phase, Phase::Write | Phase::Commit) {
                kind = ErrorKind::Unknown;
            }
            let error = Error::new(kind, sentence(kind, server));
            place(error, server, table)
        }
        mysql::Error::DriverError(DriverError::MismatchedStmtParams(wanted, given)) => {
            Error::wrong_number(ErrorKind::Misuse, *given, usize::from(*wanted), "parameter")
        }
        mysql::Error::DriverError(DriverError::PacketTooLarge) => {
            let message = "a value is larger than the server's max_allowed_packet: raise it on \
                           the server, or store the value in parts";
            Error::new(ErrorKind::OutOfRange, message)
        }
        other => broken(other, phase),
    };
    if let Some(table) = table
        && !matches!(translated.kind(), ErrorKind::Unreachable | ErrorKind::Denied)
    {
        translated = translated.in_table(table.name());
    }
    translated.with_source(error)
}

/// What a line that breaks means.
fn broken(error: &mysql::Error, phase: Phase) -> Error {
    let late = match error {
        mysql::Error::DriverError(DriverError::Timeout) => true,
        other => io_kind(other).is_some_and(|kind| {
            matches!(kind, io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock)
        }),
    };
    let what = if late {
        "the server did not answer in time"
    } else {
        "the connection to the server broke"
    };
    let (kind, known) = match phase {
        Phase::Read if late => (ErrorKind::Timeout, "nothing was written"),
        Phase::Read => (ErrorKind::Unreachable, "nothing was written"),
        Phase::Inside => (ErrorKind::Unreachable, "the transaction was rolled back"),
        Phase::Write => (ErrorKind::Unknown, "the write was done completely or not at all"),
        Phase::Commit => {
            (ErrorKind::Unknown, "the transaction was committed completely or not at all")
        }
    };
    Error::new(kind, format!("{what}: {known}"))
}

/// What the connection itself says, whichever layer of the driver passes it on.
fn io_kind(error: &mysql::Error) -> Option<io::ErrorKind> {
    match error {
        mysql::Error::IoError(error) => Some(error.kind()),
        mysql::Error::CodecError(error) => {
            let source = std::error::Error::source(error)?;
            source.downcast_ref::<io::Error>().map(io::Error::kind)
        }
        _ => None,
    }
}

/// An error at the opening of a connection.
#[cold]
pub(crate) fn connecting(error: mysql::Error, host: &str) -> Error {
    let kind = match &error {
        mysql::Error::MySqlError(server) => match server.code {
            // Too many connections, of all or of this user.
            1040 | 1203 | 1226 => ErrorKind::Busy,
            // This host is blocked, or not allowed.
            1129 | 1130 => ErrorKind::Denied,
            code => kind_of(code),
        },
        mysql::Error::DriverError(DriverError::TlsNotSupported) => ErrorKind::Unsupported,
        mysql::Error::DriverError(
            DriverError::UnknownAuthPlugin(_)
            | DriverError::OldMysqlPasswordDisabled
            | DriverError::CleartextPluginDisabled,
        ) => ErrorKind::Denied,
        #[cfg(feature = "tls")]
        mysql::Error::TlsError(_) => ErrorKind::Denied,
        // What TLS has to say of the server's certificate.
        other if io_kind(other) == Some(io::ErrorKind::InvalidData) => ErrorKind::Denied,
        mysql::Error::UrlError(_) => ErrorKind::Config,
        _ => ErrorKind::Unreachable,
    };
    let message = match &error {
        mysql::Error::MySqlError(server) => lower(&server.message),
        mysql::Error::DriverError(DriverError::TlsNotSupported) => {
            "the server does not support TLS, which the settings require".to_owned()
        }
        mysql::Error::DriverError(DriverError::CouldNotConnect(Some((_, text, _)))) => lower(text),
        other => lower(&other.to_string()),
    };
    Error::new(kind, format!("could not connect to {host}: {message}")).with_source(error)
}

/// MySQL's and MariaDB's error numbers.
fn kind_of(code: u16) -> ErrorKind {
    match code {
        1022 | 1062 | 1169 | 1557 | 1569 | 1586 | 1761 | 1762 | 1859 => ErrorKind::Duplicate,
        1048 | 1216 | 1217 | 1263 | 1364 | 1451 | 1452 | 3819 | 4025 => ErrorKind::Constraint,
        1406 => ErrorKind::TooLong,
        1153 | 1162 | 1264 | 1441 | 1690 | 1916 => ErrorKind::OutOfRange,
        1265 | 1292 | 1366 | 1411 | 1525 | 3140 | 3156 | 4078 => ErrorKind::Mismatch,
        1005 | 1007 | 1008 | 1049 | 1050 | 1051 | 1054 | 1060 | 1061 | 1068 | 1072 | 1091
        | 1136 | 1146 | 1176 | 1215 | 1347 | 1356 | 1412 | 1822 | 1823 | 1824 | 1825 | 3780 => {
            ErrorKind::Schema
        }
        1064 | 1065 | 1149 | 1166 | 1221 | 1222 | 1305 | 1327 | 1582 | 1630 => ErrorKind::Syntax,
        1205 => ErrorKind::Busy,
        1020 | 1047 | 1180 | 1213 | 1614 => ErrorKind::Serialization,
        1969 | 3024 => ErrorKind::Timeout,
        1317 => ErrorKind::Interrupted,
        1053 | 1077..=1081 | 1152 | 1154..=1161 | 1184 | 1927 | 4031 => ErrorKind::Unreachable,
        1044 | 1045 | 1095 | 1130 | 1142 | 1143 | 1227 | 1251 | 1370 | 1698 | 1820 | 1862
        | 3118 => ErrorKind::Denied,
        167 | 1021 | 1041 | 1114 | 1467 => ErrorKind::Full,
        1036 | 1290 | 1792 | 1836 => ErrorKind::ReadOnly,
        1059 | 1069 | 1070 | 1071 | 1074 | 1112 | 1117 | 1118 | 1170 | 1178 | 1235 | 1286
        | 1901 | 1904 | 1906 => ErrorKind::Unsupported,
        1210 => ErrorKind::Misuse,
        1034 | 1035 | 1194 | 1195 | 1712 | 1877 => ErrorKind::Corrupt,
        1040 | 1203 | 1226 | 1461 => ErrorKind::Busy,
        _ => ErrorKind::Engine,
    }
}

fn sentence(kind: ErrorKind, server: &MySqlError) -> String {
    let message = lower(&server.message);
    match (kind, server.code) {
        (ErrorKind::Duplicate, _) => {
            "a row with this key or unique value already exists".to_owned()
        }
        (ErrorKind::Constraint, 1048 | 1263) => "a required value is NULL".to_owned(),
        (ErrorKind::Full, 167 | 1467) => {
            "the largest possible key is in use: there is no next one".to_owned()
        }
        (ErrorKind::Serialization, _) => {
            format!("the transaction conflicted with another one and was rolled back: {message}")
        }
        (ErrorKind::Busy, 1205) => "another transaction held a lock for too long".to_owned(),
        (ErrorKind::Timeout, _) => "the statement ran for too long and was cancelled".to_owned(),
        _ => message,
    }
}

/// One line, beginning in lower case, without a closing full stop.
fn lower(message: &str) -> String {
    let line = message.replace(['\n', '\r'], " ");
    let line = line.trim().trim_end_matches('.');
    let mut letters = line.chars();
    match letters.next() {
        // SQL words stay as they are.
        Some(_) if line.chars().nth(1).is_some_and(char::is_uppercase) => line.to_owned(),
        Some(first) => first.to_lowercase().chain(letters).collect(),
        None => "the server gave no reason".to_owned(),
    }
}

/// Names table and column if the server's message does; of a rule about several columns, all.
fn place(error: Error, server: &MySqlError, table: Option<&TableSchema>) -> Error {
    if matches!(server.code, 1451 | 1452)
        && let Some(referring) = quoted(&server.message, "`.`", '`')
        && let Some(columns) = quoted(&server.message, "FOREIGN KEY (`", ')')
        && let Some(parent) = quoted(&server.message, ") REFERENCES `", '`')
    {
        let columns = columns.replace('`', "");
        return match server.code {
            1451 => Error::still_referenced(&referring, &columns, &parent),
            _ => Error::missing_parent(&referring, &columns, &parent),
        };
    }
    let Some(table) = table else { return error };
    let column = match server.code {
        1062 | 1586 => return duplicate(error, &server.message, table),
        3819 | 4025 => return check_violation(error, &server.message, table),
        1048 | 1263 | 1264 | 1364 | 1366 | 1406 | 1292 | 1265 | 1054 => {
            quoted(&server.message, "olumn '", '\'')
        }
        _ => None,
    };
    let known = column.filter(|name| table.columns().iter().any(|column| column.name == *name));
    match known {
        Some(column) => error.in_column(column),
        None => error,
    }
}

/// MariaDB's ``CONSTRAINT `bill.cents` failed for …`` names the column that declares the check, MySQL's
/// `Check constraint 'bill_chk_1' is violated.` its number.
fn check_violation(error: Error, message: &str, table: &TableSchema) -> Error {
    let mut declared = table.columns().iter().filter(|column| column.check.is_some());
    let column = match quoted(message, "CONSTRAINT `", '`') {
        Some(name) => declared.find(|column| {
            name == column.name || name.rsplit('.').next() == Some(column.name.as_ref())
        }),
        None => quoted(message, "onstraint '", '\'')
            .and_then(|name| name.rsplit('_').next()?.parse::<usize>().ok())
            .and_then(|number| declared.nth(number.checked_sub(1)?)),
    };
    let text = column.and_then(|column| column.check.as_deref());
    match text.and_then(|text| CheckExpression::parse(text, table).ok()) {
        Some(check) => Error::check_violation(table, &check),
        None => error,
    }
}

/// The text between `before` and the next `end`.
fn quoted(message: &str, before: &str, end: char) -> Option<String> {
    let (_, rest) = message.split_once(before)?;
    rest.split_once(end).map(|(name, _)| name.to_owned())
}

/// `… for key 'PRIMARY'`, `… for key 'person_email_unique'`, MySQL's `… for key 'person.PRIMARY'`.
fn duplicate(error: Error, message: &str, table: &TableSchema) -> Error {
    let Some((_, rest)) = message.rsplit_once("for key '") else { return error };
    let key = rest.strip_suffix('\'').unwrap_or(rest);
    let key = key.strip_prefix(&format!("{}.", table.name())).unwrap_or(key);
    if key == "PRIMARY" {
        return Error::duplicate(table, table.key());
    }
    match table.indexes().iter().find(|index| index.name == key) {
        Some(index) => Error::duplicate(table, &index.columns),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bobak_core::ColumnSchema;

    fn server(code: u16, message: &str) -> mysql::Error {
        let (state, message) = ("HY000".to_owned(), message.to_owned());
        mysql::Error::MySqlError(MySqlError { state, message, code })
    }

    #[test]
    fn errors_have_kind_table_and_column() {
        let table = bobak_core::TableSchema::builder("person")
            .column(ColumnSchema::of::<i64>("id"))
            .column(ColumnSchema::of::<String>("email").unique())
            .key(["id"])
            .build()
            .unwrap();
        for (code, message, kind, column) in [
            (1062, "Duplicate entry '1' for key 'PRIMARY'", ErrorKind::Duplicate, Some("id")),
            (
                1062,
                "Duplicate entry 'x' for key 'person.person_email_unique'",
                ErrorKind::Duplicate,
                Some("email"),
            ),
            (
                1452,
                "Cannot add or update a child row: a foreign key constraint fails (`x`.`person`, \
                 CONSTRAINT `c` FOREIGN KEY (`email`) REFERENCES `t` (`id`))",
                ErrorKind::Constraint,
                Some("email"),
            ),
            (
                1451,
                "Cannot delete or update a parent row: a foreign key constraint fails (`x`.`person`, \
                 CONSTRAINT `c` FOREIGN KEY (`shop`, `number`) REFERENCES `t` (`a`, `b`))",
                ErrorKind::Constraint,
                Some("shop, number"),
            ),
            (1048, "Column 'email' cannot be null", ErrorKind::Constraint, Some("email")),
            (1406, "Data too long for column 'email' at row 1", ErrorKind::TooLong, Some("email")),
            (1146, "Table 'x.person' doesn't exist", ErrorKind::Schema, None),
            (9999, "Something else.", ErrorKind::Engine, None),
        ] {
            let error = translate(server(code, message), Phase::Write, Some(&table), false);
            assert_eq!((error.kind(), error.column()), (kind, column), "{message}");
            assert_eq!(error.table(), Some("person"));
        }
    }

    #[test]
    fn a_broken_connection_reports_whether_the_outcome_is_known() {
        let io = |kind| mysql::Error::IoError(io::Error::from(kind));
        for (phase, kind, expected) in [
            (Phase::Read, io::ErrorKind::TimedOut, ErrorKind::Timeout),
            (Phase::Read, io::ErrorKind::BrokenPipe, ErrorKind::Unreachable),
            (Phase::Inside, io::ErrorKind::TimedOut, ErrorKind::Unreachable),
            (Phase::Write, io::ErrorKind::BrokenPipe, ErrorKind::Unknown),
            (Phase::Commit, io::ErrorKind::TimedOut, ErrorKind::Unknown),
        ] {
            assert_eq!(translate(io(kind), phase, None, false).kind(), expected);
        }
        let shutdown = server(1053, "Server shutdown in progress");
        assert_eq!(translate(shutdown, Phase::Commit, None, false).kind(), ErrorKind::Unknown);
    }
}
