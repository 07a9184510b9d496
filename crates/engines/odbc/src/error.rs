//! The driver's errors as Bobak's, by SQLSTATE and, of known databases, by their own numbers and messages.

use crate::driver::OdbcError;
use crate::product::ProductKind;
use bobak_core::url::without_password;
use bobak_core::{Error, ErrorKind, TableSchema};
use bobak_engine_common::{ServerPhase, about_table};
use bobak_sql::server::mysql_errors;
use bobak_sql::server::postgres_errors::{ServerError, locate};

/// An error of a statement.
#[cold]
pub(crate) fn translate(
    error: OdbcError,
    kind: ProductKind,
    phase: ServerPhase,
    table: Option<&TableSchema>,
) -> Error {
    let diagnostic = &error.diagnostic;
    let text = message(&diagnostic.message);
    let state = diagnostic.state.as_str();
    let translated = match kind {
        _ if state.starts_with("08") || state == "HYT01" => phase.lost(&text),
        ProductKind::Postgres if !matches!(state, "HYT00" | "HY008") => {
            let error = postgres(state, &text).into_error();
            match table {
                Some(table) => locate(error, table),
                None => error,
            }
        }
        ProductKind::MySql if (1_000..5_000).contains(&diagnostic.native) => {
            let code = u16::try_from(diagnostic.native).unwrap_or(0);
            let kind = mysql_errors::kind_of(code);
            match kind {
                ErrorKind::Unreachable => phase.lost(&text),
                kind => mysql_errors::error(kind, code, &text, table),
            }
        }
        _ => Error::new(kind_of(state, &text), mysql_errors::lower(&text)),
    };
    about_table(translated, table).with_source(error)
}

/// An error at the opening of a connection.
#[cold]
pub(crate) fn connecting(error: OdbcError, connection_string: &str) -> Error {
    let diagnostic = &error.diagnostic;
    let text = message(&diagnostic.message);
    let lower = text.to_lowercase();
    let has = |parts: &[&str]| parts.iter().any(|part| lower.contains(part));
    let shown = without_password(connection_string);
    // What drivers say at this point differs; what the driver manager says does not.
    let kind = match diagnostic.state.as_str() {
        "IM002" | "IM003" | "IM010" | "IM011" | "IM012" | "01S00" => ErrorKind::Config,
        "HYT00" | "HYT01" => ErrorKind::Timeout,
        state if state.starts_with("28") || state == "08004" => ErrorKind::Denied,
        _ if has(&["can't open lib", "does not exist", "unknown database"]) => ErrorKind::Config,
        _ if has(&["authentication failed", "access denied"]) => ErrorKind::Denied,
        _ if has(&["timeout expired"]) => ErrorKind::Timeout,
        _ => ErrorKind::Unreachable,
    };
    let hint = match diagnostic.state.as_str() {
        "IM002" => {
            ": name a data source of odbc.ini, or a driver of odbcinst.ini (`odbcinst -q -d` lists them)"
        }
        _ if lower.contains("can't open lib") => {
            ": install the driver (`odbcinst -q -d` lists those that are installed)"
        }
        _ => "",
    };
    let text = mysql_errors::lower(&text);
    Error::new(kind, format!("could not connect to '{shown}': {text}{hint}")).with_source(error)
}

/// The error for a server that does not answer while a connection is opened.
#[cold]
pub(crate) fn connect_timeout(connection_string: &str) -> Error {
    let shown = without_password(connection_string);
    let message = format!(
        "could not connect to '{shown}': the server did not answer in time (`connect_timeout`)"
    );
    Error::new(ErrorKind::Timeout, message)
}

/// A message in one line, without the names of driver manager, driver and server that stand before it in brackets.
fn message(text: &str) -> String {
    let mut rest = text.trim();
    while let Some((name, tail)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        if name.contains('[') {
            break;
        }
        rest = tail;
    }
    let rest = rest.trim().trim_start_matches("ERROR:").trim();
    let rest = rest.split("Error while executing the query").next().unwrap_or(rest);
    rest.trim().trim_end_matches(';').trim().to_owned()
}

