//! The rows of one level of a shape.

use super::Shape;
use crate::handle::SessionSource;
use bobak_core::codec::EncodedRow;
use bobak_core::{
    Condition, Error, ErrorKind, Expr, Field, FieldSet, Order, Query, Record, RecordRelation,
    RelationStep, Result, Row, RowBuffer, Select, SelectionPart, TableSchema, ValueRef,
};
use std::sync::Arc;

/// There is room for so many rows when the first one is read: most pages have no more.
const FIRST_ROWS: usize = 32;
/// The bytes of an encoded row, and of a column in it with a short text.
const FIXED: usize = 6;
const COLUMN: usize = 20;

/// The columns that a level reads, by their indexes in the record's schema.
#[derive(Clone, Debug, Default)]
pub struct ShapeColumns {
    /// Those that fields read come first.
    columns: Vec<usize>,
    /// The number of those that fields read.
    fields: usize,
    /// The columns that link rows, once for each relation, order and condition that needs them.
    links: Vec<usize>,
    has_relations: bool,
    /// The columns of fields that are read on request, which the query has with its records.
    requested: FieldSet,
}

impl ShapeColumns {
    /// The columns of a shape.
    pub(super) fn of<S: Shape>(requested: FieldSet) -> Self {
        let mut columns = Self { requested, ..Self::default() };
        S::columns(&mut columns);
        columns
    }

    /// Adds the columns of a record, without the fields that are read on request.
    pub(super) fn record<T: Record>(&mut self) {
        let left_out = self.left_out::<T>();
        let all = 0..T::schema().columns().len();
        self.columns.extend(all.filter(|column| !left_out.contains(*column)));
        self.fields = self.columns.len();
    }

    /// The columns of a record that are not read.
    fn left_out<T: Record>(&self) -> FieldSet {
        T::ON_REQUEST.without(self.requested)
    }

    /// Adds the column of the next field.
    pub fn field(&mut self, column: usize) {
        self.columns.push(column);
        self.fields = self.columns.len();
    }

    /// Adds a column that links rows, unless a field reads it.
    pub(crate) fn link(&mut self, column: usize) {
        self.links.push(column);
        if !self.columns.contains(&column) {
            self.columns.push(column);
        }
    }

    /// Takes back a [`link`](ShapeColumns::link): a column that nothing else needs is not read, unless it is the only one.
    pub(super) fn unlink(&mut self, column: usize) {
        let Some(link) = self.links.iter().position(|other| *other == column) else { return };
        self.links.swap_remove(link);
        let place = self.position(column);
        let is_needed = place < self.fields || self.links.contains(&column);
        if !is_needed && place < self.columns.len() && self.columns.len() > 1 {
            self.columns.remove(place);
        }
    }

    /// Adds the column that a relation starts from.
    pub fn relation<T: Record, R: RecordRelation<From = T>>(&mut self, relation: R) {
        self.has_relations = true;
        if let Some(step) = relation.to_many().steps().next() {
            self.step(step, T::schema());
        }
    }

    /// Adds the columns that a step starts from.
    pub(super) fn step(&mut self, step: &RelationStep, table: &TableSchema) {
        step.from_columns(table).for_each(|column| self.link(column));
        if let Some((column, _)) = step.from_text() {
            self.link(column);
        }
    }

    /// Whether a field holds related records, or what is known of them.
    pub(super) const fn has_relations(&self) -> bool {
        self.has_relations
    }

    pub(crate) fn exprs(&self) -> Vec<Expr> {
        self.columns.iter().copied().map(Expr::Column).collect()
    }

    /// The columns' indexes in the record's schema.
    pub(super) fn indexes(&self) -> impl Iterator<Item = usize> {
        self.columns.iter().copied()
    }

    pub(super) fn position(&self, column: usize) -> usize {
        self.columns.iter().position(|other| *other == column).unwrap_or(usize::MAX)
    }

    pub(super) fn positions(&self, columns: impl Iterator<Item = usize>) -> Vec<usize> {
        columns.map(|column| self.position(column)).collect()
    }
}

/// The rows of one level, encoded one after the other.
#[derive(Debug, Default)]
pub struct ShapeRows {
    columns: ShapeColumns,
    rows: RowBuffer,
    /// Where each row begins.
    positions: Vec<usize>,
    /// Whether the shape of a row is built once at most, not for each of several rows above.
    pub(super) is_built_once: bool,
    /// Whether no row of the table is left out, unless it refers to none of the level above.
    pub(super) is_whole: bool,
    /// For each field that holds one related record, those that were read with the rows.
    pub(super) joined: Vec<Option<Arc<JoinedRows>>>,
    /// For each field that counts related records, the counts that were read with the rows.
    pub(super) counts: Vec<Option<Vec<u64>>>,
}

