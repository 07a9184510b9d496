//! The rows of a join's tables, and which of them belong together.

use crate::handle::SessionSource;
use crate::shape::{Gaps, LinkGroups, NO_ROW, RowLinks, ShapeColumns, ShapeRows};
use bobak_core::join::{JoinColumn, JoinCondition, JoinLink, JoinRows, JoinSubquery, JoinTable};
use bobak_core::{
    Condition, Error, ErrorKind, Interrupt, Join, Order, Result, Select, SubQuery, Value, ValueRef,
};
use std::sync::Arc;

/// The rows of a join before they are grouped and sorted: for each, the number of the row of each table. They are sorted by
/// the keys of the tables.
pub(super) struct JoinedTuples<'j> {
    pub join: &'j Join,
    /// The filters that depend on the row of the query around.
    pub later_filters: Vec<&'j JoinCondition>,
    tables: Vec<ShapeRows>,
    tuples: Vec<u32>,
    pub subqueries: Vec<Box<dyn NestedQuery + 'j>>,
}

/// A query inside of a join, and the rows of its tables.
pub(super) trait NestedQuery {
    /// The query.
    fn query(&self) -> &JoinSubquery;

    /// Whether there is a row.
    fn has_rows(&self, outer: &TupleRow<'_>) -> Result<bool>;

    /// The first column of the first row.
    fn value(&self, outer: &TupleRow<'_>) -> Result<Value<'static>>;

    /// Whether a value is in the first column of a row. NULL is in none, but that is known only if there are no values.
    fn has_value(&self, value: ValueRef<'_>, outer: &TupleRow<'_>) -> Result<Option<bool>>;
}

/// A row of a join, before it is grouped.
#[derive(Clone, Copy)]
pub(super) struct TupleRow<'t> {
    pub tuples: &'t JoinedTuples<'t>,
    tuple: &'t [u32],
    /// The row of the query around.
    outer: Option<&'t TupleRow<'t>>,
}

impl<'t> TupleRow<'t> {
    /// A column's value.
    pub fn column(&self, column: JoinColumn) -> ValueRef<'t> {
        let Some(own) = column.table.checked_sub(self.tuples.join.outer) else {
            return self.outer.map_or(ValueRef::Null, |outer| outer.column(column));
        };
        let row = self.tuple.get(own).copied().unwrap_or(NO_ROW);
        self.tuples.value(column, row)
    }
}

impl<'j> JoinedTuples<'j> {
    /// Reads the rows of each table that are linked to rows read before.
    ///
    /// `combine` makes the rows of queries.
    pub fn load(
        source: &SessionSource<'_>,
        join: &'j Join,
        combine: &dyn Fn(&JoinRows, usize) -> Result<ShapeRows>,
    ) -> Result<Self> {
        let mut joined = Self {
            join,
            later_filters: Vec::new(),
            tables: Vec::new(),
            tuples: Vec::new(),
            subqueries: Vec::new(),
        };
        for (index, table) in join.tables.iter().enumerate().skip(join.outer) {
            Interrupt::check()?;
            let condition = condition_of(join, index);
            match &table.link {
                None => {
                    let rows = match &table.rows {
                        Some(rows) => combine(rows, table.table.columns().len())?,
                        None => joined.select(source, index, condition)?,
                    };
                    joined.tuples = (0..rows.len() as u32).collect();
                    joined.tables.push(rows);
                }
                Some(link) => joined.add_linked(source, index, link, condition)?,
            }
        }
        Ok(joined)
    }

    /// A query inside of the join.
    pub fn subquery(&self, query: &JoinSubquery) -> Result<&(dyn NestedQuery + 'j)> {
        let mut nested = self.subqueries.iter().map(|nested| &**nested);
        nested.find(|nested| std::ptr::eq(nested.query(), query)).ok_or_else(|| {
            Error::new(ErrorKind::Unsupported, "a query is not known inside of this one")
        })
    }

