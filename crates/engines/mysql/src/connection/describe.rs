//! The columns of a statement, without running it.

use super::Connection;
use crate::values::decode::Decoder;
use bobak_core::{Result, ResultColumn};

impl Connection {
    /// The columns of a statement's result; `None` if statements are not prepared.
    pub(crate) fn result_columns(&mut self, sql: &str) -> Result<Option<Vec<ResultColumn>>> {
        if !self.connector.settings.prepared {
            return Ok(None);
        }
        let described = self.statement(sql).and_then(|statement| {
            let columns = statement.columns();
            let instants = self.instants(&columns)?;
            Ok(Decoder::new(&columns, Some(&instants)).columns().to_vec())
        });
        described.map(Some).map_err(|error| self.failed(error, None))
    }
}
