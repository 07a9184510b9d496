//! The types of the values that untyped columns hold: other programs' SQLite files.
//!
//! SQLite gives a column that is declared DATETIME, BOOL, DECIMAL or JSON no type that its values must have. Here
//! each column gets the type in which Bobak would store all of its values as they are, so that a record with this
//! type reads, finds and writes them. A column with a type, such as TINYINT, that holds other values gets a wider one.
//! A copy converts values instead: see [`copy`](crate::copy).

mod typed_engine;

pub use typed_engine::TypedEngine;

use crate::copy::walk;
use bobak_core::{
    ColumnSchema, Engine, Error, ErrorKind, Expr, Result, Select, Session, Storage, TableSchema,
    Type, Value, ValueRef,
};
use bobak_sql::Dialect;
use std::sync::Arc;

/// The most rows of a table that are read.
pub const MAX_ROWS: u64 = 1_000_000;

/// A table with the types of its values.
#[derive(Clone, Debug)]
pub struct StoredTypes {
    /// The table.
    pub table: TableSchema,
    /// Whether all rows were read, and not only the first [`MAX_ROWS`].
    pub is_complete: bool,
}

/// Reads the table, and gives each column without a type the one that all of its values have; it stays without one if
/// there is none, or no value. The columns that `given` names (`price`, or `item.price`) get these types.
///
/// A column whose type some values do not have (a TINYINT that holds 300) becomes an `i64`, or one without a type. A column
/// that is declared without any type stays as it is. Reads only tables of SQLite files.
///
/// # Errors
/// `Mismatch` for a value that is not stored as one of the given type; `Unsupported` for a type as which another program
/// stores no value; those of the engine.
pub fn stored_types(
    engine: &dyn Engine,
    table: &TableSchema,
    given: &[(&str, Type)],
) -> Result<StoredTypes> {
    let is_checked = engine.capabilities().weak_types;
    types_in(&*engine.session()?, table, given, is_checked)
}

/// The table with a type for each column that has none: the one that its declared name says, in the form in which other
/// programs store its values, and text for other names. For new rows of tables that hold no values yet. A column that
/// is declared without any type stays as it is.
///
/// # Errors
/// `Schema` if the definition does not allow the types.
pub fn declared_types(table: &TableSchema) -> Result<TableSchema> {
    let columns = table.columns().iter().map(|column| match (column.ty, &column.declared) {
        (Type::Any, Some(declared)) => {
            let is_number = is_number(&declared.to_ascii_uppercase());
            let other = if is_number { Type::I64 } else { Type::Text };
            with_type(column, named_type(table, column).unwrap_or(other))
        }
        _ => column.clone(),
    });
    let mut columns = columns.collect::<Vec<_>>().into_iter();
    table.clone().map_columns(|column| columns.next().unwrap_or(column))
}

/// The types of the values. Columns that have types keep them unless `is_checked`.
fn types_in(
    session: &dyn Session,
    table: &TableSchema,
    given: &[(&str, Type)],
    is_checked: bool,
) -> Result<StoredTypes> {
    let columns = table.columns().iter().map(|column| Candidates::of(table, column, given));
    let mut columns = columns.collect::<Result<Vec<_>>>()?;
    if !is_checked {
        columns.iter_mut().filter(|column| column.is_typed).for_each(|column| column.types.clear());
    }
    let mut open: Vec<_> =
        columns.iter_mut().enumerate().filter(|(_, column)| !column.types.is_empty()).collect();
    let mut rows = 0;
    if !open.is_empty() {
        let source = Arc::new(table.clone());
        let select = Select {
            columns: open.iter().map(|(place, _)| Expr::Column(*place)).collect(),
            limit: Some(MAX_ROWS + 1),
            ..Select::all(&source)
        };
        walk(session, &select, |row| {
            rows += 1;
            if rows > MAX_ROWS {
                return Ok(());
            }
            open.iter_mut()
                .enumerate()
                .try_for_each(|(place, (_, column))| column.observe(row.get(place)))
        })?;
    }
    let mut columns = columns.into_iter();
    let table = table.clone().map_columns(|column| match columns.next() {
        Some(found) => found.decide(column),
        None => column,
    })?;
    Ok(StoredTypes { table, is_complete: rows <= MAX_ROWS })
}

/// The types that a column may still have, the preferred one first.
struct Candidates {
    types: Vec<ColumnSchema>,
    is_given: bool,
    /// Whether the column has a type itself.
    is_typed: bool,
    has_values: bool,
}

/// Whether the name is the column's, alone or after the table's: `price`, `item.price`.
fn names_column(table: &TableSchema, column: &ColumnSchema, name: &str) -> bool {
    name.eq_ignore_ascii_case(&column.name)
        || name.eq_ignore_ascii_case(&format!("{}.{}", table.name(), column.name))
}

/// Whether the name is that of a column of the table, alone or after the table's: `price`, `item.price`.
#[must_use]
pub fn names_column_of(table: &TableSchema, name: &str) -> bool {
    table.columns().iter().any(|column| names_column(table, column, name))
}

impl Candidates {
    fn of(table: &TableSchema, column: &ColumnSchema, given: &[(&str, Type)]) -> Result<Self> {
        let is = |(wanted, _): &&(&str, Type)| names_column(table, column, wanted);
        let given = given.iter().rev().find(is).map(|(_, ty)| *ty);
        let types = match given {
            Some(Type::Currency) => {
                let message = "no other program stores amounts as Bobak does: `f64` reads such numbers, and a copy \
                               converts them";
                let error =
                    Error::new(ErrorKind::Unsupported, message).in_column(column.name.clone());
                return Err(error.in_table(table.name().to_owned()));
            }
            Some(ty) => vec![ty],
            None if column.ty != Type::Any => return Ok(Self::wider(column)),
            None if column.declared.is_some() => preferred(table, column),
            None => Vec::new(),
        };
        let typed = types.into_iter().map(|ty| with_type(column, ty));
        let types = typed.filter(|typed| fits_default(typed, column)).collect();
        Ok(Self { types, is_given: given.is_some(), is_typed: false, has_values: false })
    }

