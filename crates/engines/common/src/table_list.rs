//! The tables of an engine that stores rows itself, and changes of their schemas.

use crate::column_map::{ColumnMap, ColumnMaps};
use crate::schema_change::{TableAdditions, TableRebuild};
use crate::write::{RowStore, StoredTable, missing_table, table_exists};
use bobak_core::codec::EncodedRow;
use bobak_core::{Error, ErrorKind, Result, SchemaChange, TableSchema};
use std::sync::Arc;

/// A table of a [`TableList`].
pub trait ListedTable {
    /// Its schema, as it is stored.
    fn schema(&self) -> &Arc<TableSchema>;
}

/// All tables at one moment. A clone shares them.
#[derive(Debug)]
pub struct TableList<T> {
    tables: Vec<Arc<T>>,
    /// The schemas that were compared with their tables; replaced after each schema change.
    maps: Arc<ColumnMaps>,
}

impl<T: ListedTable> TableList<T> {
    /// The tables, as [`Session::tables`](bobak_core::Session::tables) returns them.
    #[must_use]
    pub fn schemas(&self) -> Vec<TableSchema> {
        self.tables.iter().map(|table| TableSchema::clone(table.schema())).collect()
    }

    /// The tables, in the order of their places.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.tables.iter().map(Arc::as_ref)
    }

    /// The stored table of a schema, whose columns are those of the schema in its order.
    ///
    /// # Errors
    /// `Schema` if it is missing, lacks columns, or needs a [map](Self::map).
    pub fn find(&self, schema: &TableSchema) -> Result<&T> {
        let place = self.place(schema)?;
        self.tables.get(place).map(Arc::as_ref).ok_or_else(|| missing_table(schema))
    }

    /// As [`find`](Self::find), to change its rows. Clones of the list keep the table as it was.
    ///
    /// # Errors
    /// As `find`.
    pub fn find_mut(&mut self, schema: &TableSchema) -> Result<&mut T>
    where
        T: Clone,
    {
        let place = self.place(schema)?;
        self.tables.get_mut(place).map(Arc::make_mut).ok_or_else(|| missing_table(schema))
    }

    /// Where the schema's columns are in its table, if not in the same places. None if there is no such table either.
    #[must_use]
    pub fn map(&self, schema: &TableSchema) -> Option<Arc<ColumnMap>> {
        let (_, stored) = self.named(schema).ok()?;
        self.maps.get(schema, stored.schema()).ok().flatten()
    }

    /// Adds a table.
    pub fn push(&mut self, table: T) {
        self.tables.push(Arc::new(table));
        self.maps = Arc::default();
    }

    /// Puts a table in the place of another.
    pub fn replace(&mut self, place: usize, table: T) {
        if let Some(old) = self.tables.get_mut(place) {
            *old = Arc::new(table);
        }
        self.maps = Arc::default();
    }

    /// Removes the table at this place.
    pub fn remove(&mut self, place: usize) {
        self.tables.remove(place);
        self.maps = Arc::default();
    }

    fn place(&self, schema: &TableSchema) -> Result<usize> {
        let (place, stored) = self.named(schema)?;
        if self.maps.get(schema, stored.schema())?.is_some() {
            let message = "the stored table has its columns in other places";
            return Err(Error::new(ErrorKind::Schema, message).in_table(schema.name()));
        }
        Ok(place)
    }

    /// The place of the table with this name, and the table.
    fn named(&self, schema: &TableSchema) -> Result<(usize, &Arc<T>)> {
        let mut tables = self.tables.iter().enumerate();
        let found = tables.find(|(_, t)| t.schema().name().eq_ignore_ascii_case(schema.name()));
        found.ok_or_else(|| missing_table(schema))
    }
}

impl<T: ListedTable> FromIterator<T> for TableList<T> {
    fn from_iter<I: IntoIterator<Item = T>>(tables: I) -> Self {
        Self { tables: tables.into_iter().map(Arc::new).collect(), maps: Arc::default() }
    }
}

impl<T> Clone for TableList<T> {
    fn clone(&self) -> Self {
        Self { tables: self.tables.clone(), maps: Arc::clone(&self.maps) }
    }
}

