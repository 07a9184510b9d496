//! Which column of the source becomes which of the target, and its values with it.

use bobak_core::{ColumnSchema, Error, ErrorKind, Result, Row, TableSchema, Type, Value};

/// The way of a row from the source's columns to the target's.
#[derive(Debug)]
pub(crate) struct Columns {
    /// For each column of the target.
    ways: Vec<Way>,
}

#[derive(Debug)]
enum Way {
    /// The source's column at this place, as it is.
    As(usize),
    /// The same, into a column that keeps it in another form or has other rules.
    Into(usize, Box<ColumnSchema>),
    /// The target's own column.
    Own(Value<'static>),
}

impl Columns {
    /// # Errors
    /// `Schema`, naming a column that one of the two lacks or that is of another type in the target; or the key.
    pub(crate) fn new(source: &TableSchema, target: &TableSchema) -> Result<Self> {
        for column in source.columns() {
            target.column(&column.name).map_err(|_| {
                differs(format!("the target's table has no column '{}'", column.name))
            })?;
        }
        let ways = target.columns().iter().map(|column| way(source, column));
        let ways = ways.collect::<Result<_>>()?;
        let names = |table: &TableSchema| {
            let name = |&place: &usize| table.columns().get(place).map(|c| c.name.to_lowercase());
            table.key().iter().filter_map(name).collect::<Vec<_>>()
        };
        let (key, other) = (names(source), names(target));
        if key != other {
            let (key, other) = (key.join(", "), other.join(", "));
            return Err(differs(format!("the key is {key} in the source, {other} in the target")));
        }
        Ok(Self { ways })
    }

    /// The target's values of a row of the source.
    ///
    /// # Errors
    /// As [`ColumnSchema::accept`].
    pub(crate) fn values<'r>(&self, row: &'r dyn Row, out: &mut Vec<Value<'r>>) -> Result<()> {
        out.clear();
        for way in &self.ways {
            out.push(match way {
                Way::As(place) => row.get(*place).into(),
                Way::Into(place, column) => column.accept(row.get(*place).into())?,
                Way::Own(value) => value.clone(),
            });
        }
        Ok(())
    }

    /// The target's values of a key of the source, in key order.
    ///
    /// # Errors
    /// As [`ColumnSchema::accept`].
    pub(crate) fn key(
        &self,
        source: &TableSchema,
        target: &TableSchema,
        row: &dyn Row,
    ) -> Result<Vec<Value<'static>>> {
        let value = |&place: &usize| {
            let name = target.columns().get(place).map_or("", |column| &column.name);
            let found = row.get(source.column(name)?);
            match self.ways.get(place) {
                Some(Way::Into(_, column)) => column.accept(found.into()),
                _ => Ok(found.to_owned()),
            }
        };
        target.key().iter().map(value).collect()
    }

    /// Whether the target's column at this place comes from the source.
    pub(crate) fn is_copied(&self, place: usize) -> bool {
        self.ways.get(place).is_some_and(|way| !matches!(way, Way::Own(_)))
    }
}

fn way(source: &TableSchema, column: &ColumnSchema) -> Result<Way> {
    let Ok(place) = source.column(&column.name) else {
        return match &column.default {
            Some(value) => column.accept(value.clone()).map(Way::Own),
            None if column.nullable => Ok(Way::Own(Value::Null)),
            None => {
                let message = "the source has no such column, and it may not be NULL";
                Err(differs(message).in_column(column.name.clone()))
            }
        };
    };
    let Some(from) = source.columns().get(place) else {
        return Err(differs(format!("there is no column number {place}")));
    };
    if !same_kind(from.ty, column.ty) {
        let message =
            format!("it is {} in the source, {} in the target", from.ty.name(), column.ty.name());
        return Err(differs(message).in_column(column.name.clone()));
    }
    let as_it_is = (from.ty, from.storage, from.max_chars, from.nullable)
        == (column.ty, column.storage, column.max_chars, column.nullable);
    Ok(if as_it_is { Way::As(place) } else { Way::Into(place, Box::new(column.clone())) })
}

/// Whether values of one type mean the same as values of the other: numbers of any width do.
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