    /// Those of a column that has a type: its own, and those that hold other values, too.
    fn wider(column: &ColumnSchema) -> Self {
        let declared = bobak_sql::declared_type(Dialect::Sqlite, column);
        let wider = |ty| ColumnSchema {
            max_chars: None,
            declared: Some(declared.clone().into()),
            ..with_type(column, ty)
        };
        let integer = (column.storage == Storage::Int).then(|| wider(Type::I64));
        let types = [column.clone()].into_iter().chain(integer).chain([wider(Type::Any)]);
        Self { types: types.collect(), is_given: false, is_typed: true, has_values: false }
    }

    fn observe(&mut self, value: ValueRef<'_>) -> Result<()> {
        if self.types.is_empty() || value.is_null() {
            return Ok(());
        }
        self.has_values = true;
        if let (true, [given]) = (self.is_given, &self.types[..])
            && !fits(given, value)
        {
            let message = format!("{} is not stored as {}", show(value), given.ty.name());
            return Err(Error::new(ErrorKind::Mismatch, message).in_column(given.name.clone()));
        }
        self.types.retain(|typed| fits(typed, value));
        Ok(())
    }

    fn decide(self, column: ColumnSchema) -> ColumnSchema {
        let is_decided = self.has_values || self.is_given;
        self.types.into_iter().next().filter(|_| is_decided).unwrap_or(column)
    }
}

/// The types that a column of this declared type may have.
fn preferred(table: &TableSchema, column: &ColumnSchema) -> Vec<Type> {
    use Type::{Bytes, Date, DateTime, F64, I64, Text, Timestamp};
    let first = match named_type(table, column) {
        Some(Date | DateTime) => vec![Date, DateTime, Timestamp],
        named => named.into_iter().collect(),
    };
    [&first[..], &[I64, F64, Text, Bytes]].concat()
}

/// Whether a declared name in capital letters is that of an exact number.
fn is_number(declared: &str) -> bool {
    ["DEC", "NUMERIC", "MONEY"].iter().any(|part| declared.contains(part))
}

/// The type that the declared name says.
fn named_type(table: &TableSchema, column: &ColumnSchema) -> Option<Type> {
    let declared = column.declared.as_deref().unwrap_or_default().to_ascii_uppercase();
    let says = |part: &str| declared.contains(part);
    let names_column =
        |columns: &[usize]| columns.iter().any(|&place| table.columns().get(place) == Some(column));
    let is_key = names_column(table.key())
        || table.all_foreign_keys().iter().any(|key| names_column(&key.columns));
    let whole = declared.ends_with(",0)") || (says("(") && !says(","));
    match () {
        () if says("BOOL") => Some(Type::Bool),
        () if says("DATETIME") || says("TIMESTAMP") => Some(Type::DateTime),
        () if says("DATE") => Some(Type::Date),
        () if says("TIME") => Some(Type::Time),
        () if says("JSON") => Some(Type::Json),
        () if says("UUID") => Some(Type::Uuid),
        () if is_key => None,
        // All numbers may be whole by chance.
        () if is_number(&declared) && !whole => Some(Type::F64),
        () => None,
    }
}

/// The column with a type, in the form that other programs give its values.
fn with_type(column: &ColumnSchema, ty: Type) -> ColumnSchema {
    let plain = ColumnSchema::new(column.name.clone(), ty).as_text();
    let mut typed = ColumnSchema { ty, storage: plain.storage, ..column.clone() };
    if let (Storage::Float, Some(Value::Int(integer))) = (typed.storage, &typed.default)
        && fits(&typed, ValueRef::Int(*integer))
    {
        typed.default = Some(Value::Float(*integer as f64));
    }
    typed
}

fn fits_default(typed: &ColumnSchema, column: &ColumnSchema) -> bool {
    column.default.as_ref().is_none_or(|value| fits(typed, value.as_ref()))
}

/// Whether the value is stored as Bobak stores one of the column's type. Whole numbers are floats, too.
fn fits(column: &ColumnSchema, value: ValueRef<'_>) -> bool {
    const EXACT: i64 = 1 << 53;
    match (column.storage, value) {
        // The length is a rule of the column, and not of its type.
        (Storage::Text, ValueRef::Text(_)) if column.ty == Type::Text => true,
        (Storage::Text, ValueRef::Text(text)) if column.ty.has_text_form() => {
            column.accept(Value::from(text)).is_ok_and(|stored| stored == Value::from(text))
        }
        (Storage::Float, ValueRef::Int(integer)) => (-EXACT..=EXACT).contains(&integer),
        (Storage::Int, ValueRef::Int(integer)) if column.ty == Type::Bool => {
            (0..=1).contains(&integer)
        }
        _ => column.check_stored(value).is_ok(),
    }
}

fn show(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => "NULL".to_owned(),
        ValueRef::Int(integer) => integer.to_string(),
        ValueRef::Float(float) => format!("{float:?}"),
        ValueRef::Text(text) => format!("'{}'", text.chars().take(40).collect::<String>()),
        ValueRef::Bytes(_) => "a value of bytes".to_owned(),
    }
}
