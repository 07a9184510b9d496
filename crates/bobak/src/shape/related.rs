//! The parts of a shape.

use super::Shape;
use super::links::{LinkValues, NO_ROW, RowLinks, value_at};
use super::rows::{RelatedLimits, ShapeColumns, ShapeLevel, ShapeRows, read_field_at};
use bobak_core::{
    Column, Condition, Error, ErrorKind, Expr, Field, Query, Record, RecordRelation, RelationStep,
    Result, Select, TableSchema, ToMany, ValueRef,
};
use std::marker::PhantomData;
use std::sync::Arc;

/// The related records of all rows of a level.
pub struct RelatedRecords<S: Shape> {
    rows: ShapeRows,
    parts: S::Parts,
    links: RowLinks,
    limits: RelatedLimits,
}

/// One column of the related records of all rows of a level.
pub struct RelatedValues<V> {
    rows: ShapeRows,
    table: &'static TableSchema,
    /// The index of the column in the table.
    column: usize,
    links: RowLinks,
    limits: RelatedLimits,
    values: PhantomData<fn() -> V>,
}

/// The numbers of related records of all rows of a level.
pub struct RelatedCounts {
    groups: Vec<u32>,
    counts: Vec<u64>,
}

impl<S: Shape> RelatedRecords<S> {
    /// The related records of a row.
    ///
    /// # Errors
    /// As [`Table::load`](crate::Table::load).
    pub fn many(&self, row: usize) -> Result<Vec<S>> {
        self.limits.apply(self.links.of(row)).iter().map(|row| self.build(*row)).collect()
    }

    /// The related record of a row, if it has one.
    ///
    /// # Errors
    /// `Mismatch` if it has several; as [`Table::load`](crate::Table::load).
    pub fn one(&self, row: usize, field: &'static str) -> Result<Option<S>> {
        match self.limits.apply(self.links.of(row)) {
            [] => Ok(None),
            [row] => self.build(*row).map(Some),
            rows => {
                let count = rows.len();
                let message = format!(
                    "the field `{field}` holds one record, but {count} are related: use `many`, or \
                     `limit = 1` with an order"
                );
                Err(Error::new(ErrorKind::Mismatch, message).in_table(S::Record::TABLE))
            }
        }
    }

    /// The related record of a row.
    ///
    /// # Errors
    /// `NotFound` if there is none; as [`one`](RelatedRecords::one).
    pub fn required(&self, row: usize, field: &'static str) -> Result<S> {
        self.one(row, field)?.ok_or_else(|| {
            let message = format!("no record is related by the field `{field}`: make it an Option");
            Error::new(ErrorKind::NotFound, message).in_table(S::Record::TABLE)
        })
    }

    fn build(&self, row: u32) -> Result<S> {
        let number = row as usize;
        S::build(&self.rows.row(number), number, &self.parts)
    }
}

impl<V: Field> RelatedValues<V> {
    /// The values of a row's related records.
    ///
    /// # Errors
    /// As [`Field::from_value`].
    pub fn many(&self, row: usize) -> Result<Vec<V>> {
        let read =
            |row: &u32| read_field_at(&self.rows.row(*row as usize), 0, self.table, self.column);
        self.limits.apply(self.links.of(row)).iter().map(read).collect()
    }
}

impl RelatedCounts {
    /// The number of a row's related records.
    #[must_use]
    pub fn count(&self, row: usize) -> u64 {
        let group = self.groups.get(row).copied().unwrap_or(NO_ROW);
        self.counts.get(group as usize).copied().unwrap_or_default()
    }

    /// Whether a row has a related record.
    #[must_use]
    pub fn exists(&self, row: usize) -> bool {
        self.count(row) > 0
    }
}

