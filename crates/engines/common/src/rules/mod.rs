//! What each row of a table must satisfy by itself: storage classes, NOT NULL and CHECK; and what its generated columns
//! hold.

mod check;
mod eval;

use bobak_core::check::CheckExpression;
use bobak_core::codec::EncodedRow;
use bobak_core::{
    ColumnSchema, Error, ErrorKind, Result, Row, Storage, TableSchema, Value, ValueRef,
    check_generated_columns,
};
use check::Check;

/// The rules of one table, parsed once.
///
/// They are those that one row decides alone. Unique values and foreign keys concern other rows.
#[derive(Debug)]
pub struct RowRules {
    /// For each column the tags of the row codec that it may have, as bits.
    allowed: Vec<u8>,
    checks: Vec<Check>,
    /// The positions of the generated columns, and their expressions.
    generated: Vec<(usize, CheckExpression)>,
}

/// The number of tags of the row codec.
const TAGS: u8 = 5;

impl RowRules {
    /// Parses the rules of a table.
    ///
    /// # Errors
    /// `Unsupported` for a CHECK that is not in the portable subset, `Schema` if one names an unknown
    /// column.
    pub fn new(schema: &TableSchema) -> Result<Self> {
        let checks = schema
            .columns()
            .iter()
            .filter_map(|column| column.check.as_deref().map(|text| (column, text)))
            .map(|(column, text)| {
                Check::parse(text, schema).map_err(|error| error.in_column(column.name.clone()))
            })
            .collect::<Result<_>>()?;
        check_generated_columns(schema)?;
        let generated = schema.columns().iter().enumerate().filter_map(|(place, column)| {
            let text = column.generated.as_deref()?;
            Some(CheckExpression::parse_value(text, schema).map(|parsed| (place, parsed)))
        });
        let generated = generated.collect::<Result<_>>()?;
        Ok(Self { allowed: schema.columns().iter().map(allowed_tags).collect(), checks, generated })
    }

    /// The values of the generated columns of a row, with their positions.
    ///
    /// # Errors
    /// `OutOfRange` for a number that its column can't hold.
    pub fn generate<'r>(
        &'r self,
        schema: &TableSchema,
        row: EncodedRow<'r>,
    ) -> Result<Vec<(usize, Value<'r>)>> {
        let value = |(place, expression): &'r (usize, CheckExpression)| {
            let value = eval::evaluate(expression.root(), schema, row);
            Ok((*place, stored(schema, *place, value)?))
        };
        self.generated.iter().map(value).collect()
    }

    /// Checks a row of the table.
    ///
    /// # Errors
    /// `Constraint`, `Mismatch`, with table and column.
    #[inline]
    pub fn check(&self, schema: &TableSchema, row: EncodedRow<'_>) -> Result<()> {
        let allowed = &self.allowed;
        let tags = row.as_bytes().get(2..2 + allowed.len());
        let fits = |tags: &[u8]| {
            let mut pairs = tags.iter().zip(allowed);
            pairs.all(|(tag, allowed)| *tag < TAGS && allowed & (1 << tag) != 0)
        };
        if row.len() != allowed.len() || !tags.is_some_and(fits) {
            return Err(misfit(schema, row));
        }
        match self.checks.iter().find(|check| !check.holds(schema, row)) {
            None => Ok(()),
            Some(check) => Err(Error::check_violation(schema, check.expression())),
        }
    }
}

/// A computed number as its column stores it, as SQLite's column affinity converts it.
fn stored<'v>(schema: &TableSchema, place: usize, value: Value<'v>) -> Result<Value<'v>> {
    /// The least float beyond all integers.
    const BEYOND: f64 = 9_223_372_036_854_775_808.0;
    let Some(column) = schema.columns().get(place) else { return Ok(value) };
    Ok(match (column.storage, value) {
        (Storage::Float, Value::Int(integer)) => Value::Float(integer as f64),
        (Storage::Int, Value::Float(float)) => {
            if float.fract() != 0.0 || !(-BEYOND..BEYOND).contains(&float) {
                let message = format!("the computed value {float} does not fit");
                let error = Error::new(ErrorKind::OutOfRange, message);
                return Err(error.in_table(schema.name()).in_column(column.name.clone()));
            }
            Value::Int(float as i64)
        }
        (_, value) => value,
    })
}

/// The error for a row with wrong columns.
#[cold]
fn misfit(schema: &TableSchema, row: EncodedRow<'_>) -> Error {
    let columns = schema.columns();
    let (found, wanted) = (row.len(), columns.len());
    if found != wanted {
        let error = Error::wrong_number(ErrorKind::Mismatch, found, wanted, "column");
        return error.in_table(schema.name());
    }
    let wrong = columns.iter().enumerate().find_map(|(position, column)| {
        let value = row.value(position);
        let error = match value {
            ValueRef::Null if column.nullable => return None,
            ValueRef::Null => Error::new(ErrorKind::Constraint, "a required value is NULL"),
            _ if allowed_tags(column) & (1 << tag(value)) != 0 => return None,
            _ => Error::mismatch(column.storage.name(), value),
        };
        Some(error.in_column(column.name.clone()))
    });
    wrong
        .unwrap_or_else(|| Error::new(ErrorKind::Mismatch, "the row's bytes are damaged"))
        .in_table(schema.name())
}

fn allowed_tags(column: &ColumnSchema) -> u8 {
    let null = u8::from(column.nullable);
    null | match column.storage {
        Storage::Int => 1 << 1,
        Storage::Float => 1 << 2,
        Storage::Text => 1 << 3,
        Storage::Bytes => 1 << 4,
        Storage::Any => 0b1_1110,
    }
}

/// The row codec's tag for a value.
const fn tag(value: ValueRef<'_>) -> u8 {
    match value {
        ValueRef::Null => 0,
        ValueRef::Int(_) => 1,
        ValueRef::Float(_) => 2,
        ValueRef::Text(_) => 3,
        ValueRef::Bytes(_) => 4,
    }
}
