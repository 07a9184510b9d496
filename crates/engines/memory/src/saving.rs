//! Engines that keep their rows here and their files elsewhere: each change is saved before others see it.

use crate::state::DatabaseState;
use crate::table::TableState;
use bobak_core::codec::EncodedRow;
use bobak_core::{Result, TableSchema};
use std::sync::Arc;

/// All tables at one moment: see [`Memory::save_with`](crate::Memory::save_with).
pub struct MemoryTables<'a>(&'a DatabaseState);

/// A table at one moment.
#[derive(Clone, Copy)]
pub struct MemoryTable<'a>(&'a Arc<TableState>);

/// Saves a change: the tables before it, and after it.
pub(crate) type SaveHook =
    Box<dyn Fn(&MemoryTables<'_>, &MemoryTables<'_>) -> Result<()> + Send + Sync>;

impl<'a> MemoryTables<'a> {
    pub(crate) const fn new(state: &'a DatabaseState) -> Self {
        Self(state)
    }

    /// The tables.
    pub fn tables(&self) -> impl Iterator<Item = MemoryTable<'a>> + use<'a> {
        self.0.tables.iter().map(MemoryTable)
    }

    /// The table with this name, without regard to ASCII case.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<MemoryTable<'a>> {
        self.0.tables.get(self.0.position(name)?).map(MemoryTable)
    }
}

impl<'a> MemoryTable<'a> {
    /// The table's schema.
    #[must_use]
    pub fn schema(self) -> &'a Arc<TableSchema> {
        &self.0.schema
    }

    /// Whether nothing has changed from this moment to another. It may be `false` for equal rows.
    #[must_use]
    pub fn is_same(self, other: MemoryTable<'_>) -> bool {
        Arc::ptr_eq(self.0, other.0)
    }

    /// The rows, in the order of their keys.
    pub fn rows(self) -> impl Iterator<Item = EncodedRow<'a>> + use<'a> {
        let mut at = self.0.key().order.start();
        std::iter::from_fn(move || {
            let slot = self.0.key().order.next(&mut at)?;
            self.0.row(slot)
        })
    }

    /// The key that the engine would make next, of a table whose keys it makes.
    ///
    /// # Errors
    /// `Full` if there is none left.
    pub fn next_key(self) -> Result<i64> {
        self.0.next_key()
    }
}

impl std::fmt::Debug for MemoryTables<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.tables()).finish()
    }
}

impl std::fmt::Debug for MemoryTable<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemoryTable").field("name", &self.schema().name()).finish_non_exhaustive()
    }
}
