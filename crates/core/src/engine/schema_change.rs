//! Changes of the schema.

use crate::TableSchema;
use std::sync::Arc;

/// One step of [`Session::alter`](crate::Session::alter). No step loses data.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SchemaChange {
    /// Creates the table and its indexes.
    CreateTable(Arc<TableSchema>),
    /// Adds a column to an existing table. Existing rows get its
    /// [`added_value`](crate::ColumnSchema::added_value).
    AddColumn {
        /// The table with the new column.
        table: Arc<TableSchema>,
        /// The new column's index in it.
        column: usize,
    },
    /// Adds an index to an existing table.
    AddIndex {
        /// The table with the new index.
        table: Arc<TableSchema>,
        /// The new index's position in [`TableSchema::indexes`].
        index: usize,
    },
    /// Adds the foreign key of a column to an existing table, whose rows it checks. For engines whose
    /// [`Capabilities::add_reference`](crate::Capabilities::add_reference) is set.
    AddReference {
        /// The table with the foreign key.
        table: Arc<TableSchema>,
        /// The column's index in it.
        column: usize,
    },
    /// Starts change capture: from now on the engine records every change of the table in a change
    /// log (see [`feed`](crate::change_log)). No change may bypass the log, neither SQL nor the effects of
    /// foreign keys; an engine that cannot guarantee this MUST return `Unsupported`. Does nothing if
    /// the table is tracked already. Columns that are added to the table later are added to its log.
    Track {
        /// The table as it is.
        table: Arc<TableSchema>,
        /// Whether a new log gets indexes over the table's key, for queries of a row's history.
        history: bool,
    },
    /// Stops change capture and drops the table's log.
    Untrack(Arc<TableSchema>),
}
