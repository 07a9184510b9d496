//! Parses JSON objects as rows.

use crate::database::table::{CachedTable, OmittedValue};
use crate::json::cell::CellSeed;
use crate::json::error::invalid_json;
use bobak_core::{Error, ErrorKind, FieldSet, Result, Value, Verb};
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, Visitor};
use std::fmt;

/// A row parsed from an object: the values of all columns in schema order, NULL for those that the
/// object omits.
#[derive(Debug)]
pub(crate) struct ParsedRow<'a> {
    pub values: Vec<Value<'a>>,
    /// The columns that the object contains.
    pub given: FieldSet,
}

/// Parses an object of a table's columns.
///
/// # Errors
/// `Syntax` for invalid JSON, `Schema` for an unknown column, `Mismatch`, `OutOfRange` or `TooLong`
/// for a value that does not fit its column.
pub(crate) fn parse_row<'a>(table: &CachedTable, json: &'a [u8]) -> Result<ParsedRow<'a>> {
    let mut failure = None;
    let mut source = serde_json::Deserializer::from_slice(json);
    let read = RowSeed { table, failure: &mut failure }.deserialize(&mut source);
    match read.and_then(|cells| source.end().map(|()| cells)) {
        Ok(cells) => Ok(cells),
        Err(error) => Err(table.name_error(failure.unwrap_or_else(|| invalid_json(&error)))),
    }
}

impl<'a> ParsedRow<'a> {
    /// Completes a new row: fills in the values of omitted columns.
    ///
    /// # Errors
    /// `Constraint` for a required column, or a NULL in a column that is NOT NULL.
    pub fn complete(&mut self, table: &CachedTable) -> Result<()> {
        for (position, (value, omitted)) in self.values.iter_mut().zip(&table.omitted).enumerate() {
            if !value.is_null() {
                continue;
            }
            if self.given.contains(position) && !table.is_generated(position) {
                let column = table.schema.columns().get(position);
                if column.is_some_and(|column| column.nullable) {
                    continue;
                }
                return Err(table.missing_value(position));
            }
            match omitted {
                OmittedValue::Value(omitted) => *value = omitted.clone(),
                OmittedValue::Required => return Err(table.missing_value(position)),
            }
        }
        Ok(())
    }

    /// Rejects NULL in given columns that are NOT NULL.
    ///
    /// # Errors
    /// `Constraint`.
    pub fn check_nulls(&self, table: &CachedTable) -> Result<()> {
        let is_invalid = |position: &usize| {
            let column = table.schema.columns().get(*position);
            self.values.get(*position).is_some_and(Value::is_null)
                && column.is_some_and(|column| !column.nullable)
        };
        match self.given.iter().find(is_invalid) {
            Some(position) => Err(table.missing_value(position)),
            None => Ok(()),
        }
    }

    /// Prepares the row for a verb: completes it, or for an update checks its NULLs.
    ///
    /// # Errors
    /// `Constraint`.
    pub fn prepare(&mut self, table: &CachedTable, verb: Verb) -> Result<()> {
        if verb == Verb::Update { self.check_nulls(table) } else { self.complete(table) }
    }

    /// The values of the key's columns.
    pub fn key(&self, table: &CachedTable) -> Vec<Value<'a>> {
        let value = |&position: &usize| self.values.get(position).cloned().unwrap_or_default();
        table.schema.key().iter().map(value).collect()
    }
}

struct RowSeed<'c> {
    table: &'c CachedTable,
    /// The error, which serde's error type can't carry.
    failure: &'c mut Option<Error>,
}

impl<'de> DeserializeSeed<'de> for RowSeed<'_> {
    type Value = ParsedRow<'de>;

    fn deserialize<D: Deserializer<'de>>(
        self,
        source: D,
    ) -> std::result::Result<ParsedRow<'de>, D::Error> {
        source.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for RowSeed<'_> {
    type Value = ParsedRow<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with columns as members")
    }

    fn visit_map<A: MapAccess<'de>>(
        self,
        mut members: A,
    ) -> std::result::Result<ParsedRow<'de>, A::Error> {
        let columns = self.table.schema.columns();
        let mut cells =
            ParsedRow { values: vec![Value::Null; columns.len()], given: FieldSet::EMPTY };
        let mut next = 0;
        while let Some(position) = members.next_key_seed(ColumnSeed {
            table: self.table,
            next,
            failure: &mut *self.failure,
        })? {
            next = position + 1;
            if cells.given.contains(position) {
                let error = Error::new(ErrorKind::Syntax, "the column occurs twice");
                let name = columns.get(position).map_or("", |column| &column.name);
                *self.failure = Some(error.in_column(name));
                return Err(A::Error::custom(""));
            }
            let Some(column) = columns.get(position) else { continue };
            let seed = CellSeed { column, failure: &mut *self.failure };
            let value = members.next_value_seed(seed)?;
            if let Some(slot) = cells.values.get_mut(position) {
                *slot = value;
            }
            cells.given.insert(position);
        }
        Ok(cells)
    }
}

/// Finds the position of the column that a member names. It is most often the next one.
struct ColumnSeed<'c> {
    table: &'c CachedTable,
    next: usize,
    /// The error, which serde's error type can't carry.
    failure: &'c mut Option<Error>,
}

impl<'de> DeserializeSeed<'de> for ColumnSeed<'_> {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> std::result::Result<usize, D::Error> {
        source.deserialize_str(self)
    }
}

impl Visitor<'_> for ColumnSeed<'_> {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a column name")
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> std::result::Result<usize, E> {
        let columns = self.table.schema.columns();
        if columns.get(self.next).is_some_and(|column| column.name == name) {
            return Ok(self.next);
        }
        self.table.schema.column(name).map_err(|error| {
            *self.failure = Some(error);
            E::custom("")
        })
    }
}
