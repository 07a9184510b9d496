//! The level of a shape from which a relation starts, and the rows that the relation leads to.

use super::Shape;
use super::join::ShapeJoins;
use super::links::{Gaps, LinkValues, NO_ROW, RowLinks};
use super::load::build_rows;
use super::rows::{
    RelatedLimits, ShapeColumns, ShapeLevel, ShapeRows, order_by_link, related_select, restrict,
};
use crate::handle::SessionSource;
use bobak_core::{
    Condition, Expr, Query, Record, RelationStep, Result, Select, TableSchema, ToMany, ValueRef,
};
use std::sync::Arc;

/// Rows that a relation leads to, and pairs of a group of the level above and a row.
type LinkedRows = (ShapeRows, Vec<(u32, u32)>);

/// The rows from which a relation starts.
pub(super) struct LevelAbove<'a, A, B> {
    source: &'a SessionSource<'a>,
    rows: &'a ShapeRows,
    relation: ToMany<A, B>,
    /// The distinct values of the column that the relation starts from.
    values: LinkValues,
    /// The number of each row's value.
    groups: Vec<u32>,
    /// Whether each related row belongs to one row, and is built for it once.
    pub is_split: bool,
}

impl<'a, A: Record, B: Record> LevelAbove<'a, A, B> {
    pub fn new(level: &ShapeLevel<'a>, relation: ToMany<A, B>) -> Self {
        let &ShapeLevel { source, rows } = level;
        let first = relation.steps().next();
        let column = first.map_or(usize::MAX, |step| step.from_column(A::schema()));
        let position = rows.position(column);
        let value = |row| match first {
            Some(step) => link_value(step, rows, row, position),
            None => ValueRef::Null,
        };
        let (values, groups) = LinkValues::collect(A::schema(), column, rows.len(), value);
        let has_own = relation.steps().nth(1).is_none() && values.len() == rows.len();
        let is_split = has_own && rows.is_built_once;
        Self { source, rows, relation, values, groups, is_split }
    }

    pub fn has_one_step(&self) -> bool {
        self.relation.steps().nth(1).is_none()
    }

    /// The query of all related rows, whichever rows they belong to.
    pub fn select(
        &self,
        columns: &mut ShapeColumns,
        query: &Query<B>,
    ) -> Result<(Select, RelatedLimits)> {
        let link = self.relation.steps().next_back().map_or(usize::MAX, RelationStep::to_column);
        let (mut select, limits) = related_select(B::schema(), columns, query, link)?;
        if self.has_one_step() {
            order_by_link(&mut select, link);
        }
        Ok((select, limits))
    }

    /// Whether no row of the relation's first table is left out, so that nothing refers to keys between those of its rows.
    fn is_whole(&self) -> bool {
        let is_from_key = |step: &RelationStep| is_key(A::schema(), step.from_column(A::schema()));
        self.rows.is_whole && self.relation.steps().next().is_some_and(is_from_key)
    }

    /// Builds the shape of each related row as it is read. Returns the group of each row, and the shapes of each group.
    pub fn build<S: Shape>(
        self,
        columns: ShapeColumns,
        mut select: Select,
        with: &S::With,
    ) -> Result<(Vec<u32>, Vec<Vec<S>>)> {
        let mut shapes: Vec<Vec<S>> = Vec::new();
        shapes.resize_with(self.values.len(), Vec::new);
        if let Some(step) = self.relation.steps().next().filter(|_| !shapes.is_empty()) {
            restrict(&mut select, link_condition(step, &self.values, self.is_whole()));
            let position = columns.position(step.to_column());
            build_rows(self.source, columns, select, with, |row, shape| {
                let group = self.values.number(row.get(position));
                if let Some(group) = shapes.get_mut(group as usize) {
                    group.push(shape);
                }
            })?;
        }
        Ok((self.groups, shapes))
    }

