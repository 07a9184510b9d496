//! From a JSON object to the values of a row.

use super::cell::CellSeed;
use crate::model::{Absent, Table, missing};
use bobak_core::{Error, ErrorKind, FieldSet, Result, Value, Verb};
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, Visitor};
use std::fmt;

/// What an object says of a row: a value for each column in schema order, NULL for those that it
/// does not name.
#[derive(Debug)]
pub(crate) struct Cells<'a> {
    pub values: Vec<Value<'a>>,
    pub given: FieldSet,
}

/// Reads one object of a table's columns.
///
/// # Errors
/// `Syntax` for what is no JSON, `Schema` for a column that the table has not, `Mismatch`,
/// `OutOfRange`, `TooLong` for a value that its column does not take.
pub(crate) fn read_row<'a>(table: &Table, json: &'a [u8]) -> Result<Cells<'a>> {
    let mut wrong = None;
    let mut source = serde_json::Deserializer::from_slice(json);
    let read = RowSeed { table, wrong: &mut wrong }.deserialize(&mut source);
    match read.and_then(|cells| source.end().map(|()| cells)) {
        Ok(cells) => Ok(cells),
        Err(error) => Err(table.name_error(wrong.unwrap_or_else(|| no_json(&error)))),
    }
}

/// The error for what is no JSON.
#[cold]
pub(crate) fn no_json(error: &serde_json::Error) -> Error {
    Error::new(ErrorKind::Syntax, format!("not the JSON that is wanted: {error}"))
}

impl<'a> Cells<'a> {
    /// Completes a new row: columns that were not named get what they hold then.
    ///
    /// # Errors
    /// `Constraint` for one that must be named, or is NULL and may not be.
    pub fn complete(&mut self, table: &Table) -> Result<()> {
        for (place, (value, absent)) in self.values.iter_mut().zip(&table.absent).enumerate() {
            if !value.is_null() {
                continue;
            }
            if self.given.contains(place) && !table.is_filled(place) {
                let column = table.schema.columns().get(place);
                if column.is_some_and(|column| column.nullable) {
                    continue;
                }
                return Err(missing(table, place));
            }
            match absent {
                Absent::Value(absent) => *value = absent.clone(),
                Absent::Refused => return Err(missing(table, place)),
            }
        }
        Ok(())
    }

    /// Refuses NULL where none may be, among the columns that were named.
    ///
    /// # Errors
    /// `Constraint`.
    pub fn check_nulls(&self, table: &Table) -> Result<()> {
        let is_wrong = |place: &usize| {
            let column = table.schema.columns().get(*place);
            self.values.get(*place).is_some_and(Value::is_null)
                && column.is_some_and(|column| !column.nullable)
        };
        match self.given.iter().find(is_wrong) {
            Some(place) => Err(missing(table, place)),
            None => Ok(()),
        }
    }

    /// Makes it ready for a verb: complete for a new row, without wrong NULLs for an update.
    ///
    /// # Errors
    /// `Constraint`.
    pub fn ready(&mut self, table: &Table, verb: Verb) -> Result<()> {
        if verb == Verb::Update { self.check_nulls(table) } else { self.complete(table) }
    }

    /// The key's values.
    pub fn key(&self, table: &Table) -> Vec<Value<'a>> {
        let value = |&place: &usize| self.values.get(place).cloned().unwrap_or_default();
        table.schema.key().iter().map(value).collect()
    }
}

struct RowSeed<'c> {
    table: &'c Table,
    wrong: &'c mut Option<Error>,
}

impl<'de> DeserializeSeed<'de> for RowSeed<'_> {
    type Value = Cells<'de>;

    fn deserialize<D: Deserializer<'de>>(
        self,
        source: D,
    ) -> std::result::Result<Cells<'de>, D::Error> {
        source.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for RowSeed<'_> {
    type Value = Cells<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with a member for each column")
    }

    fn visit_map<A: MapAccess<'de>>(
        self,
        mut members: A,
    ) -> std::result::Result<Cells<'de>, A::Error> {
        let columns = self.table.schema.columns();
        let mut cells = Cells { values: vec![Value::Null; columns.len()], given: FieldSet::EMPTY };
        let mut next = 0;
        while let Some(place) =
            members.next_key_seed(PlaceSeed { table: self.table, next, wrong: &mut *self.wrong })?
        {
            next = place + 1;
            if cells.given.contains(place) {
                let twice = Error::new(ErrorKind::Syntax, "the column comes twice");
                let name = columns.get(place).map_or("", |column| &column.name);
                *self.wrong = Some(twice.in_column(name));
                return Err(A::Error::custom(""));
            }
            let Some(column) = columns.get(place) else { continue };
            let seed = CellSeed { column, wrong: &mut *self.wrong };
            let value = members.next_value_seed(seed)?;
            if let Some(slot) = cells.values.get_mut(place) {
                *slot = value;
            }
            cells.given.insert(place);
        }
        Ok(cells)
    }
}

/// Finds the column that a member names: most often the next one.
struct PlaceSeed<'c> {
    table: &'c Table,
    next: usize,
    wrong: &'c mut Option<Error>,
}

impl<'de> DeserializeSeed<'de> for PlaceSeed<'_> {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> std::result::Result<usize, D::Error> {
        source.deserialize_str(self)
    }
}

impl Visitor<'_> for PlaceSeed<'_> {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a column's name")
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> std::result::Result<usize, E> {
        let columns = self.table.schema.columns();
        if columns.get(self.next).is_some_and(|column| column.name == name) {
            return Ok(self.next);
        }
        self.table.schema.column(name).map_err(|error| {
            *self.wrong = Some(error);
            E::custom("")
        })
    }
}