/// PostgreSQL's message, taken apart as the server took it together.
fn postgres(state: &str, text: &str) -> ServerError {
    let (head, detail) = match text.split_once("DETAIL:") {
        Some((head, detail)) => (head.trim().trim_end_matches(';'), Some(detail.trim().to_owned())),
        None => (text, None),
    };
    let quoted = |before: &str| {
        let (_, rest) = head.split_once(before)?;
        rest.split_once('"').map(|(name, _)| name.to_owned())
    };
    let last = |before: &str| {
        let (_, rest) = head.rsplit_once(before)?;
        rest.split_once('"').map(|(name, _)| name.to_owned())
    };
    ServerError {
        code: state.to_owned(),
        message: head.split_whitespace().collect::<Vec<_>>().join(" "),
        detail,
        // Of a broken foreign key, the referring table stands last.
        table: last("on table \"")
            .or_else(|| quoted("of relation \""))
            .or_else(|| quoted("relation \"")),
        column: quoted("column \""),
        constraint: quoted("constraint \""),
    }
}

/// The kind of a SQLSTATE that any driver may give.
fn kind_of(state: &str, text: &str) -> ErrorKind {
    let lower = text.to_lowercase();
    match state {
        "23505" => ErrorKind::Duplicate,
        "HY008" | "57014" => ErrorKind::Interrupted,
        "HYT00" => ErrorKind::Timeout,
        "HYC00" | "IM001" => ErrorKind::Unsupported,
        "22001" => ErrorKind::TooLong,
        "22003" | "22007" | "22008" | "22012" => ErrorKind::OutOfRange,
        "22018" | "07006" => ErrorKind::Mismatch,
        _ if state.starts_with("42S") || matches!(state, "42P01" | "S0002") => ErrorKind::Schema,
        "40001" => ErrorKind::Serialization,
        "40003" => ErrorKind::Unknown,
        "25006" => ErrorKind::ReadOnly,
        "HY001" | "HY013" | "HY014" => ErrorKind::Full,
        _ if lower.contains("unique") || lower.contains("duplicate") => ErrorKind::Duplicate,
        _ if lower.contains("constraint") => ErrorKind::Constraint,
        _ if lower.contains("no such ") => ErrorKind::Schema,
        _ if lower.contains("locked") => ErrorKind::Busy,
        _ => match state.get(..2).unwrap_or_default() {
            "08" => ErrorKind::Unreachable,
            "0A" => ErrorKind::Unsupported,
            "23" | "44" => ErrorKind::Constraint,
            "28" => ErrorKind::Denied,
            "40" => ErrorKind::Serialization,
            "42" | "37" => ErrorKind::Syntax,
            _ => ErrorKind::Engine,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::Diagnostic;

    fn error(state: &str, native: i32, message: &str) -> OdbcError {
        let (state, message) = (state.to_owned(), message.to_owned());
        OdbcError { diagnostic: Diagnostic { state, native, message } }
    }

    #[test]
    fn states_and_numbers_are_kinds() {
        for (kind, state, native, expected) in [
            (ProductKind::Other, "23505", 0, ErrorKind::Duplicate),
            (ProductKind::Other, "42S02", 0, ErrorKind::Schema),
            (ProductKind::Other, "HY008", 0, ErrorKind::Interrupted),
            (ProductKind::Other, "99999", 0, ErrorKind::Engine),
            (ProductKind::MySql, "23000", 1062, ErrorKind::Duplicate),
            (ProductKind::MySql, "HY000", 1205, ErrorKind::Busy),
            (ProductKind::Postgres, "40001", 0, ErrorKind::Serialization),
        ] {
            let error =
                translate(error(state, native, "[a][b]said"), kind, ServerPhase::Write, None);
            assert_eq!(error.kind(), expected, "{state} {native}");
        }
    }

    #[test]
    fn a_lost_connection_says_what_is_known() {
        for (phase, kind) in [
            (ServerPhase::Read, ErrorKind::Unreachable),
            (ServerPhase::Inside, ErrorKind::Unreachable),
            (ServerPhase::Write, ErrorKind::Unknown),
            (ServerPhase::Commit, ErrorKind::Unknown),
        ] {
            let error = translate(error("08S01", 0, "gone"), ProductKind::Other, phase, None);
            assert_eq!(error.kind(), kind);
        }
    }

    #[test]
    fn passwords_are_not_shown() {
        let shown = without_password("Driver={X};UID=u;PWD=secret;Password=s");
        assert_eq!(shown, "Driver={X};UID=u;PWD=…;Password=…");
        assert_eq!(without_password("DSN=s;PWD={a;b}"), "DSN=s;PWD=…");
    }
}
