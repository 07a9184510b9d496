//! Changes of the schema.

use crate::{TableAlteration, TableSchema};
use std::sync::Arc;

/// One step of [`Session::alter`](crate::Session::alter). Only [`DropTable`](SchemaChange::DropTable), and an
/// [`AlterTable`](SchemaChange::AlterTable) that names dropped columns, lose data.
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
    /// Changes an existing table into another form: renames it or its columns, drops and adds columns,
    /// changes NOT NULL, defaults, CHECKs, foreign keys, lengths and indexes, and widens types. New
    /// columns get their [`added_value`](crate::ColumnSchema::added_value).
    ///
    /// The engine MUST check existing rows against every new rule. Foreign keys of other tables follow
    /// new names, and so does the log of a tracked table: see [`TableMoves`](crate::change_log::TableMoves). The engine
    /// MUST return `Unsupported` for a tracked table whose log cannot follow (see
    /// [`TableAlteration::check_tracked`]). What a schema cannot express, such as triggers and views, MUST
    /// survive, or the change MUST fail.
    AlterTable(Arc<TableAlteration>),
    /// Drops a table with its rows and indexes. The engine MUST return `Constraint` if foreign keys of
    /// other tables reference it, and `Unsupported` if it is tracked.
    DropTable(Arc<TableSchema>),
    /// Adds the foreign key of a column to an existing table, whose rows it checks. For engines whose
    /// [`Capabilities::add_reference`](crate::Capabilities::add_reference) is set.
    AddReference {
        /// The table with the foreign key.
        table: Arc<TableSchema>,
        /// The column's index in it.
        column: usize,
    },
    /// Adds a foreign key of the table to an existing table, as [`AddReference`](Self::AddReference) does with a
    /// column's.
    AddForeignKey {
        /// The table with the foreign key.
        table: Arc<TableSchema>,
        /// The foreign key's position in [`TableSchema::foreign_keys`].
        foreign_key: usize,
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

impl SchemaChange {
    /// The table that the change is about, as it will be; for [`DropTable`](Self::DropTable) as it was.
    #[must_use]
    pub fn table(&self) -> &Arc<TableSchema> {
        match self {
            Self::AlterTable(alteration) => alteration.to(),
            Self::CreateTable(table)
            | Self::DropTable(table)
            | Self::AddColumn { table, .. }
            | Self::AddIndex { table, .. }
            | Self::AddReference { table, .. }
            | Self::AddForeignKey { table, .. }
            | Self::Track { table, .. }
            | Self::Untrack(table) => table,
        }
    }
}
