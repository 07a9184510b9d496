//! The rows of one level of a shape.

use super::links::LinkValues;
use crate::handle::SessionSource;
use bobak_core::codec::EncodedRow;
use bobak_core::{
    Condition, Error, ErrorKind, Expr, Field, Query, Record, RecordRelation, RelationStep, Result,
    Row, RowBuffer, Select, SelectionPart, TableSchema, ValueRef,
};

/// The columns that a level reads, by their indexes in the record's schema.
#[derive(Debug, Default)]
pub struct ShapeColumns(Vec<usize>);

impl ShapeColumns {
    /// Adds the column of the next field.
    pub fn field(&mut self, column: usize) {
        self.0.push(column);
    }

    /// Adds a column that links rows, unless a field reads it.
    pub(crate) fn link(&mut self, column: usize) {
        if !self.0.contains(&column) {
            self.0.push(column);
        }
    }

    /// Adds the column that a relation starts from.
    pub fn relation<T: Record, R: RecordRelation<From = T>>(&mut self, relation: R) {
        if let Some(step) = relation.to_many().steps().next() {
            self.step(step, T::schema());
        }
    }

    /// Adds the columns that a step starts from.
    pub(super) fn step(&mut self, step: &RelationStep, table: &TableSchema) {
        self.link(step.from_column(table));
        if let Some((column, _)) = step.from_text() {
            self.link(column);
        }
    }

    pub(crate) fn exprs(&self) -> Vec<Expr> {
        self.0.iter().copied().map(Expr::Column).collect()
    }

    pub(super) fn position(&self, column: usize) -> usize {
        self.0.iter().position(|other| *other == column).unwrap_or(usize::MAX)
    }
}

/// The rows of one level, encoded one after the other.
#[derive(Debug, Default)]
pub struct ShapeRows {
    columns: ShapeColumns,
    rows: RowBuffer,
    /// Where each row begins.
    positions: Vec<usize>,
}

impl ShapeRows {
    /// The rows of a query with one of the link's values in its column. The query's limit and offset are returned, since
    /// they apply to the rows of each row above.
    pub(super) fn linked<T>(
        source: &SessionSource<'_>,
        mut columns: ShapeColumns,
        query: &Query<T>,
        link: (&RelationStep, &mut LinkValues),
    ) -> Result<(Self, RelatedLimits)> {
        let (step, values) = link;
        let (table, column) = (step.table(), step.to_column());
        columns.link(column);
        let mut select = query.to_select(table, columns.exprs())?;
        if select.is_grouped() {
            let message = "related records cannot be grouped";
            return Err(Error::new(ErrorKind::Unsupported, message).in_table(table.name()));
        }
        let limits = RelatedLimits::take(&mut select);
        let linked = values.condition(column);
        let others = select.condition.into_iter().chain(step.to_condition());
        select.condition = Some(Condition::And([linked].into_iter().chain(others).collect()));
        Ok((Self::select(source, columns, select)?, limits))
    }

    /// The rows of a query that selects these columns.
    pub(crate) fn select(
        source: &SessionSource<'_>,
        columns: ShapeColumns,
        select: Select,
    ) -> Result<Self> {
        let mut rows = RowBuffer::default();
        let mut positions = Vec::new();
        source.query(select, &mut |row| {
            positions.push(rows.bytes());
            rows.push(row).map(|()| true)
        })?;
        Ok(Self { columns, rows, positions })
    }

    /// The number of rows.
    pub(crate) fn len(&self) -> usize {
        self.positions.len()
    }

    /// Drops the rows after the first ones.
    pub(super) fn truncate(&mut self, rows: usize) {
        self.positions.truncate(rows);
    }

    /// The row with a number.
    pub(crate) fn row(&self, number: usize) -> EncodedRow<'_> {
        self.rows.row_at(self.positions.get(number).copied().unwrap_or(usize::MAX))
    }

    /// The value of a column of the record in the row with a number.
    pub(crate) fn value(&self, number: usize, column: usize) -> ValueRef<'_> {
        let position = self.position(column);
        let start = self.positions.get(number).copied().unwrap_or(usize::MAX);
        if position == usize::MAX {
            ValueRef::Null
        } else {
            self.rows.row_at(start).value(position)
        }
    }

    /// The position in the rows of a column of the record.
    pub(crate) fn position(&self, column: usize) -> usize {
        self.columns.position(column)
    }
}

/// The rows of a level, and where the rows of its parts are read from.
pub struct ShapeLevel<'a> {
    pub(super) source: &'a SessionSource<'a>,
    pub(super) rows: &'a ShapeRows,
}

/// Reads the field of a shape at a position of its row. Called by the derive.
///
/// # Errors
/// As [`Field::from_value`], with table and column.
pub fn read_shape_field<T: Record, V: Field>(
    row: &dyn Row,
    position: usize,
    column: impl SelectionPart<T, Value = V>,
) -> Result<V> {
    let column = column.expr().column().unwrap_or(usize::MAX);
    read_field_at(row, position, T::schema(), column)
}

pub(super) fn read_field_at<V: Field>(
    row: &dyn Row,
    position: usize,
    table: &TableSchema,
    column: usize,
) -> Result<V> {
    V::from_value(row.get(position)).map_err(|error| {
        let name = table.columns().get(column).map_or("", |column| &column.name);
        error.in_table(table.name().to_owned()).in_column(name.to_owned())
    })
}

/// Which of the related rows of each row count: by the offset and the limit of a part's query.
#[derive(Clone, Copy, Default)]
pub(super) struct RelatedLimits {
    offset: usize,
    limit: Option<usize>,
}

impl RelatedLimits {
    /// Takes the limits out of a query.
    fn take(select: &mut Select) -> Self {
        let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let offset = number(std::mem::take(&mut select.offset));
        Self { offset, limit: select.limit.take().map(number) }
    }

    pub fn apply<'r>(&self, rows: &'r [u32]) -> &'r [u32] {
        let rows = rows.get(self.offset..).unwrap_or_default();
        self.limit.and_then(|limit| rows.get(..limit)).unwrap_or(rows)
    }
}
