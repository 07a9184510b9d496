//! Databases whose tables use collations or functions of another program.
//! | Their pages can be copied, but SQLite cannot check such a table, because a check searches its
//! indexes, nor count its rows, because that uses an index's order. With stub collations
//! and functions, `quick_check` runs: it compares the numbers of entries and not their content.
//! Other tables are checked completely. (CHECK constraints are not checked in any table: a
//! read-only connection does not load them.)

use super::check::{judge, names, texts};
use crate::connection::Connection;
use crate::error::{SqliteError, translate};
use bobak_core::{Error, MissingExtension, Result, UnverifiedTable};
use bobak_sql::{Dialect, quote};

/// The maximum number of findings; those about pages come first.
const MAX_FINDINGS: u32 = 100;

/// The function or collation that a statement lacks.
pub(crate) fn missing(error: &Error) -> Option<MissingExtension> {
    let source = std::error::Error::source(error)?.downcast_ref::<SqliteError>()?;
    let after = |start| source.message().strip_prefix(start).map(str::to_owned);
    let function = || {
        let name = after("no such function: ").or_else(|| after("unknown function: "))?;
        Some(MissingExtension::Function(name.trim_end_matches("()").to_owned()))
    };
    after("no such collation sequence: ").map(MissingExtension::Collation).or_else(function)
}

/// Checks a database as far as possible. Returns the tables that could not be checked completely.
/// The connection can be used only for counting afterwards.
/// | # Errors
/// `Corrupt` for a damaged database; `Io`.
pub(super) fn check_in_part(connection: &mut Connection) -> Result<Vec<UnverifiedTable>> {
    let mut unverified = Vec::new();
    for table in names(connection)? {
        let text = format!("PRAGMA main.integrity_check({})", quote(Dialect::Sqlite, &table));
        match texts(connection, &text) {
            Ok(found) => judge(&found)?,
            Err(error) => {
                let needs = missing(&error).ok_or(error)?;
                unverified.push(UnverifiedTable { table, needs });
            }
        }
    }
    connection.db.stub_collations().map_err(|failure| translate(failure, None))?;
    let mut found =
        with_functions(connection, &format!("PRAGMA main.quick_check({MAX_FINDINGS})"))?;
    found.retain(|finding| !unverified.iter().any(|table| is_of_value(finding, &table.table)));
    judge(&found)?;
    Ok(unverified)
}

/// Runs a pragma with stubs for all functions that it needs.
fn with_functions(connection: &mut Connection, text: &str) -> Result<Vec<String>> {
    let mut known = Vec::new();
    loop {
        let error = match texts(connection, text) {
            Err(error) => error,
            found => return found,
        };
        match missing(&error) {
            Some(MissingExtension::Function(name)) if !known.contains(&name) => {
                let made = connection.db.stub_function(&name);
                made.map_err(|failure| translate(failure, None))?;
                known.push(name);
            }
            _ => return Err(error),
        }
    }
}

/// Whether a finding is about a value, which a stub may have computed.
fn is_of_value(finding: &str, table: &str) -> bool {
    finding.starts_with(&format!("NULL value in {table}."))
}
