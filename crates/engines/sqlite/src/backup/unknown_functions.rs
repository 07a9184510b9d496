//! Databases whose tables use collations or functions that only another program has.
//!
//! Their pages are copied as any others. SQLite refuses to begin a check of such a table, since it
//! would look rows up in its indexes; and counting the rows takes an index's order, though no order
//! is looked at. With stand-ins `quick_check` runs, which compares numbers of entries and not their
//! content; and what has to do with other tables is checked as ever. (CHECK constraints are not looked
//! at in any table: SQLite knows of none where it only reads.)

use super::check::{judge, names, texts};
use crate::connection::Connection;
use crate::error::{SqliteError, translate};
use bobak_core::{Error, MissingExtension, Result, UnverifiedTable};
use bobak_sql::{Dialect, quote};

/// What is found is told up to so many times; what is wrong with pages comes first.
const TOLD: u32 = 100;

/// What a statement failed for the lack of.
pub(crate) fn missing(error: &Error) -> Option<MissingExtension> {
    let source = std::error::Error::source(error)?.downcast_ref::<SqliteError>()?;
    let after = |start| source.message().strip_prefix(start).map(str::to_owned);
    let function = || {
        let name = after("no such function: ").or_else(|| after("unknown function: "))?;
        Some(MissingExtension::Function(name.trim_end_matches("()").to_owned()))
    };
    after("no such collation sequence: ").map(MissingExtension::Collation).or_else(function)
}

/// Checks a database as far as that can be done without what others have; gives the tables of which
/// something is left open. The connection is of no use for anything but counting afterwards.
///
/// # Errors
/// `Corrupt` where something is wrong; `Io`.
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
    let mut found = with_functions(connection, &format!("PRAGMA main.quick_check({TOLD})"))?;
    found.retain(|finding| !unverified.iter().any(|table| is_of_value(finding, &table.table)));
    judge(&found)?;
    Ok(unverified)
}

/// Runs a pragma with stand-ins for all functions that it asks for.
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

/// Whether it is found that a value, which may be what a stand-in gave, can't be one of its column.
fn is_of_value(finding: &str, table: &str) -> bool {
    finding.starts_with(&format!("NULL value in {table}."))
}
