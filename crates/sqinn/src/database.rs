//! The database, and its statements.

use bobak_sqlite::SqliteError;
use bobak_sqlite::raw::{Connection, FileAccess, RawRows, StatementId, Value};
use std::ffi::{CString, OsStr};

/// Longer texts are not cached, because they are rarely executed twice.
const MAX_CACHED_LENGTH: usize = 16 * 1024;

/// An open database.
#[derive(Debug)]
pub struct Database {
    connection: Connection,
}

/// A prepared statement.
#[derive(Debug)]
pub(crate) struct CachedStatement {
    id: StatementId,
    /// Whether it stays in the cache.
    cached: bool,
}

impl Database {
    /// Opens a file, and creates it if it is missing. `:memory:` is a new database in memory.
    ///
    /// # Errors
    /// SQLite's message.
    pub fn open(name: &OsStr) -> Result<Self, String> {
        let name = c_name(name)?;
        let mut connection = Connection::open(&name, FileAccess::Create)
            .map_err(|error| format!("{}: {}", name.to_string_lossy(), error.message()))?;
        // As in Sqinn and in SQLite's default build. Clients may enable them.
        connection.set_foreign_keys(false);
        // Interrupts a statement whose client has disconnected. Nothing else would.
        #[cfg(unix)]
        connection.interrupt_when(crate::spinning_pipe::is_client_gone);
        Ok(Self { connection })
    }

    /// The maximum number of parameters of a statement, and of bytes of a value.
    pub(crate) fn limits(&self) -> (usize, usize) {
        (self.connection.max_parameters(), self.connection.max_length())
    }

    /// The first statement of a text.
    pub(crate) fn prepare(&mut self, sql: &[u8]) -> Result<CachedStatement, String> {
        let cached = sql.len() < MAX_CACHED_LENGTH && is_cacheable(sql);
        let id = if cached {
            self.connection.prepare_cached(sql)
        } else {
            // It may change the meaning of names, or how statements are prepared.
            self.connection.clear_cached();
            self.connection.prepare(sql)
        };
        match id {
            Ok(Some(id)) => Ok(CachedStatement { id, cached }),
            Ok(None) => Err("the SQL text has no statement".to_owned()),
            Err(error) => Err(error.message().to_owned()),
        }
    }

    /// Runs a statement to completion.
    #[inline]
    pub(crate) fn execute<'v>(
        &mut self,
        statement: &CachedStatement,
        values: impl ExactSizeIterator<Item = Value<'v>>,
    ) -> Result<(), SqliteError> {
        self.connection.execute(statement.id, values)
    }

    /// Starts a query.
    pub(crate) fn query<'a, 'v: 'a>(
        &'a mut self,
        statement: &CachedStatement,
        values: impl ExactSizeIterator<Item = Value<'v>>,
    ) -> Result<RawRows<'a>, SqliteError> {
        self.connection.query(statement.id, values)
    }

    /// Releases a statement.
    pub(crate) fn release(&mut self, statement: CachedStatement) {
        if !statement.cached {
            self.connection.finalize(statement.id);
        }
    }
}

/// Whether a statement may be cached: not if it acts while it is prepared, as PRAGMA does, or changes
/// the schema. Text that begins with a comment is not cached.
fn is_cacheable(sql: &[u8]) -> bool {
    const CACHEABLE: [&[u8]; 13] = [
        b"SELECT",
        b"INSERT",
        b"UPDATE",
        b"DELETE",
        b"REPLACE",
        b"WITH",
        b"VALUES",
        b"BEGIN",
        b"COMMIT",
        b"END",
        b"SAVEPOINT",
        b"RELEASE",
        b"ROLLBACK",
    ];
    let sql = sql.trim_ascii_start();
    let end = sql.iter().position(|byte| !byte.is_ascii_alphabetic()).unwrap_or(sql.len());
    let word = sql.get(..end).unwrap_or_default();
    CACHEABLE.iter().any(|first| first.eq_ignore_ascii_case(word))
}

#[cfg(unix)]
fn c_name(name: &OsStr) -> Result<CString, String> {
    use std::os::unix::ffi::OsStrExt;
    CString::new(name.as_bytes()).map_err(|_| "the database name contains a NUL".to_owned())
}

#[cfg(not(unix))]
fn c_name(name: &OsStr) -> Result<CString, String> {
    let name = name.to_str().ok_or("the database name is not valid Unicode")?;
    CString::new(name).map_err(|_| "the database name contains a NUL".to_owned())
}

#[cfg(test)]
mod tests {
    use super::is_cacheable;

    #[test]
    fn statements_with_side_effects_are_not_cached() {
        for sql in
            ["select 1", "  INSERT INTO t VALUES(1)", "\n\tWith a AS (SELECT 1) SELECT 1", "commit"]
        {
            assert!(is_cacheable(sql.as_bytes()), "{sql}");
        }
        for sql in
            ["", "PRAGMA foreign_keys=1", "selects", "CREATE TABLE t(a)", "/* */ SELECT 1", "("]
        {
            assert!(!is_cacheable(sql.as_bytes()), "{sql}");
        }
    }
}
