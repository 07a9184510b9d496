//! Reading the rows of SQL statements as typed values.

use crate::parameters::Parameters;
use bobak_core::statements::CallSite;
use bobak_core::{
    Error, ErrorKind, FromRow, Parameter, Result, ResultColumn, Row, Type, ValueRef, check_width,
};
use std::sync::Arc;

/// Runs SQL: a database, or a transaction.
pub(crate) trait RunText {
    /// Calls `row` with the rows of a statement until it returns `false`. If there are none, it sets `columns`, as far as
    /// they are known.
    ///
    /// # Errors
    /// Those of the statement, and of `row`.
    fn query_text(
        &self,
        text: &str,
        parameters: &[Parameter<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
        columns: Option<&mut Vec<ResultColumn>>,
    ) -> Result<()>;
}

/// All rows of a statement.
#[track_caller]
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

/// Calls `each` with the rows of a statement until it returns `false`.
#[track_caller]
pub(crate) fn for_each<R: FromRow>(
    runner: &dyn RunText,
    text: &str,
    parameters: impl Parameters,
    mut each: impl FnMut(R) -> Result<bool>,
) -> Result<()> {
    let _at = CallSite::enter();
    let (text, parameters) = parameters.into_arguments()?.bind(text)?;
    let mut layout: Option<RowLayout> = None;
    let mut number = 0;
    let mut row = |row: &dyn Row| {
        let layout = match &mut layout {
            Some(layout) => layout,
            none => none.insert(RowLayout::of::<R>(row)?),
        };
        let read = match &layout.positions {
            Some(positions) => {
                R::from_result_row(&ReorderedRow { row, positions }, &layout.columns)
            }
            None => R::from_result_row(row, &layout.columns),
        };
        number += 1;
        each(read.map_err(|error| error.at_row(number - 1))?)
    };
    runner.query_text(&text, &parameters, &mut row, None)
}

/// The columns, and the positions of those that the type reads.
struct RowLayout {
    columns: Arc<Vec<ResultColumn>>,
    positions: Option<Vec<usize>>,
}

impl RowLayout {
    fn of<R: FromRow>(row: &dyn Row) -> Result<Self> {
        check_width::<R>(row.len())?;
        let columns = ResultColumn::of_row(row);
        let find = |wanted: &&str| {
            let is_wanted = |column: &ResultColumn| column.name.eq_ignore_ascii_case(wanted);
            columns.iter().position(is_wanted).ok_or_else(|| {
                let names: Vec<&str> = columns.iter().map(|column| &*column.name).collect();
                let message =
                    format!("the rows have no column '{wanted}'; there are: {}", names.join(", "));
                Error::new(ErrorKind::Schema, message)
            })
        };
        let positions = R::columns()
            .map(|wanted| wanted.iter().map(find).collect::<Result<Vec<_>>>())
            .transpose()?;
        Ok(Self { columns: Arc::new(columns), positions })
    }
}

/// A row with its columns in the order that a type reads them.
struct ReorderedRow<'a> {
    row: &'a dyn Row,
    positions: &'a [usize],
}

impl Row for ReorderedRow<'_> {
    fn len(&self) -> usize {
        self.positions.len()
    }

    fn get(&self, column: usize) -> ValueRef<'_> {
        self.positions.get(column).map_or(ValueRef::Null, |&position| self.row.get(position))
    }

    fn ty(&self, column: usize) -> Type {
        self.positions.get(column).map_or(Type::Any, |&position| self.row.ty(position))
    }
}
