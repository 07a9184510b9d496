//! Numbers that stand for tables and SQL texts, on one connection of a server.

use crate::Limits;
use bobak_core::{Error, ErrorKind, Result, TableSchema};
use std::sync::Arc;

/// The tables and texts that a client has given numbers.
#[derive(Debug, Default)]
pub struct Handles {
    tables: Vec<Option<Table>>,
    statements: Vec<Option<Arc<str>>>,
    limit: u32,
}

#[derive(Debug)]
enum Table {
    Known(Arc<TableSchema>),
    /// Its description was refused, with this kind and sentence: each use says so again.
    Refused(ErrorKind, String),
}

impl Handles {
    /// None yet, and no more than the limits say.
    #[must_use]
    pub const fn new(limits: &Limits) -> Self {
        Self { tables: Vec::new(), statements: Vec::new(), limit: limits.handles }
    }

    /// Gives a table a number. An error is kept for those who use it.
    pub fn define(&mut self, handle: u32, table: Result<Arc<TableSchema>>) {
        let entry = match table {
            Ok(table) => Table::Known(table),
            Err(error) => Table::Refused(error.kind(), error.to_string()),
        };
        set(&mut self.tables, self.limit, handle, Some(entry));
    }

    /// Gives a text a number.
    pub fn prepare(&mut self, handle: u32, text: &str) {
        set(&mut self.statements, self.limit, handle, Some(text.into()));
    }

    /// Gives the number of a table, or else of a text, back.
    pub fn forget(&mut self, table: bool, handle: u32) {
        if table {
            set(&mut self.tables, self.limit, handle, None);
        } else {
            set(&mut self.statements, self.limit, handle, None);
        }
    }

    /// The table with this number.
    ///
    /// # Errors
    /// `Misuse` where there is none; what was wrong with its description.
    #[inline]
    pub fn table(&self, handle: u32) -> Result<&Arc<TableSchema>> {
        match self.tables.get(handle as usize) {
            Some(Some(Table::Known(table))) => Ok(table),
            Some(Some(Table::Refused(kind, message))) => Err(Error::new(*kind, message.as_str())),
            _ => Err(self.unknown("table", handle)),
        }
    }

    /// The text with this number.
    ///
    /// # Errors
    /// `Misuse` where there is none.
    pub fn statement(&self, handle: u32) -> Result<&Arc<str>> {
        let found = self.statements.get(handle as usize).and_then(Option::as_ref);
        found.ok_or_else(|| self.unknown("statement", handle))
    }

    #[cold]
    fn unknown(&self, what: &str, handle: u32) -> Error {
        let message = if handle < self.limit {
            format!("no {what} has the number {handle}: define it first")
        } else {
            format!("the numbers of a connection's {what}s end before {}", self.limit)
        };
        Error::new(ErrorKind::Misuse, message)
    }
}

/// Numbers from the limit on are left out: their use is refused.
fn set<T>(list: &mut Vec<Option<T>>, limit: u32, handle: u32, entry: Option<T>) {
    let place = handle as usize;
    if handle >= limit || (entry.is_none() && place >= list.len()) {
        return;
    }
    if place >= list.len() {
        list.resize_with(place + 1, || None);
    }
    if let Some(slot) = list.get_mut(place) {
        *slot = entry;
    }
}