/// Related records that were read with the rows above them.
#[derive(Debug)]
pub(super) struct JoinedRows {
    pub rows: ShapeRows,
    /// The number of the record of each row above; `NO_ROW` if there is none.
    pub numbers: Vec<u32>,
}

/// The query of related rows, of which columns link them. Its limit and offset are returned: they apply to the rows of each
/// row above.
pub(super) fn related_select<T>(
    table: &Arc<TableSchema>,
    columns: &mut ShapeColumns,
    query: &Query<T>,
    link: impl Iterator<Item = usize>,
) -> Result<(Select, RelatedLimits)> {
    link.for_each(|column| columns.link(column));
    let mut select = query.to_select(table, columns.exprs())?;
    if select.is_grouped() {
        let message = "related records cannot be grouped";
        return Err(Error::new(ErrorKind::Unsupported, message).in_table(table.name()));
    }
    let limits = RelatedLimits::take(&mut select);
    Ok((select, limits))
}

/// Restricts a query to rows with one of the values of the link.
pub(super) fn restrict(select: &mut Select, linked: Condition) {
    select.condition = Some(match select.condition.take() {
        Some(condition) => Condition::And(vec![linked, condition]),
        None => linked,
    });
}

/// Orders by the link first: an index on it then has the rows in this order, if the rest of the order is the key.
pub(super) fn order_by_link(select: &mut Select, link: impl Iterator<Item = usize>) {
    let descending = select.order.first().is_some_and(|first| first.descending);
    let mut order: Vec<_> = link.map(|column| Order { column, descending }).collect();
    for step in std::mem::take(&mut select.order) {
        if order.iter().all(|other| other.column != step.column) {
            order.push(step);
        }
    }
    select.order = order;
}

impl ShapeRows {
    /// The rows of a query that selects these columns.
    pub(crate) fn select(
        source: &SessionSource<'_>,
        columns: ShapeColumns,
        select: Select,
    ) -> Result<Self> {
        let is_whole = is_whole(&select);
        let mut rows = Self::of_columns(columns);
        source.query(select, &mut |row| rows.push(row).map(|()| true))?;
        rows.is_whole = is_whole;
        Ok(rows)
    }

    /// No rows yet.
    pub(super) fn of_columns(columns: ShapeColumns) -> Self {
        Self { columns, is_built_once: true, ..Self::default() }
    }

    pub(super) fn push(&mut self, row: &dyn Row) -> Result<()> {
        if self.positions.is_empty() {
            self.positions.reserve(FIRST_ROWS);
            self.rows.reserve(FIRST_ROWS * (FIXED + self.width() * COLUMN));
        }
        self.positions.push(self.rows.bytes());
        self.rows.push(row)
    }

    /// Notes that the shape of a row may be built for each of several rows above.
    pub(super) fn set_built_once(&mut self, is_built_once: bool) {
        self.is_built_once = is_built_once;
        for joined in self.joined.iter_mut().flatten().filter_map(Arc::get_mut) {
            joined.rows.set_built_once(is_built_once);
        }
    }

    /// Rows with the values of so many columns.
    ///
    /// # Errors
    /// As [`RowBuffer::push`].
    pub(crate) fn of_values(
        columns: usize,
        all: &[Vec<bobak_core::Value<'static>>],
    ) -> Result<Self> {
        let (fields, columns) = (columns, (0..columns).collect());
        let columns = ShapeColumns { columns, fields, ..ShapeColumns::default() };
        let mut rows = Self { is_whole: true, ..Self::of_columns(columns) };
        all.iter().try_for_each(|row| rows.push(&row.as_slice()))?;
        Ok(rows)
    }

    /// The number of rows.
    pub(crate) fn len(&self) -> usize {
        self.positions.len()
    }

    /// The number of columns.
    pub(super) const fn width(&self) -> usize {
        self.columns.columns.len()
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
        self.row(number).value(self.position(column))
    }

    /// The position in the rows of a column of the record.
    pub(crate) fn position(&self, column: usize) -> usize {
        self.columns.position(column)
    }

    /// The positions in the rows of columns of the record.
    pub(crate) fn positions(&self, columns: impl Iterator<Item = usize>) -> Vec<usize> {
        self.columns.positions(columns)
    }
}

/// Whether a query leaves no row out.
pub(super) fn is_whole(select: &Select) -> bool {
    select.condition.is_none() && select.limit.is_none() && select.offset == 0
}

/// The rows of a level, and where the rows of its parts are read from.
pub struct ShapeLevel<'a> {
    pub(super) source: &'a SessionSource<'a>,
    pub(super) rows: &'a ShapeRows,
}

impl ShapeLevel<'_> {
    /// The columns of a record that its rows lack.
    pub(super) fn left_out<T: Record>(&self) -> FieldSet {
        self.rows.columns.left_out::<T>()
    }
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
    pub const fn is_all(self) -> bool {
        self.offset == 0 && self.limit.is_none()
    }

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
