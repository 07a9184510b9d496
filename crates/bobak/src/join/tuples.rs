//! The rows of a join's tables, and which of them belong together.

use crate::handle::SessionSource;
use crate::shape::{Gaps, LinkValues, NO_ROW, RowLinks, ShapeColumns, ShapeRows};
use bobak_core::join::{JoinColumn, JoinCondition, JoinLink, JoinTable};
use bobak_core::{Condition, Interrupt, Join, Order, Result, Select, SubQuery, ValueRef};
use std::sync::Arc;

/// The rows of a join before they are grouped and sorted: for each, the number of the row of each table. They are sorted by
/// the keys of the tables.
pub(super) struct JoinedTuples<'j> {
    pub join: &'j Join,
    tables: Vec<ShapeRows>,
    tuples: Vec<u32>,
}

/// A row of a join, before it is grouped.
#[derive(Clone, Copy)]
pub(super) struct TupleRow<'t> {
    pub tuples: &'t JoinedTuples<'t>,
    tuple: &'t [u32],
}

impl<'t> TupleRow<'t> {
    /// A column's value.
    pub fn column(&self, column: JoinColumn) -> ValueRef<'t> {
        let row = self.tuple.get(column.table).copied().unwrap_or(NO_ROW);
        self.tuples.value(column, row)
    }
}

impl<'j> JoinedTuples<'j> {
    /// Reads the rows of each table that are linked to rows read before.
    pub fn load(source: &SessionSource<'_>, join: &'j Join) -> Result<Self> {
        let mut joined = Self { join, tables: Vec::new(), tuples: Vec::new() };
        for (index, table) in join.tables.iter().enumerate() {
            Interrupt::check()?;
            let condition = condition_of(join, index);
            match &table.link {
                None => {
                    let rows = joined.select(source, index, condition)?;
                    joined.tuples = (0..rows.len() as u32).collect();
                    joined.tables.push(rows);
                }
                Some(link) => joined.add_linked(source, index, link, condition)?,
            }
        }
        Ok(joined)
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
        let (JoinColumn { table, column }, to) = (link.from, link.to);
        let Some(JoinTable { table: from, .. }) = self.join.tables.get(table) else {
            return Ok(());
        };
        let width = self.tables.len();
        let value = |number: usize| {
            let row = self.tuples.get(number * width + table).copied().unwrap_or(NO_ROW);
            self.value(link.from, row)
        };
        let (values, groups) = LinkValues::collect(from, column, self.tuples.len() / width, value);
        let count = values.len();
        conditions.extend(link.condition.clone());
        let rows = if count == 0 {
            ShapeRows::default()
        } else {
            conditions.insert(0, values.condition(to, Gaps::Exact));
            self.select(source, index, conditions)?
        };
        let position = rows.position(to);
        let pair = |row: u32| {
            let group = values.number(rows.row(row as usize).value(position));
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

    /// The rows.
    pub fn iter(&self) -> impl Iterator<Item = TupleRow<'_>> {
        let width = self.tables.len().max(1);
        self.tuples.chunks_exact(width).map(|tuple| TupleRow { tuples: self, tuple })
    }

    /// Removes the other rows.
    pub fn keep_if(&mut self, keep: impl Fn(TupleRow<'_>) -> Result<bool>) -> Result<()> {
        let mut kept = Vec::with_capacity(self.tuples.len());
        for tuple in self.iter() {
            if keep(tuple)? {
                kept.extend_from_slice(tuple.tuple);
            }
        }
        self.tuples = kept;
        Ok(())
    }

    /// The value of a table's column in the row of the table with a number; NULL if there is no row.
    fn value(&self, column: JoinColumn, row: u32) -> ValueRef<'_> {
        match self.tables.get(column.table) {
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
    let linked = join.tables.iter().enumerate().filter(|(table, _)| index == 0 && !is_left(*table));
    let linked = linked.filter_map(|(table, linked)| {
        let link = linked.link.as_ref().filter(|link| link.from.table == 0)?;
        let mut conditions = condition_of(join, table);
        if conditions.is_empty() {
            return None;
        }
        conditions.extend(link.condition.clone());
        let condition = Some(Condition::And(conditions));
        let query = SubQuery { table: Arc::clone(&linked.table), column: link.to, condition };
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
    for (number, joined) in join.tables.iter().enumerate() {
        if let Some(link) = &joined.link {
            each(link.from);
            each(JoinColumn { table: number, column: link.to });
        }
    }
    let order = join.order.iter().map(|step| &step.expr);
    let exprs = join.columns.iter().chain(&join.group).chain(order);
    exprs.for_each(|expr| expr.for_each_column(&mut each));
    let filters = join.filters.iter().chain(&join.having);
    filters.for_each(|filter| filter.for_each_column(&mut each));
    columns
}
