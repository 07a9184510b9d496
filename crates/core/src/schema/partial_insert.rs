//! Inserts without values for columns whose defaults the engine computes.

use super::TableSchema;
use crate::FieldSet;
use std::sync::{Arc, PoisonError, RwLock};

/// The maximum number of schemas kept for one table: programs insert few kinds of rows.
const MAX_SCHEMAS: usize = 64;

/// Chooses the schema under which to insert a row without values for some columns.
///
/// A row has a value for each column, and NULL is an ordinary value in a column that may be NULL. So that
/// the engine computes the [`default_sql`](crate::ColumnSchema::default_sql) of such a column, the row is
/// inserted under a schema in which the column may not be NULL.
///
/// ```
/// use bobak_core::{ColumnSchema, FieldSet, PartialInsert, TableSchema};
/// use std::sync::Arc;
/// let mut at = ColumnSchema::of::<Option<String>>("at");
/// at.default_sql = Some("CURRENT_TIMESTAMP".into());
/// let id = ColumnSchema::of::<i64>("id");
/// let visit = Arc::new(TableSchema::builder("visit").column(id).column(at).key(["id"]).build()?);
/// let rows = PartialInsert::new(Arc::clone(&visit));
/// assert_eq!(rows.table(FieldSet::first(2)).id(), visit.id());
/// assert!(!rows.table(FieldSet::first(1)).columns()[1].nullable);
/// # Ok::<(), bobak_core::Error>(())
/// ```
#[derive(Debug)]
pub struct PartialInsert {
    table: Arc<TableSchema>,
    /// The columns that may be NULL and have a computed default.
    made: FieldSet,
    known: RwLock<Vec<(FieldSet, Arc<TableSchema>)>>,
}

impl PartialInsert {
    /// Inserts into this table.
    #[must_use]
    pub fn new(table: Arc<TableSchema>) -> Self {
        let is_made = |place: &usize| {
            let column = table.columns().get(*place);
            column.is_some_and(|column| column.nullable && column.default_sql.is_some())
        };
        let made = (0..table.columns().len()).filter(is_made).collect();
        Self { table, made, known: RwLock::default() }
    }

    /// The schema for a row with these columns: the table's own, unless a column with a computed default is
    /// missing.
    #[must_use]
    pub fn table(&self, given: FieldSet) -> Arc<TableSchema> {
        if self.made.is_empty() {
            return Arc::clone(&self.table);
        }
        let missing: FieldSet = self.made.iter().filter(|place| !given.contains(*place)).collect();
        if missing.is_empty() {
            return Arc::clone(&self.table);
        }
        let find = |known: &[(FieldSet, Arc<TableSchema>)]| {
            known
                .iter()
                .find(|(columns, _)| *columns == missing)
                .map(|(_, table)| Arc::clone(table))
        };
        if let Some(table) = find(&self.known.read().unwrap_or_else(PoisonError::into_inner)) {
            return table;
        }
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(table) = find(&known) {
            return table;
        }
        let table = self.describe(missing);
        if known.len() == MAX_SCHEMAS {
            known.remove(0);
        }
        known.push((missing, Arc::clone(&table)));
        table
    }

    fn describe(&self, missing: FieldSet) -> Arc<TableSchema> {
        let mut place = 0;
        let described = TableSchema::clone(&self.table).map_columns(|column| {
            let nullable = column.nullable && !missing.contains(place);
            place += 1;
            column.nullable(nullable)
        });
        // Building cannot fail: the schema was valid, and making a column NOT NULL keeps it valid.
        described.map_or_else(|_| Arc::clone(&self.table), Arc::new)
    }
}
