//! Translates the server's errors, by number: their texts differ between servers and languages.

use bobak_core::{Error, ErrorKind, TableSchema};
use bobak_engine_common::{ServerPhase, about_table};
use bobak_sql::server::mysql_errors::{self, kind_of, lower};
use mysql::error::DriverError;
use std::io;

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
            DriverError::MismatchedStmtParams(..)
            | DriverError::PacketTooLarge
            | DriverError::MixedParams,
        ) => false,
        _ => true,
    }
}

/// The driver's error as Bobak's.
#[cold]
pub(crate) fn translate(
    error: mysql::Error,
    phase: ServerPhase,
    table: Option<&TableSchema>,
    lock_wait_ends_transaction: bool,
) -> Error {
    let translated = match &error {
        mysql::Error::MySqlError(server) => {
            let mut kind = kind_of(server.code);
            if server.code == 1205 && lock_wait_ends_transaction && phase == ServerPhase::Inside {
                kind = ErrorKind::Serialization;
            }
            // The server ended the connection, or itself, while it was at it.
            if kind == ErrorKind::Unreachable
                && matches!(phase, ServerPhase::Write | ServerPhase::Commit)
            {
                kind = ErrorKind::Unknown;
            }
            mysql_errors::error(kind, server.code, &server.message, table)
        }
        mysql::Error::DriverError(DriverError::MismatchedStmtParams(wanted, given)) => {
            Error::wrong_number(ErrorKind::Mismatch, *given, usize::from(*wanted), "parameter")
        }
        // The driver takes a colon before a word for a parameter with a name.
        mysql::Error::DriverError(DriverError::MixedParams) => {
            let message = "the statement has a colon before a word, such as x::text, next to its \
                           parameters: write CAST(x AS type)";
            Error::new(ErrorKind::Syntax, message)
        }
        mysql::Error::DriverError(DriverError::PacketTooLarge) => {
            let message = "a value is larger than the server's max_allowed_packet: raise it on \
                           the server, or store the value in parts";
            Error::new(ErrorKind::OutOfRange, message)
        }
        other => broken(other, phase),
    };
    about_table(translated, table).with_source(error)
}

/// What a line that breaks means.
fn broken(error: &mysql::Error, phase: ServerPhase) -> Error {
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
    let (kind, known) = match phase.outcome() {
        (_, known) if late && phase == ServerPhase::Read => (ErrorKind::Timeout, known),
        outcome => outcome,
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

#[cfg(test)]
mod tests {
    use super::*;
    use bobak_core::ColumnSchema;
    use mysql::error::MySqlError;

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
            (1273, "Unknown collation: 'utf8mb4_0900_bin'", ErrorKind::Unsupported, None),
            (9999, "Something else.", ErrorKind::Engine, None),
        ] {
            let error = translate(server(code, message), ServerPhase::Write, Some(&table), false);
            assert_eq!((error.kind(), error.column()), (kind, column), "{message}");
            assert_eq!(error.table(), Some("person"));
        }
    }

    #[test]
    fn a_broken_connection_reports_whether_the_outcome_is_known() {
        let io = |kind| mysql::Error::IoError(io::Error::from(kind));
        for (phase, kind, expected) in [
            (ServerPhase::Read, io::ErrorKind::TimedOut, ErrorKind::Timeout),
            (ServerPhase::Read, io::ErrorKind::BrokenPipe, ErrorKind::Unreachable),
            (ServerPhase::Inside, io::ErrorKind::TimedOut, ErrorKind::Unreachable),
            (ServerPhase::Write, io::ErrorKind::BrokenPipe, ErrorKind::Unknown),
            (ServerPhase::Commit, io::ErrorKind::TimedOut, ErrorKind::Unknown),
        ] {
            assert_eq!(translate(io(kind), phase, None, false).kind(), expected);
        }
        let shutdown = server(1053, "Server shutdown in progress");
        assert_eq!(
            translate(shutdown, ServerPhase::Commit, None, false).kind(),
            ErrorKind::Unknown
        );
    }
}
