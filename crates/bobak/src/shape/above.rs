//! The level of a shape from which a relation starts, and the rows that the relation leads to.

use super::Shape;
use super::join::ShapeJoins;
use super::links::{Gaps, LinkGroups, NO_ROW, RowLinks};
use super::load::build_rows;
use super::rows::{
    RelatedLimits, ShapeColumns, ShapeLevel, ShapeRows, order_by_link, related_select, restrict,
};
use crate::handle::SessionSource;
use bobak_core::{
    Condition, Expr, Query, Record, RelationStep, Result, Row, Select, TableSchema, ToMany,
    ValueRef,
};
use std::sync::Arc;

/// Rows that a relation leads to, and pairs of a group of the level above and a row.
type LinkedRows = (ShapeRows, Vec<(u32, u32)>);

/// The rows from which a relation starts.
pub(super) struct LevelAbove<'a, A, B> {
    source: &'a SessionSource<'a>,
    rows: &'a ShapeRows,
    relation: ToMany<A, B>,
    /// The distinct values of the columns that the relation starts from.
    values: LinkGroups,
    /// The number of each row's values.
    groups: Vec<u32>,
    /// Whether each related row belongs to one row, and is built for it once.
    pub is_split: bool,
}

impl<'a, A: Record, B: Record> LevelAbove<'a, A, B> {
    pub fn new(level: &ShapeLevel<'a>, relation: ToMany<A, B>) -> Self {
        let &ShapeLevel { source, rows } = level;
        let first = relation.steps().next();
        let (values, groups) = match first {
            Some(step) => groups_of(step, A::schema(), rows, rows.len(), |row| row),
            None => LinkGroups::collect(A::schema(), &[], 0, |_, _| ValueRef::Null),
        };
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
        let last = self.relation.steps().next_back();
        let link = || last.into_iter().flat_map(RelationStep::to_columns);
        let (mut select, limits) = related_select(B::schema(), columns, query, link())?;
        if self.has_one_step() {
            order_by_link(&mut select, link());
        }
        Ok((select, limits))
    }

    /// Whether no row of the relation's first table is left out, so that nothing refers to keys between those of its rows.
    fn is_whole(&self) -> bool {
        let is_from_key = |step: &RelationStep| A::schema().is_key(step.from_columns(A::schema()));
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
            let positions = columns.positions(step.to_columns());
            build_rows(self.source, columns, select, with, |row, shape| {
                let group = self.values.number(|place| value_at(row, &positions, place));
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
        let pairs = follow(&rows, step, &self.values, None);
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
        let linked = self.values.condition(first.to_columns(), Gaps::Exact);
        if !joins.add_steps(self.relation.steps(), linked) {
            return Ok(None);
        }
        ones(&mut joins)?;
        let mut pairs = Vec::new();
        let rows = joins.read(&columns, &select, &mut |values, row| {
            let group = self.values.number(|place| values.get(place));
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
            let table = step.table();
            let Some(next) = steps.peek() else {
                restrict(&mut select, linked);
                let mut rows = ShapeRows::select(self.source, columns, select)?;
                rows.is_built_once = false;
                let pairs = follow(&rows, step, &values, origins.as_deref());
                return Ok((rows, RowLinks::new(self.groups, count, &pairs)));
            };
            let mut columns = ShapeColumns::default();
            columns.step(next, table);
            let (all, link) = (Query::<()>::all(), step.to_columns());
            let (mut select, _) = related_select(table, &mut columns, &all, link)?;
            select.order.clear();
            restrict(&mut select, linked);
            let rows = ShapeRows::select(self.source, columns, select)?;
            let pairs = follow(&rows, step, &values, origins.as_deref());
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
        let group: Vec<_> = step.to_columns().collect();
        let count = group.len();
        let columns = group.iter().copied().map(Expr::Column).chain([Expr::Count]);
        let mut select = Select {
            table: Arc::clone(step.table()),
            columns: columns.collect(),
            condition: query.to_condition(step.table())?,
            group,
            order: Vec::new(),
            limit: None,
            offset: 0,
            search: None,
            nearest: None,
            lock: None,
        };
        restrict(&mut select, link_condition(step, &self.values, self.is_whole()));
        self.source.query(select, &mut |row| {
            let group = self.values.number(|place| row.get(place)) as usize;
            if let (Some(count), ValueRef::Int(found)) = (counts.get_mut(group), row.get(count)) {
                *count = found.unsigned_abs();
            }
            Ok(true)
        })?;
        Ok((self.groups, counts))
    }
}

/// The condition of the rows that a step leads to from rows with these values; with several columns, of others, too.
fn link_condition(step: &RelationStep, values: &LinkGroups, is_whole: bool) -> Condition {
    let is_covered = is_whole || step.table().is_key(step.to_columns());
    let gaps = if is_covered { Gaps::Included } else { Gaps::Exact };
    let linked = values.condition(step.to_columns(), gaps);
    match step.to_condition() {
        Some(other) => Condition::And(vec![linked, other]),
        None => linked,
    }
}

/// The groups of some rows of a table by the values from which a step starts, and the group of each. `row` is the number of
/// the row at a place. A row is in no group if the step is one of a reference to records of any type, and the row names
/// another table.
fn groups_of(
    step: &RelationStep,
    table: &TableSchema,
    rows: &ShapeRows,
    count: usize,
    row: impl Fn(usize) -> usize,
) -> (LinkGroups, Vec<u32>) {
    let columns: Vec<_> = step.from_columns(table).collect();
    let positions = rows.positions(columns.iter().copied());
    let value = |at: usize, place: usize| match (row(at), step.from_text()) {
        (row, Some((column, text))) if rows.value(row, column) != ValueRef::Text(text) => {
            ValueRef::Null
        }
        (row, _) => rows.row(row).value(positions.get(place).copied().unwrap_or(usize::MAX)),
    };
    LinkGroups::collect(table, &columns, count, value)
}

fn value_at<'r>(row: &'r dyn Row, positions: &[usize], place: usize) -> ValueRef<'r> {
    positions.get(place).map_or(ValueRef::Null, |&position| row.get(position))
}

/// The groups that each row belongs to, by its values: pairs of a group and a row. `origins` are pairs of the number of
/// values and a group, sorted; without them each number is a group.
fn follow(
    rows: &ShapeRows,
    step: &RelationStep,
    values: &LinkGroups,
    origins: Option<&[(u32, u32)]>,
) -> Vec<(u32, u32)> {
    let positions = rows.positions(step.to_columns());
    let mut pairs = Vec::with_capacity(rows.len());
    for row in 0..rows.len() {
        let own = rows.row(row);
        let position = |place: usize| positions.get(place).copied().unwrap_or(usize::MAX);
        let value = values.number(|place| own.value(position(place)));
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

/// The values from which the next step starts in rows that belong to groups, and pairs of a number of values and a group,
/// sorted.
fn reached_from(
    rows: &ShapeRows,
    table: &TableSchema,
    next: &RelationStep,
    pairs: &[(u32, u32)],
) -> (LinkGroups, Vec<(u32, u32)>) {
    let row_of = |pair: usize| pairs.get(pair).map_or(usize::MAX, |&(_, row)| row as usize);
    let (values, numbers) = groups_of(next, table, rows, pairs.len(), row_of);
    let reached = numbers.into_iter().zip(pairs).map(|(value, &(group, _))| (value, group));
    let mut origins: Vec<_> = reached.filter(|(value, _)| *value != NO_ROW).collect();
    origins.sort_unstable();
    origins.dedup();
    (values, origins)
}
