//! Handles: numbers by which the requests of a connection name tables and SQL texts.

use crate::Limits;
use bobak_core::{Error, ErrorKind, Result, TableSchema};
use std::sync::Arc;

/// The handles of the tables that conditions name besides the table of their request, or of all tables of a join, by
/// [`TableSchema::id`](bobak_core::TableSchema::id).
pub type OtherTables<'a> = &'a [(u64, u32)];

/// The tables and SQL texts to which a client has assigned handles.
#[derive(Debug, Default)]
pub struct Handles {
    tables: Vec<Option<TableEntry>>,
    statements: Vec<Option<Arc<str>>>,
    limit: u32,
}

#[derive(Debug)]
enum TableEntry {
    Known(Arc<TableSchema>),
    /// Its schema was invalid. `Define` has no response, so each use of the handle returns the error.
    Invalid(ErrorKind, String),
}

impl Handles {
    /// No handles yet; at most as many as the limits allow.
    #[must_use]
    pub const fn new(limits: &Limits) -> Self {
        Self { tables: Vec::new(), statements: Vec::new(), limit: limits.handles }
    }

    /// Assigns a handle to a table. An error is kept and returned by each use of the handle.
    pub fn define(&mut self, handle: u32, table: Result<Arc<TableSchema>>) {
        let entry = match table {
            Ok(table) => TableEntry::Known(table),
            Err(error) => TableEntry::Invalid(error.kind(), error.to_string()),
        };
        set(&mut self.tables, self.limit, handle, Some(entry));
    }

    /// Assigns a handle to an SQL text.
    pub fn prepare(&mut self, handle: u32, text: &str) {
        set(&mut self.statements, self.limit, handle, Some(text.into()));
    }

    /// Releases the handle of a table, or if `table` is false, of an SQL text.
    pub fn forget(&mut self, table: bool, handle: u32) {
        if table {
            set(&mut self.tables, self.limit, handle, None);
        } else {
            set(&mut self.statements, self.limit, handle, None);
        }
    }

    /// The table with this handle.
    ///
    /// # Errors
    /// `Misuse` if the handle is not assigned; the error of an invalid schema.
    #[inline]
    pub fn table(&self, handle: u32) -> Result<&Arc<TableSchema>> {
        match self.tables.get(handle as usize) {
            Some(Some(TableEntry::Known(table))) => Ok(table),
            Some(Some(TableEntry::Invalid(kind, message))) => {
                Err(Error::new(*kind, message.as_str()))
            }
            _ => Err(self.unknown("table", handle)),
        }
    }

    /// The SQL text with this handle.
    ///
    /// # Errors
    /// `Misuse` if the handle is not assigned.
    pub fn statement(&self, handle: u32) -> Result<&Arc<str>> {
        let found = self.statements.get(handle as usize).and_then(Option::as_ref);
        found.ok_or_else(|| self.unknown("statement", handle))
    }

    #[cold]
    fn unknown(&self, what: &str, handle: u32) -> Error {
        let message = if handle < self.limit {
            format!("the {what} handle {handle} is not assigned")
        } else {
            format!("the {what} handle {handle} is not below the limit of {}", self.limit)
        };
        Error::new(ErrorKind::Misuse, message)
    }
}

/// Ignores handles from the limit on. Using one is an error.
fn set<T>(list: &mut Vec<Option<T>>, limit: u32, handle: u32, entry: Option<T>) {
    let index = handle as usize;
    if handle >= limit || (entry.is_none() && index >= list.len()) {
        return;
    }
    if index >= list.len() {
        list.resize_with(index + 1, || None);
    }
    if let Some(slot) = list.get_mut(index) {
        *slot = entry;
    }
}
