//! Values for statements, with the columns that they are of.

use crate::{in_column, kept_type};
use bobak_core::{Collation, Error, Parameter, Result, TableSchema, Type, Value, ValueRef};

/// A value for a statement.
#[derive(Clone, Debug, PartialEq)]
pub struct StatementValue<'v> {
    /// The place of its column in the statement's table; `None` of a program's parameter.
    pub place: Option<usize>,
    /// The type that it is of for Bobak.
    pub ty: Type,
    /// The value.
    pub value: Value<'v>,
}

impl<'v> StatementValue<'v> {
    /// A value of a column.
    pub fn new(table: &TableSchema, place: usize, value: impl Into<Value<'v>>) -> Self {
        Self { place: Some(place), ty: kept_type(table, place), value: value.into() }
    }

    /// A value of a column: a text in small letters, if the column ignores case.
    #[must_use]
    pub fn folded(table: &TableSchema, place: usize, value: ValueRef<'v>) -> Self {
        let column = table.columns().get(place);
        let collation = column.map(|column| column.collation).unwrap_or_default();
        match value {
            ValueRef::Text(text) if collation != Collation::Binary => {
                Self::new(table, place, collation.fold(text).into_owned())
            }
            _ => Self::new(table, place, value),
        }
    }

    /// A value that is of no column.
    pub fn of_type(ty: Type, value: impl Into<Value<'v>>) -> Self {
        Self { place: None, ty, value: value.into() }
    }

    /// The parameters of a program's SQL text.
    #[must_use]
    pub fn parameters(parameters: &'v [Parameter<'_>]) -> Vec<Self> {
        let value = |given: &'v Parameter<'_>| Self::of_type(given.ty, given.value.as_ref());
        parameters.iter().map(value).collect()
    }

    /// Values in the form that is sent.
    ///
    /// # Errors
    /// Those of `send`, with the column of the value.
    pub fn all_sent<'s, S>(
        values: &'s [Self],
        table: Option<&TableSchema>,
        mut send: impl FnMut(&'s Self) -> Result<S>,
    ) -> Result<Vec<S>> {
        let sent = values
            .iter()
            .map(|value| send(value).map_err(|error| Self::locate(error, table, value.place)));
        sent.collect()
    }

    /// An error about a value of the column at this place.
    #[must_use]
    pub fn locate(error: Error, table: Option<&TableSchema>, place: Option<usize>) -> Error {
        match (table, place) {
            (Some(table), Some(_)) => in_column(error, table, place),
            _ => error,
        }
    }
}

/// The columns that an insert writes; the server may make the key.
pub fn written_columns(table: &TableSchema, made: bool) -> impl Iterator<Item = usize> + '_ {
    table.written_columns().filter(move |place| !(made && table.key().contains(place)))
}

/// The types of the values that columns keep.
#[must_use]
pub fn kept_types(table: &TableSchema, places: &[usize]) -> Vec<Type> {
    places.iter().map(|place| kept_type(table, *place)).collect()
}
