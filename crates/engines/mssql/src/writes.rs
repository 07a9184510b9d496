//! What a row must be to be written, and what is sent for a new one.

use crate::columns::sent_kind;
use crate::connection::Connection;
use crate::dialect::MssqlStatements;
use crate::texts;
use crate::values::encode;
use bobak_core::{Error, ErrorKind, Result, TableSchema, ValueRef};
use bobak_engine_common::{RowSteps, ServerWrite, StatementDialect, is_exact};

impl RowSteps for Connection {
    fn check_value(&self, table: &TableSchema, place: usize, value: ValueRef<'_>) -> Result<()> {
        encode(sent_kind(table, place)?, value)?;
        match value {
            ValueRef::Text(text) if text.ends_with(' ') && is_exact(table, place) => {
                let message = "a text that must be unique or is referenced ends with a space, which SQL Server ignores";
                Err(Error::new(ErrorKind::Unsupported, message))
            }
            _ => Ok(()),
        }
    }

    fn insert_text(&self, write: &ServerWrite<'_>, made: bool) -> String {
        let text = MssqlStatements.insert(write.table, made);
        if made { text } else { texts::with_given_keys(write.table, &text) }
    }
}
