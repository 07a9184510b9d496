//! Tables whose foreign keys differ in name only.

use super::column::ColumnSchema;
use super::reference::ForeignKey;
use super::table::TableSchema;

impl TableSchema {
    /// The columns and foreign keys with their actions as schemas are compared.
    pub(super) fn with_compared_actions(&self) -> (Vec<ColumnSchema>, Vec<ForeignKey>) {
        let (mut columns, mut keys) = (self.columns().to_vec(), self.foreign_keys().to_vec());
        for reference in columns.iter_mut().filter_map(|column| column.reference.as_mut()) {
            reference.on_delete = reference.on_delete.compared();
        }
        for key in &mut keys {
            key.on_delete = key.on_delete.compared();
        }
        (columns, keys)
    }
}