impl<T> Default for TableList<T> {
    fn default() -> Self {
        Self { tables: Vec::new(), maps: Arc::default() }
    }
}

/// What an engine does with its tables while [`alter_tables`] changes them.
pub trait AlterTables {
    /// A table with its rows.
    type Table: ListedTable;

    /// The tables as they are now.
    fn tables(&mut self) -> &mut TableList<Self::Table>;

    /// Creates a table without rows.
    ///
    /// # Errors
    /// `Unsupported` for a table that the engine cannot store; those of the storage.
    fn create(&mut self, table: &Arc<TableSchema>) -> Result<Self::Table>;

    /// The table in a new form, with its rows: see [`add_rebuilt`]. The old one is removed from the storage.
    ///
    /// # Errors
    /// `Constraint`, `Duplicate` and others if a row does not fit; those of the storage.
    fn rebuild(&mut self, old: &Self::Table, rebuild: &TableRebuild) -> Result<Self::Table>;

    /// Removes a table with its rows from the storage.
    ///
    /// # Errors
    /// Those of the storage.
    fn remove(&mut self, old: &Self::Table) -> Result<()>;
}

/// Makes the changes in their order, and then the additions to each table. After an error some are made: the caller
/// undoes them.
///
/// # Errors
/// As [`Session::alter`](bobak_core::Session::alter); `Unsupported` for foreign keys that are added, and change capture.
pub fn alter_tables<A: AlterTables>(
    engine: &'static str,
    engine_tables: &mut A,
    changes: &[SchemaChange],
) -> Result<()> {
    for change in changes {
        match change {
            SchemaChange::CreateTable(table) => {
                if engine_tables.tables().named(table).is_ok() {
                    return Err(table_exists(table));
                }
                let table = engine_tables.create(table)?;
                engine_tables.tables().push(table);
            }
            SchemaChange::AlterTable(alteration) => {
                let to = alteration.to();
                let (place, old) = find(engine_tables, alteration.from())?;
                if engine_tables.tables().named(to).is_ok_and(|(other, _)| other != place) {
                    return Err(table_exists(to));
                }
                let rebuild = TableRebuild::of(alteration, old.schema(), false)?;
                let new = engine_tables.rebuild(&old, &rebuild)?;
                engine_tables.tables().replace(place, new);
            }
            SchemaChange::DropTable(table) => {
                let (place, old) = find(engine_tables, table)?;
                engine_tables.remove(&old)?;
                engine_tables.tables().remove(place);
            }
            SchemaChange::AddColumn { .. } | SchemaChange::AddIndex { .. } => {}
            SchemaChange::AddReference { table, .. }
            | SchemaChange::AddForeignKey { table, .. } => {
                return Err(Error::unsupported(engine, "foreign keys").in_table(table.name()));
            }
            _ => return Err(Error::unsupported(engine, "change capture")),
        }
    }
    for addition in TableAdditions::collect(changes)? {
        let (place, old) = find(engine_tables, addition.table())?;
        let new = engine_tables.rebuild(&old, &addition.rebuild(old.schema())?)?;
        engine_tables.tables().replace(place, new);
    }
    Ok(())
}

/// The place of the table with this name, and the table.
fn find<A: AlterTables>(tables: &mut A, table: &TableSchema) -> Result<(usize, Arc<A::Table>)> {
    let (place, found) = tables.tables().named(table)?;
    Ok((place, Arc::clone(found)))
}

/// Adds a row of the old table, in its new form and with all checks, to the new one.
///
/// # Errors
/// `Constraint`, `Mismatch`, `TooLong`, `OutOfRange`, `Duplicate`; those of the storage.
pub fn add_rebuilt(
    store: &mut dyn RowStore,
    table: &StoredTable,
    rebuild: &TableRebuild,
    old: EncodedRow<'_>,
) -> Result<()> {
    let row = table.complete_row(|column| rebuild.value(old, column))?;
    let row = EncodedRow::new(&row);
    table.check_new(store, row)?;
    store.replace(None, Some(row))
}
