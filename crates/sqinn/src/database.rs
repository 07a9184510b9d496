//! The database, and its statements.

use bobak_sqlite::SqliteError;
use bobak_sqlite::raw::{Access, Connection, Rows, StatementId, Value};
use std::ffi::{CString, OsStr};

/// Texts of this length and above are prepared each time: they are hardly the same twice.
const LONGEST_KEPT: usize = 16 * 1024;

/// An open database.
#[derive(Debug)]
pub struct Database {
    connection: Connection,
}

/// A statement that can be run.
#[derive(Debug)]
pub(crate) struct Statement {
    id: StatementId,
    /// Whether it is kept for the next time.
    kept: bool,
}

impl Database {
    /// Opens the file, which is made if it is not there; `:memory:` is a new database in memory.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn open(name: &OsStr) -> Result<Self, String> {
        let name = c_name(name)?;
        let mut connection = Connection::open(&name, Access::Create)
            .map_err(|error| format!("{}: {}", name.to_string_lossy(), error.message()))?;
        // As in SQLite's own builds, Sqinn's among them: a client asks for them if it wants them.
        connection.set_foreign_keys(false);
        // Nobody would ever end it.
        #[cfg(unix)]
        connection.end_where(crate::eager::is_unread);
        Ok(Self { connection })
    }

    /// The most parameters that a statement may have, and the most bytes of a value.
    pub(crate) fn limits(&self) -> (usize, usize) {
        (self.connection.max_parameters(), self.connection.max_length())
    }

    /// The first statement of a text.
    pub(crate) fn prepare(&mut self, sql: &[u8]) -> Result<Statement, String> {
        let kept = sql.len() < LONGEST_KEPT && is_kept(sql);
        let id = if kept {
            self.connection.prepare_cached(sql)
        } else {
            // It may change what names mean, or how statements are made.
            self.connection.clear_cached();
            self.connection.prepare(sql)
        };
        match id {
            Ok(Some(id)) => Ok(Statement { id, kept }),
            Ok(None) => Err("the SQL text has no statement".to_owned()),
            Err(error) => Err(error.message().to_owned()),
        }
    }

    /// Runs a statement to its end.
    #[inline]
    pub(crate) fn execute<'v>(
        &mut self,
        statement: &Statement,
        values: impl ExactSizeIterator<Item = Value<'v>>,
    ) -> Result<(), SqliteError> {
        self.connection.execute(statement.id, values)
    }

    /// Starts a statement.
    pub(crate) fn query<'a, 'v: 'a>(
        &'a mut self,
        statement: &Statement,
        values: impl ExactSizeIterator<Item = Value<'v>>,
    ) -> Result<Rows<'a>, SqliteError> {
        self.connection.query(statement.id, values)
    }

    /// Gives a statement back.
    pub(crate) fn release(&mut self, statement: Statement) {
        if !statement.kept {
            self.connection.finalize(statement.id);
        }
    }
}

/// Whether a statement may be kept: not one that acts while it is prepared, as PRAGMA, nor one that
/// changes the schema. What begins with a comment is not looked into.
fn is_kept(sql: &[u8]) -> bool {
    const KEPT: [&[u8]; 13] = [
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
    KEPT.iter().any(|kept| kept.eq_ignore_ascii_case(word))
}

#[cfg(unix)]
fn c_name(name: &OsStr) -> Result<CString, String> {
    use std::os::unix::ffi::OsStrExt;
    CString::new(name.as_bytes()).map_err(|_| "the database's name has a NUL".to_owned())
}

#[cfg(not(unix))]
fn c_name(name: &OsStr) -> Result<CString, String> {
    let name = name.to_str().ok_or("the database's name is not Unicode")?;
    CString::new(name).map_err(|_| "the database's name has a NUL".to_owned())
}

#[cfg(test)]
mod tests {
    use super::is_kept;

    #[test]
    fn only_statements_without_a_second_meaning_are_kept() {
        for sql in
            ["select 1", "  INSERT INTO t VALUES(1)", "\n\tWith a AS (SELECT 1) SELECT 1", "commit"]
        {
            assert!(is_kept(sql.as_bytes()), "{sql}");
        }
        for sql in
            ["", "PRAGMA foreign_keys=1", "selects", "CREATE TABLE t(a)", "/* */ SELECT 1", "("]
        {
            assert!(!is_kept(sql.as_bytes()), "{sql}");
        }
    }
}