impl ShapeLevel<'_> {
    /// Loads the related records of all rows with one query for each step of the relation, and those of their parts.
    ///
    /// # Errors
    /// As [`Table::load`](crate::Table::load).
    pub fn related<T: Record, R: RecordRelation<From = T>, S: Shape<Record = R::To>>(
        &self,
        relation: R,
        query: Query<R::To>,
        with: &S::With,
    ) -> Result<RelatedRecords<S>> {
        let mut columns = ShapeColumns::default();
        S::columns(&mut columns);
        let (rows, links, limits) = self.load_linked(relation.to_many(), columns, &query)?;
        let parts = S::load_parts(&ShapeLevel { source: self.source, rows: &rows }, with)?;
        Ok(RelatedRecords { rows, parts, links, limits })
    }

    /// As [`related`](ShapeLevel::related), of one column.
    ///
    /// # Errors
    /// As [`Table::load`](crate::Table::load).
    pub fn values<T: Record, R: RecordRelation<From = T>, V: Field>(
        &self,
        relation: R,
        query: Query<R::To>,
        column: Column<R::To, V>,
    ) -> Result<RelatedValues<V>> {
        let (mut columns, column) = (ShapeColumns::default(), column.index());
        columns.field(column);
        let (rows, links, limits) = self.load_linked(relation.to_many(), columns, &query)?;
        let table = R::To::schema();
        Ok(RelatedValues { rows, table, column, links, limits, values: PhantomData })
    }

    /// Counts the related records of all rows that match the query's filter.
    ///
    /// # Errors
    /// As [`Table::load`](crate::Table::load).
    pub fn counts<T: Record, R: RecordRelation<From = T>>(
        &self,
        relation: R,
        query: Query<R::To>,
    ) -> Result<RelatedCounts> {
        let relation = relation.to_many();
        let steps: Vec<&RelationStep> = relation.steps().collect();
        if let [step] = steps[..] {
            return self.count_linked(step, T::schema(), &query);
        }
        // A record that is reached by several ways counts once.
        let (_, links, _) = self.load_linked(relation, ShapeColumns::default(), &query)?;
        let above = self.rows.len();
        let counts = (0..above).map(|row| links.of(row).len() as u64).collect();
        Ok(RelatedCounts { groups: (0..above as u32).collect(), counts })
    }

    /// Counts by a group of the link column: no related row is transferred.
    fn count_linked<B: Record>(
        &self,
        step: &RelationStep,
        above: &TableSchema,
        query: &Query<B>,
    ) -> Result<RelatedCounts> {
        let (mut values, groups) = self.link_values(above, step);
        let mut counts = vec![0; values.len()];
        if counts.is_empty() {
            return Ok(RelatedCounts { groups, counts });
        }
        let column = step.to_column();
        let linked = values.condition(column);
        let condition = query.to_condition(step.table())?.into_iter().chain(step.to_condition());
        let select = Select {
            table: Arc::clone(step.table()),
            columns: vec![Expr::Column(column), Expr::Count],
            condition: Some(Condition::And([linked].into_iter().chain(condition).collect())),
            group: vec![column],
            order: Vec::new(),
            limit: None,
            offset: 0,
            lock: None,
        };
        self.source.query(select, &mut |row| {
            if let (Some(count), ValueRef::Int(found)) =
                (counts.get_mut(values.number(row.get(0)) as usize), row.get(1))
            {
                *count = found.unsigned_abs();
            }
            Ok(true)
        })?;
        Ok(RelatedCounts { groups, counts })
    }

    /// The distinct values of the column that a relation's first step starts from, and the number of each row's value.
    fn link_values(&self, table: &TableSchema, step: &RelationStep) -> (LinkValues, Vec<u32>) {
        let column = step.from_column(table);
        let position = self.rows.position(column);
        let mut values = LinkValues::new(table, column);
        let number = |row| match starts_from(step, self.rows, row) {
            true => values.add(value_at(&self.rows.row(row), position)),
            false => NO_ROW,
        };
        let groups = (0..self.rows.len()).map(number).collect();
        (values, groups)
    }

    /// The related rows, and which rows of this level they belong to.
    fn load_linked<A: Record, B: Record>(
        &self,
        relation: ToMany<A, B>,
        columns: ShapeColumns,
        query: &Query<B>,
    ) -> Result<(ShapeRows, RowLinks, RelatedLimits)> {
        let mut steps = relation.steps().peekable();
        let nothing = || (ShapeRows::default(), RowLinks::default(), RelatedLimits::default());
        let Some(first) = steps.peek() else { return Ok(nothing()) };
        let (mut values, groups) = self.link_values(A::schema(), first);
        let count = values.len();
        // Which groups lead to each value: at first each value is a group.
        let mut origins: Vec<(u32, u32)> =
            (0..count as u32).map(|number| (number, number)).collect();
        while let Some(step) = steps.next() {
            if values.len() == 0 {
                return Ok(nothing());
            }
            let (table, link) = (step.table(), step.to_column());
            let Some(next) = steps.peek() else {
                let link_values = (step, &mut values);
                let (rows, limits) = ShapeRows::linked(self.source, columns, query, link_values)?;
                let pairs = follow(&rows, link, &values, &origins);
                return Ok((rows, RowLinks::new(groups, count, &pairs), limits));
            };
            let from = next.from_column(table);
            let mut next_columns = ShapeColumns::default();
            next_columns.step(next, table);
            let link_values = (step, &mut values);
            let (all, source) = (Query::<()>::all(), self.source);
            let (rows, _) = ShapeRows::linked(source, next_columns, &all, link_values)?;
            let mut reached = LinkValues::new(table, from);
            let position = rows.position(from);
            let mut reached_from =
                |(group, row): (u32, u32)| match starts_from(next, &rows, row as usize) {
                    true => (reached.add(value_at(&rows.row(row as usize), position)), group),
                    false => (NO_ROW, group),
                };
            let pairs = follow(&rows, link, &values, &origins).into_iter();
            origins = pairs.map(&mut reached_from).filter(|(value, _)| *value != NO_ROW).collect();
            origins.sort_unstable();
            origins.dedup();
            values = reached;
        }
        Ok(nothing())
    }
}

/// Whether a step may start from a row: if it is one of a reference to records of any type, the row names their table.
fn starts_from(step: &RelationStep, rows: &ShapeRows, row: usize) -> bool {
    step.from_text().is_none_or(|(column, text)| rows.value(row, column) == ValueRef::Text(text))
}

/// The groups that each row belongs to, by its value: pairs of a group and a row. `origins` are pairs of a value and a
/// group, sorted.
fn follow(
    rows: &ShapeRows,
    column: usize,
    values: &LinkValues,
    origins: &[(u32, u32)],
) -> Vec<(u32, u32)> {
    let position = rows.position(column);
    let mut pairs = Vec::with_capacity(rows.len());
    for row in 0..rows.len() {
        let value = values.number(value_at(&rows.row(row), position));
        if value == NO_ROW {
            continue;
        }
        let first = origins.partition_point(|&(other, _)| other < value);
        let same = origins.iter().skip(first).take_while(|&&(other, _)| other == value);
        pairs.extend(same.map(|&(_, group)| (group, row as u32)));
    }
    pairs
}