    /// A row in which all columns are NULL.
    pub fn missing<'t>(&'t self, outer: Option<&'t TupleRow<'t>>) -> TupleRow<'t> {
        TupleRow { tuples: self, tuple: &[], outer }
    }

    fn select(
        &self,
        source: &SessionSource<'_>,
        index: usize,
        conditions: Vec<Condition>,
    ) -> Result<ShapeRows> {
        let columns = columns_of(self.join, index);
        let Some(table) = self.join.tables.get(index).map(|table| &table.table) else {
            return Ok(ShapeRows::default());
        };
        let select = Select {
            table: Arc::clone(table),
            columns: columns.exprs(),
            condition: (!conditions.is_empty()).then_some(Condition::And(conditions)),
            group: Vec::new(),
            order: table.key().iter().map(|&column| Order { column, descending: false }).collect(),
            limit: None,
            offset: 0,
            search: None,
            nearest: None,
            lock: None,
        };
        ShapeRows::select(source, columns, select)
    }

    fn add_linked(
        &mut self,
        source: &SessionSource<'_>,
        index: usize,
        link: &JoinLink,
        mut conditions: Vec<Condition>,
    ) -> Result<()> {
        let table = link.from.table;
        let (Some(JoinTable { table: from, .. }), Some(table)) =
            (self.join.tables.get(table), table.checked_sub(self.join.outer))
        else {
            return Ok(());
        };
        let width = self.tables.len();
        let (columns, to): (Vec<_>, Vec<_>) =
            link.pairs(index).map(|[from, to]| (from.column, to.column)).unzip();
        let value = |number: usize, place: usize| {
            let row = self.tuples.get(number * width + table).copied().unwrap_or(NO_ROW);
            let column = columns.get(place).copied().unwrap_or(usize::MAX);
            self.value(JoinColumn { column, ..link.from }, row)
        };
        let rows = self.tuples.len() / width;
        let (values, groups) = LinkGroups::collect(from, &columns, rows, value);
        let count = values.len();
        conditions.extend(link.condition.clone());
        let rows = if count == 0 {
            ShapeRows::default()
        } else {
            conditions.insert(0, values.condition(to.iter().copied(), Gaps::Exact));
            self.select(source, index, conditions)?
        };
        let positions = rows.positions(to.into_iter());
        let pair = |row: u32| {
            let own = rows.row(row as usize);
            let position = |place: usize| positions.get(place).copied().unwrap_or(usize::MAX);
            let group = values.number(|place| own.value(position(place)));
            (group != NO_ROW).then_some((group, row))
        };
        let pairs: Vec<_> = (0..rows.len() as u32).filter_map(pair).collect();
        let links = RowLinks::new(groups, count, &pairs);
        let mut tuples = Vec::with_capacity(self.tuples.len() / width * (width + 1));
        for (number, tuple) in self.tuples.chunks_exact(width).enumerate() {
            let found = links.of(number);
            let missing: &[u32] = if found.is_empty() && link.is_left { &[NO_ROW] } else { &[] };
            for &row in found.iter().chain(missing) {
                tuples.extend_from_slice(tuple);
                tuples.push(row);
            }
        }
        self.tuples = tuples;
        self.tables.push(rows);
        Ok(())
    }

    /// The rows, with that of the query around.
    pub fn iter<'t>(
        &'t self,
        outer: Option<&'t TupleRow<'t>>,
    ) -> impl Iterator<Item = TupleRow<'t>> {
        let width = self.tables.len().max(1);
        let tuples = self.tuples.chunks_exact(width);
        tuples.map(move |tuple| TupleRow { tuples: self, tuple, outer })
    }

    /// The row with a number, as [`iter`](Self::iter) counts them.
    pub fn at<'t>(
        &'t self,
        number: usize,
        outer: Option<&'t TupleRow<'t>>,
    ) -> Option<TupleRow<'t>> {
        let width = self.tables.len().max(1);
        let tuple = self.tuples.get(number * width..(number + 1) * width)?;
        Some(TupleRow { tuples: self, tuple, outer })
    }

    /// Removes the other rows.
    pub fn keep_if(&mut self, keep: impl Fn(TupleRow<'_>) -> Result<bool>) -> Result<()> {
        let mut kept = Vec::with_capacity(self.tuples.len());
        for tuple in self.iter(None) {
            if keep(tuple)? {
                kept.extend_from_slice(tuple.tuple);
            }
        }
        self.tuples = kept;
        Ok(())
    }

    /// The value of a table's column in the row of the table with a number; NULL if there is no row.
    fn value(&self, column: JoinColumn, row: u32) -> ValueRef<'_> {
        let own = column.table.checked_sub(self.join.outer);
        match own.and_then(|own| self.tables.get(own)) {
            Some(rows) if row != NO_ROW => rows.value(row as usize, column.column),
            _ => ValueRef::Null,
        }
    }
}

/// The conditions that the rows of a table must match when they are read: not those over a table that rows may lack, which
/// hold for rows without it, too.
fn condition_of(join: &Join, index: usize) -> Vec<Condition> {
    let is_left = |index: usize| {
        let link = join.tables.get(index).and_then(|table| table.link.as_ref());
        link.is_some_and(|link| link.is_left)
    };
    let own = |filter: &JoinCondition| match filter {
        JoinCondition::Row(table, condition) if *table == index && !is_left(index) => {
            Some(condition.clone())
        }
        _ => None,
    };
    let own = join.filters.iter().filter_map(own);
    // Only rows with a linked row that matches: fewer are read.
    let first = join.outer;
    let linked =
        join.tables.iter().enumerate().filter(|(table, _)| index == first && !is_left(*table));
    let linked = linked.skip(first).filter_map(|(table, linked)| {
        let link = linked.link.as_ref().filter(|link| link.from.table == first)?;
        let mut conditions = condition_of(join, table);
        if conditions.is_empty() {
            return None;
        }
        conditions.extend(link.condition.clone());
        let condition = Some(Condition::And(conditions));
        let (table, more) = (Arc::clone(&linked.table), link.more.clone());
        let query = SubQuery { table, column: link.to, more, condition };
        Some(Condition::InQuery { column: link.from.column, query: Box::new(query) })
    });
    own.chain(linked).collect()
}

/// The columns of a table that a join reads.
fn columns_of(join: &Join, index: usize) -> ShapeColumns {
    let mut columns = ShapeColumns::default();
    let mut each = |column: JoinColumn| {
        if column.table == index {
            columns.link(column.column);
        }
    };
    let Some(table) = join.tables.get(index) else { return columns };
    table.table.key().iter().for_each(|&column| each(JoinColumn { table: index, column }));
    join.for_each_column(&mut each);
    columns
}