    /// Reads the related rows, and which rows they belong to. `ones` joins the records that these refer to.
    pub fn load(
        self,
        columns: ShapeColumns,
        select: Select,
        ones: &dyn Fn(&mut ShapeJoins<'_>) -> Result<()>,
    ) -> Result<(ShapeRows, RowLinks)> {
        if self.values.len() == 0 {
            return Ok(Default::default());
        }
        if self.has_one_step() {
            return self.load_step(columns, select, ones);
        }
        match self.load_joined(&columns, &select, ones)? {
            Some((rows, pairs)) => {
                let count = self.values.len();
                Ok((rows, RowLinks::new(self.groups, count, &pairs)))
            }
            None => self.load_by_steps(columns, select),
        }
    }

    /// By one query, of the one step of the relation.
    fn load_step(
        self,
        columns: ShapeColumns,
        mut select: Select,
        ones: &dyn Fn(&mut ShapeJoins<'_>) -> Result<()>,
    ) -> Result<(ShapeRows, RowLinks)> {
        let Some(step) = self.relation.steps().next() else { return Ok(Default::default()) };
        let is_unfiltered = select.condition.is_none();
        restrict(&mut select, link_condition(step, &self.values, self.is_whole()));
        let mut joins = ShapeJoins::new(self.source, &select)?;
        ones(&mut joins)?;
        let mut rows = match joins.read(&columns, &select, &mut |_, _| ())? {
            Some(rows) => rows,
            None => ShapeRows::select(self.source, columns, select)?,
        };
        rows.set_built_once(self.is_split);
        rows.is_whole = self.is_whole() && is_unfiltered;
        let pairs = follow(&rows, step.to_column(), &self.values, None);
        let count = self.values.len();
        Ok((rows, RowLinks::new(self.groups, count, &pairs)))
    }

    /// By one query for all steps: the rows, and pairs of a group and a row. `None` if the tables are on several engines, or
    /// the engine does not run this join.
    fn load_joined(
        &self,
        columns: &ShapeColumns,
        select: &Select,
        ones: &dyn Fn(&mut ShapeJoins<'_>) -> Result<()>,
    ) -> Result<Option<LinkedRows>> {
        let (Some(first), Some(last)) =
            (self.relation.steps().next(), self.relation.steps().next_back())
        else {
            return Ok(None);
        };
        if select.table.key().is_empty() {
            return Ok(None);
        }
        let (mut columns, mut select) = (columns.clone(), select.clone());
        select.table.key().iter().for_each(|&key| columns.link(key));
        if let Some(condition) = last.to_condition() {
            restrict(&mut select, condition);
        }
        let mut joins = ShapeJoins::new(self.source, &select)?;
        let linked = self.values.condition(first.to_column(), Gaps::Exact);
        if !joins.add_steps(self.relation.steps(), linked) {
            return Ok(None);
        }
        ones(&mut joins)?;
        let mut pairs = Vec::new();
        let rows = joins.read(&columns, &select, &mut |value, row| {
            let group = self.values.number(value);
            if group != NO_ROW {
                pairs.push((group, row));
            }
        })?;
        let Some(mut rows) = rows else { return Ok(None) };
        rows.set_built_once(false);
        // Several ways may lead from one row to another.
        pairs.sort_unstable_by_key(|&(group, row)| (row, group));
        pairs.dedup();
        Ok(Some((rows, pairs)))
    }

    /// By one query for each step.
    fn load_by_steps(
        self,
        columns: ShapeColumns,
        mut select: Select,
    ) -> Result<(ShapeRows, RowLinks)> {
        let count = self.values.len();
        let mut is_whole = self.is_whole();
        let (mut values, mut origins) = (self.values, None);
        let mut steps = self.relation.steps().peekable();
        while let Some(step) = steps.next().filter(|_| values.len() > 0) {
            let linked = link_condition(step, &values, is_whole);
            let (table, link) = (step.table(), step.to_column());
            let Some(next) = steps.peek() else {
                restrict(&mut select, linked);
                let mut rows = ShapeRows::select(self.source, columns, select)?;
                rows.is_built_once = false;
                let pairs = follow(&rows, link, &values, origins.as_deref());
                return Ok((rows, RowLinks::new(self.groups, count, &pairs)));
            };
            let mut columns = ShapeColumns::default();
            columns.step(next, table);
            let (mut select, _) = related_select(table, &mut columns, &Query::<()>::all(), link)?;
            select.order.clear();
            restrict(&mut select, linked);
            let rows = ShapeRows::select(self.source, columns, select)?;
            let pairs = follow(&rows, link, &values, origins.as_deref());
            let (reached, groups) = reached_from(&rows, table, next, &pairs);
            (values, origins, is_whole) = (reached, Some(groups), false);
        }
        Ok(Default::default())
    }

    /// Counts the related rows of a relation of one step that match the query's filter: no related row is transferred. Returns
    /// the group of each row, and the count of each group.
    pub fn count(self, query: &Query<B>) -> Result<(Vec<u32>, Vec<u64>)> {
        let mut counts = vec![0; self.values.len()];
        let Some(step) = self.relation.steps().next().filter(|_| !counts.is_empty()) else {
            return Ok((self.groups, counts));
        };
        let column = step.to_column();
        let mut select = Select {
            table: Arc::clone(step.table()),
            columns: vec![Expr::Column(column), Expr::Count],
            condition: query.to_condition(step.table())?,
            group: vec![column],
            order: Vec::new(),
            limit: None,
            offset: 0,
            search: None,
            nearest: None,
            lock: None,
        };
        restrict(&mut select, link_condition(step, &self.values, self.is_whole()));
        self.source.query(select, &mut |row| {
            let group = self.values.number(row.get(0)) as usize;
            if let (Some(count), ValueRef::Int(found)) = (counts.get_mut(group), row.get(1)) {
                *count = found.unsigned_abs();
            }
            Ok(true)
        })?;
        Ok((self.groups, counts))
    }
}

fn is_key(table: &TableSchema, column: usize) -> bool {
    *table.key() == [column]
}

/// The condition of the rows that a step leads to from rows with these values.
fn link_condition(step: &RelationStep, values: &LinkValues, is_whole: bool) -> Condition {
    let column = step.to_column();
    let is_covered = is_whole || is_key(step.table(), column);
    let linked = values.condition(column, if is_covered { Gaps::Included } else { Gaps::Exact });
    match step.to_condition() {
        Some(other) => Condition::And(vec![linked, other]),
        None => linked,
    }
}

/// The value that links a row. NULL if the step is one of a reference to records of any type, and the row names another
/// table.
fn link_value<'r>(
    step: &RelationStep,
    rows: &'r ShapeRows,
    row: usize,
    position: usize,
) -> ValueRef<'r> {
    match step.from_text() {
        Some((column, text)) if rows.value(row, column) != ValueRef::Text(text) => ValueRef::Null,
        _ => rows.row(row).value(position),
    }
}

/// The groups that each row belongs to, by its value: pairs of a group and a row. `origins` are pairs of a value and a
/// group, sorted; without them each value is a group.
fn follow(
    rows: &ShapeRows,
    column: usize,
    values: &LinkValues,
    origins: Option<&[(u32, u32)]>,
) -> Vec<(u32, u32)> {
    let position = rows.position(column);
    let mut pairs = Vec::with_capacity(rows.len());
    for row in 0..rows.len() {
        let value = values.number(rows.row(row).value(position));
        match origins {
            _ if value == NO_ROW => {}
            None => pairs.push((value, row as u32)),
            Some(origins) => {
                let first = origins.partition_point(|&(other, _)| other < value);
                let same = origins.iter().skip(first).take_while(|&&(other, _)| other == value);
                pairs.extend(same.map(|&(_, group)| (group, row as u32)));
            }
        }
    }
    pairs
}

/// The values from which the next step starts in rows that belong to groups, and pairs of a value and a group, sorted.
fn reached_from(
    rows: &ShapeRows,
    table: &TableSchema,
    next: &RelationStep,
    pairs: &[(u32, u32)],
) -> (LinkValues, Vec<(u32, u32)>) {
    let column = next.from_column(table);
    let position = rows.position(column);
    let row_of = |pair: usize| pairs.get(pair).map_or(usize::MAX, |&(_, row)| row as usize);
    let value = |pair| link_value(next, rows, row_of(pair), position);
    let (values, numbers) = LinkValues::collect(table, column, pairs.len(), value);
    let reached = numbers.into_iter().zip(pairs).map(|(value, &(group, _))| (value, group));
    let mut origins: Vec<_> = reached.filter(|(value, _)| *value != NO_ROW).collect();
    origins.sort_unstable();
    origins.dedup();
    (values, origins)
}
