//! Maps the source's columns to the target's, and converts values.

use super::values::{accept_exactly, cast};
use bobak_core::{ColumnSchema, Error, ErrorKind, Result, Row, TableSchema, Type, Value};

/// Converts rows of the source to rows of the target.
#[derive(Debug)]
pub(crate) struct Columns {
    /// For each column of the target, the origin of its values.
    origins: Vec<ColumnOrigin>,
}

#[derive(Debug)]
enum ColumnOrigin {
    /// The source's column at this position, unchanged.
    As(usize),
    /// The same, converted because the target stores another form or has other rules.
    Into(usize, Box<ColumnSchema>),
    /// A value of any class, into a column of a type.
    Cast(usize, Box<ColumnSchema>),
    /// A fixed value of the target.
    Own(Value<'static>),
}

impl Columns {
    /// # Errors
    /// `Schema`, naming a column that one side lacks or that has another type in the target; or the key.
    pub(crate) fn new(source: &TableSchema, target: &TableSchema) -> Result<Self> {
        Self::with_casts(source, target, false)
    }

    /// As [`new`](Self::new); with `casts`, types may differ if all values are of the target's type.
    ///
    /// # Errors
    /// As there.
    pub(super) fn with_casts(
        source: &TableSchema,
        target: &TableSchema,
        casts: bool,
    ) -> Result<Self> {
        for column in source.columns() {
            target.column(&column.name).map_err(|_| {
                differs(format!("the target's table has no column '{}'", column.name))
            })?;
        }
        let origins = target.columns().iter().map(|column| way(source, column, casts));
        let origins = origins.collect::<Result<_>>()?;
        let names = |table: &TableSchema| {
            let name =
                |&position: &usize| table.columns().get(position).map(|c| c.name.to_lowercase());
            table.key().iter().filter_map(name).collect::<Vec<_>>()
        };
        let (key, other) = (names(source), names(target));
        if key != other {
            let (key, other) = (key.join(", "), other.join(", "));
            return Err(differs(format!("the key is {key} in the source, {other} in the target")));
        }
        Ok(Self { origins })
    }

    /// The target's values for a row of the source.
    ///
    /// # Errors
    /// As [`ColumnSchema::accept`].
    pub(crate) fn values<'r>(&self, row: &'r dyn Row, out: &mut Vec<Value<'r>>) -> Result<()> {
        out.clear();
        for way in &self.origins {
            out.push(match way {
                ColumnOrigin::As(position) => row.get(*position).into(),
                ColumnOrigin::Into(position, column) => accept_exactly(column, row.get(*position))?,
                ColumnOrigin::Cast(position, column) => cast(column, row.get(*position))?,
                ColumnOrigin::Own(value) => value.clone(),
            });
        }
        Ok(())
    }

    /// The target's values for a key of the source, in key order.
    ///
    /// # Errors
    /// As [`ColumnSchema::accept`].
    pub(crate) fn key(
        &self,
        source: &TableSchema,
        target: &TableSchema,
        row: &dyn Row,
    ) -> Result<Vec<Value<'static>>> {
        let value = |&position: &usize| {
            let name = target.columns().get(position).map_or("", |column| &column.name);
            let found = row.get(source.column(name)?);
            match self.origins.get(position) {
                Some(ColumnOrigin::Into(_, column)) => accept_exactly(column, found),
                Some(ColumnOrigin::Cast(_, column)) => cast(column, found).map(Value::into_owned),
                _ => Ok(found.to_owned()),
            }
        };
        target.key().iter().map(value).collect()
    }

    /// Whether a column of the key has another type in the target.
    pub(super) fn casts_key(&self, target: &TableSchema) -> bool {
        target
            .key()
            .iter()
            .any(|&position| matches!(self.origins.get(position), Some(ColumnOrigin::Cast(..))))
    }

    /// Whether the target's column at this position is copied from the source.
    pub(crate) fn is_copied(&self, position: usize) -> bool {
        self.origins.get(position).is_some_and(|origin| !matches!(origin, ColumnOrigin::Own(_)))
    }
}

fn way(source: &TableSchema, column: &ColumnSchema, casts: bool) -> Result<ColumnOrigin> {
    let Ok(position) = source.column(&column.name) else {
        return match &column.default {
            Some(value) => column.accept(value.clone()).map(ColumnOrigin::Own),
            None if column.nullable => Ok(ColumnOrigin::Own(Value::Null)),
            None => {
                let message = "the source has no such column, and it may not be NULL";
                Err(differs(message).in_column(column.name.clone()))
            }
        };
    };
    let Some(from) = source.columns().get(position) else {
        return Err(differs(format!("there is no column number {position}")));
    };
    // A column of bytes, or of UUIDs, may have had texts.
    let is_other = from.ty != column.ty || matches!(column.ty, Type::Bytes | Type::Uuid);
    if is_other && (from.ty == Type::Any || casts) {
        return Ok(ColumnOrigin::Cast(position, Box::new(column.clone())));
    }
    if !same_kind(from.ty, column.ty) {
        let message = format!("it is {} in the source, {} in the target", from.ty, column.ty);
        return Err(differs(message).in_column(column.name.clone()));
    }
    let as_it_is = (from.ty, from.storage, from.max_chars, from.nullable)
        == (column.ty, column.storage, column.max_chars, column.nullable);
    Ok(if as_it_is {
        ColumnOrigin::As(position)
    } else {
        ColumnOrigin::Into(position, Box::new(column.clone()))
    })
}

/// Whether values of both types have the same meaning: numbers of any width have.
fn same_kind(a: Type, b: Type) -> bool {
    use Type::{Bool, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
    let class = |ty| match ty {
        Bool | I8 | I16 | I32 | I64 | U8 | U16 | U32 | U64 => 1,
        F32 | F64 => 2,
        _ => 0,
    };
    a == b || (class(a) != 0 && class(a) == class(b))
}

fn differs(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Schema, message)
}
