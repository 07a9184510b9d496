//! Rows of SQL text, read as any type.

use crate::Parameters;
use bobak_core::{Error, ErrorKind, FromRow, Result, Row, Value, ValueRef};
use std::sync::Arc;

/// What runs SQL: a database, or a transaction.
pub(crate) trait RunText {
    /// Hands out the rows of a statement until `row` says `false`.
    ///
    /// # Errors
    /// Those of the statement, and of `row`.
    fn query_text(
        &self,
        text: &str,
        parameters: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()>;
}

/// All rows of a statement.
pub(crate) fn list<R: FromRow>(
    runner: &dyn RunText,
    text: &str,
    parameters: impl Parameters,
) -> Result<Vec<R>> {
    let mut rows = Vec::new();
    for_each(runner, text, parameters, |row| {
        rows.push(row);
        Ok(true)
    })?;
    Ok(rows)
}

/// Hands out a statement's rows until `each` says `false`.
pub(crate) fn for_each<R: FromRow>(
    runner: &dyn RunText,
    text: &str,
    parameters: impl Parameters,
    mut each: impl FnMut(R) -> Result<bool>,
) -> Result<()> {
    let parameters = parameters.into_values()?;
    let mut layout: Option<Layout> = None;
    let mut number = 0;
    runner.query_text(text, &parameters, &mut |row| {
        let layout = match &mut layout {
            Some(layout) => layout,
            none => none.insert(Layout::of::<R>(row)?),
        };
        let read = match &layout.places {
            Some(places) => R::from_named_row(&Rearranged { row, places }, &layout.names),
            None => R::from_named_row(row, &layout.names),
        };
        number += 1;
        each(read.map_err(|error| error.at_row(number - 1))?)
    })
}

/// The columns' names, and where those that the type wants are.
struct Layout {
    names: Arc<Vec<String>>,
    places: Option<Vec<usize>>,
}

impl Layout {
    fn of<R: FromRow>(row: &dyn Row) -> Result<Self> {
        let name = |place: usize| row.name(place).unwrap_or_default().to_owned();
        let names: Vec<String> = (0..row.len()).map(name).collect();
        let find = |wanted: &&str| {
            names.iter().position(|name| name.eq_ignore_ascii_case(wanted)).ok_or_else(|| {
                let message =
                    format!("the rows have no column '{wanted}', but {}", names.join(", "));
                Error::new(ErrorKind::Schema, message)
            })
        };
        let places = R::columns()
            .map(|wanted| wanted.iter().map(find).collect::<Result<Vec<_>>>())
            .transpose()?;
        Ok(Self { names: Arc::new(names), places })
    }
}

/// A row with its columns in the order that a type wants.
struct Rearranged<'a> {
    row: &'a dyn Row,
    places: &'a [usize],
}

impl Row for Rearranged<'_> {
    fn len(&self) -> usize {
        self.places.len()
    }

    fn get(&self, column: usize) -> ValueRef<'_> {
        self.places.get(column).map_or(ValueRef::Null, |&place| self.row.get(place))
    }
}
