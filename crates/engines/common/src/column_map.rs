//! Tables that are stored with more columns than a program describes, or with the same in another order.
//!
//! As in SQL, columns are found by their names. A column that is not described keeps its value when a row is updated, and
//! has its default or NULL in a new row.

use bobak_core::{
    Assign, BulkChange, ColumnRole, ColumnSchema, Error, ErrorKind, FieldSet, Outcome, Result,
    Select, Session, TableSchema, Value, Verb, Write,
};
use std::sync::{Arc, PoisonError, RwLock};

/// Where the columns of a described table are in the stored one, if not at the same indexes.
///
/// Each method passes the operation on with the stored columns, under [a schema](Self::table) that describes them as
/// they are stored.
#[derive(Debug)]
pub struct ColumnMap {
    table: Arc<TableSchema>,
    /// The index of each described column in the stored table.
    indexes: Vec<usize>,
    /// A new row: the defaults of the columns that are not described.
    new_row: Vec<Value<'static>>,
}

/// The maps of the schemas that were compared with their stored tables, so that each is compared once.
#[derive(Debug, Default)]
pub struct ColumnMaps(RwLock<Vec<(u64, Option<Arc<ColumnMap>>)>>);

/// The number of schemas that are remembered.
const MAX_SCHEMAS: usize = 64;

impl ColumnMaps {
    /// As [`ColumnMap::new`], remembered.
    ///
    /// # Errors
    /// As `ColumnMap::new`.
    pub fn get(&self, given: &TableSchema, stored: &TableSchema) -> Result<Option<Arc<ColumnMap>>> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, map)) = known.iter().find(|(id, _)| *id == given.id()) {
            return Ok(map.clone());
        }
        drop(known);
        let map = ColumnMap::new(given, stored)?.map(Arc::new);
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() == MAX_SCHEMAS {
            known.remove(0);
        }
        known.push((given.id(), map.clone()));
        Ok(map)
    }
}

impl ColumnMap {
    /// Compares a described table with the stored one, by the names of their columns. `None` if the stored table has
    /// exactly the described columns in their order: it needs no map.
    ///
    /// # Errors
    /// `Schema` if the stored table lacks a column, stores it in another form, or has another key.
    pub fn new(given: &TableSchema, stored: &TableSchema) -> Result<Option<Self>> {
        let indexes = find_columns(given, stored)?;
        let key = given.key().iter().filter_map(|&column| indexes.get(column));
        if !key.eq(stored.key()) {
            let message = "the stored table has another key";
            return Err(Error::new(ErrorKind::Schema, message).in_table(given.name()));
        }
        if indexes.iter().copied().eq(0..stored.columns().len()) {
            return Ok(None);
        }
        let columns = stored.columns().iter().enumerate().map(|(index, column)| {
            let described = indexes.iter().position(|&other| other == index);
            let described = described.and_then(|index| given.columns().get(index));
            described.cloned().unwrap_or_else(|| undescribed(column))
        });
        let columns = columns.collect();
        let table = given.clone().into_builder().columns(columns).build()?;
        let default = |column: &ColumnSchema| match &column.default {
            Some(value) => column.accept(value.clone()),
            None => Ok(Value::Null),
        };
        let new_row = stored.columns().iter().map(default).collect::<Result<_>>()?;
        Ok(Some(Self { table: Arc::new(table), indexes, new_row }))
    }

    /// The described table with the stored columns in their order.
    #[must_use]
    pub const fn table(&self) -> &Arc<TableSchema> {
        &self.table
    }

    fn index(&self, column: usize) -> usize {
        // `Select` and `Write` name columns that exist.
        self.indexes.get(column).copied().unwrap_or(usize::MAX)
    }

    /// The query with the stored columns.
    #[must_use]
    pub fn select(&self, select: &Select) -> Select {
        select.map_columns(Arc::clone(&self.table), &|column| self.index(column))
    }

    /// Writes a row with the stored columns.
    ///
    /// # Errors
    /// As [`Session::write`]; `Mismatch` for another number of values than described columns.
    pub fn write(&self, session: &dyn Session, write: &Write<'_>) -> Result<Outcome> {
        let table = &self.table;
        if write.verb == Verb::Delete {
            return session.write(&Write { table, ..*write });
        }
        let (given, wanted) = (write.values.len(), self.indexes.len());
        if given != wanted {
            let error = Error::wrong_number(ErrorKind::Mismatch, given, wanted, "column");
            return Err(error.in_table(table.name()));
        }
        let mut values: Vec<Value<'_>> = self.new_row.clone();
        for (&index, value) in self.indexes.iter().zip(write.values) {
            if let Some(slot) = values.get_mut(index) {
                *slot = value.as_ref().into();
            }
        }
        let fields: FieldSet = write.fields.iter().map(|column| self.index(column)).collect();
        let verb = match write.verb {
            Verb::UpsertOn(_) => {
                let columns = write.verb.conflict_columns(write.table).iter();
                Verb::upsert_by(table, &columns.map(|&at| self.index(at)).collect::<Vec<_>>())?
            }
            verb => verb,
        };
        session.write(&Write { table, verb, fields, values: &values })
    }

    /// Changes rows with the stored columns.
    ///
    /// # Errors
    /// As [`Session::change`].
    pub fn change(&self, session: &dyn Session, change: &BulkChange<'_>) -> Result<u64> {
        let index = |column| self.index(column);
        let condition = change.condition.cloned().map(|part| part.map_columns(&index));
        let assign = change.assign.map(|steps| {
            steps.iter().map(|step| step.clone().map_column(&index)).collect::<Vec<Assign>>()
        });
        let (condition, assign) = (condition.as_ref(), assign.as_deref());
        session.change(&BulkChange { table: &self.table, condition, assign })
    }
}

/// The index of each described column in the stored table.
fn find_columns(given: &TableSchema, stored: &TableSchema) -> Result<Vec<usize>> {
    let find = |column: &ColumnSchema| {
        let error = |message: String| {
            let error = Error::new(ErrorKind::Schema, message).in_table(given.name());
            Err(error.in_column(column.name.clone()))
        };
        let Ok(found) = stored.column(&column.name) else {
            return error("the stored table has no such column: add it first".to_owned());
        };
        let other = stored.column_at(found)?.storage;
        if column.storage == other {
            return Ok(found);
        }
        let (given, stored) = (column.storage.name(), other.name());
        error(format!("the column is {given} here, but {stored} in the stored table"))
    };
    given.columns().iter().map(find).collect()
}

/// A stored column that the program does not describe: Bobak fills and checks nothing in it.
fn undescribed(column: &ColumnSchema) -> ColumnSchema {
    let mut column = column.clone();
    column.role = ColumnRole::default();
    column.unique = false;
    column.reference = None;
    column
}
