//! A table, with what requests need to know about it again and again.

use crate::memory_budget::MemoryBudget;
use bobak::changes::Change;
use bobak_core::{Error, ErrorKind, FieldSet, KeyGeneration, PartialInsert, TableSchema, Value};
use bobak_text::json::write_string;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A table's schema, and what is derived from it once.
pub(crate) struct CachedTable {
    pub schema: Arc<TableSchema>,
    /// The columns' names as JSON object members: in quotes, with a colon.
    pub labels: Vec<String>,
    /// The value of each column that a new row omits.
    pub omitted: Vec<OmittedValue>,
    /// The columns that replacing a whole row sets.
    pub updated: FieldSet,
    /// Whether a row was seen that takes long to read and write.
    has_long_rows: AtomicBool,
    partial_insert: PartialInsert,
}

/// The value of a column that a new row omits.
pub(crate) enum OmittedValue {
    /// The default; NULL; or NULL for Bobak or the engine to fill in.
    Value(Value<'static>),
    /// The column can't be omitted.
    Required,
}

impl CachedTable {
    pub fn new(schema: Arc<TableSchema>) -> Self {
        let label = |name: &str| {
            let mut label = String::new();
            write_string(&mut label, name);
            label.push(':');
            label
        };
        let columns = 0..schema.columns().len();
        Self {
            labels: schema.columns().iter().map(|column| label(&column.name)).collect(),
            omitted: columns.map(|position| omitted_value(&schema, position)).collect(),
            updated: schema.updated_fields(),
            has_long_rows: AtomicBool::new(false),
            partial_insert: PartialInsert::new(Arc::clone(&schema)),
            schema,
        }
    }

    /// The schema to insert a row with that gives these columns.
    pub fn insert_schema(&self, given: FieldSet) -> Arc<TableSchema> {
        self.partial_insert.table(given)
    }

    /// Whether rows should be read by worker threads.
    pub fn has_long_rows(&self) -> bool {
        self.has_long_rows.load(Ordering::Relaxed)
    }

    /// Notes the length of a row as JSON. After the first long row, worker threads read rows.
    pub fn note_length(&self, bytes: usize) {
        if !MemoryBudget::is_small(bytes) {
            self.has_long_rows.store(true, Ordering::Relaxed);
        }
    }

    /// The table as it was when a change was captured.
    pub fn as_of(self: &Arc<Self>, change: &Change) -> Arc<Self> {
        if change.table.columns().len() == self.schema.columns().len() {
            return Arc::clone(self);
        }
        Arc::new(Self::new(Arc::clone(&change.table)))
    }

    /// Whether Bobak or the engine generates the column's value if it is NULL.
    pub fn is_generated(&self, position: usize) -> bool {
        is_generated(&self.schema, position)
    }

    /// Adds the table's name to an error.
    pub fn name_error(&self, error: Error) -> Error {
        error.in_table(self.schema.name())
    }

    /// The error for a column without a value that needs one.
    #[cold]
    pub fn missing_value(&self, position: usize) -> Error {
        let name = self.schema.columns().get(position).map_or("", |column| &column.name).to_owned();
        let message = "the column has no value and no default, and must not be NULL";
        self.name_error(Error::new(ErrorKind::Constraint, message).in_column(name))
    }
}

fn is_generated(schema: &TableSchema, position: usize) -> bool {
    let has_generated_key = schema.key_generation() != KeyGeneration::Given;
    has_generated_key && schema.key().contains(&position)
        || schema.is_generated(position)
        || [schema.created_at(), schema.modified_at(), schema.version()].contains(&Some(position))
}

fn omitted_value(schema: &TableSchema, position: usize) -> OmittedValue {
    let Some(column) = schema.columns().get(position) else { return OmittedValue::Required };
    if schema.version() == Some(position) {
        return OmittedValue::Value(Value::Int(0));
    }
    let is_generated = is_generated(schema, position);
    match &column.default {
        // A generated value takes precedence over the default.
        Some(_) if is_generated => OmittedValue::Value(Value::Null),
        Some(default) => match column.accept(default.clone()) {
            Ok(value) => OmittedValue::Value(value),
            Err(_) => OmittedValue::Required,
        },
        None if column.nullable || column.default_sql.is_some() || is_generated => {
            OmittedValue::Value(Value::Null)
        }
        None => OmittedValue::Required,
    }
}
