//! `EXPLAIN` describes the statement for the schema that the connection knows. SQLite compares that with the file only when
//! a statement runs, which an explained one does not.

use crate::connection::Connection;
use bobak_core::Result;

/// A query that runs, so that SQLite reads the schema again if another connection has changed it.
const REFRESH: &str = "SELECT 0 FROM main.sqlite_schema LIMIT 1";

impl Connection {
    /// Called before a statement of this text is used: if it explains another, forgets the prepared one and reads the
    /// schema again if that has changed.
    pub(super) fn refresh_schema_to_explain(&mut self, sql: &str) -> Result<()> {
        let word = sql.trim_start().get(..7).unwrap_or_default();
        if !word.eq_ignore_ascii_case("explain") {
            return Ok(());
        }
        if let Some(old) = self.texts.take(sql) {
            self.db.finalize(old);
        }
        self.first_integer(REFRESH)?;
        Ok(())
    }
}
