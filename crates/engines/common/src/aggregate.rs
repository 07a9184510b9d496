//! Groups and their aggregates.
//!
//! Rows belong to one group if their values are equal under the columns' collations; the group's values are those of
//! its first row by key.

use bobak_core::codec::EncodedRow;
use bobak_core::compare_in_column;
use bobak_core::{
    Collation, Currency, Error, Expr, Result, Select, Storage, Sum, TableSchema, Type, Value,
    ValueRef,
};
use std::cmp::Ordering;
use std::collections::HashMap;

/// The groups of a query with aggregates, while its rows are read.
///
/// [`add`](Self::add) takes each row that the condition keeps; [`finish`](Self::finish) returns the
/// result. If [`needs_key_order`](Self::needs_key_order), rows must come by key.
#[derive(Debug)]
pub struct Groups<'s> {
    schema: &'s TableSchema,
    select: &'s Select,
    groups: Vec<Group>,
    /// The group of each identity.
    positions: HashMap<Vec<u8>, usize>,
    identity: Vec<u8>,
}

impl<'s> Groups<'s> {
    /// No rows yet. A query without columns to group by has one group, even without rows.
    ///
    /// `schema` is the stored table's, whose collations count.
    #[must_use]
    pub fn new(schema: &'s TableSchema, select: &'s Select) -> Self {
        let mut groups = Vec::new();
        if select.group.is_empty() {
            groups.push(Group::new(select, None));
        }
        Self { schema, select, groups, positions: HashMap::new(), identity: Vec::new() }
    }

    /// Whether the result depends on which row of a group comes first: equal values of a column that
    /// is shown may look different.
    #[must_use]
    pub fn needs_key_order(schema: &TableSchema, select: &Select) -> bool {
        let shown = select.columns.iter().filter_map(|expr| match expr {
            Expr::Min(column) | Expr::Max(column) | Expr::Column(column) => Some(column),
            _ => None,
        });
        shown.chain(&select.group).any(|column| {
            schema.columns().get(*column).is_some_and(|column| {
                column.collation != Collation::Binary
                    || matches!(column.storage, Storage::Float | Storage::Any)
            })
        })
    }

    /// Adds a row to its group.
    ///
    /// # Errors
    /// `Mismatch` if what is summed is not a number.
    pub fn add(&mut self, row: EncodedRow<'_>) -> Result<()> {
        let (schema, select) = (self.schema, self.select);
        let position = if select.group.is_empty() {
            0
        } else {
            identify(schema, select, row, &mut self.identity);
            match self.positions.get(&self.identity) {
                Some(position) => *position,
                None => {
                    self.groups.push(Group::new(select, Some(row)));
                    let position = self.groups.len() - 1;
                    self.positions.insert(self.identity.clone(), position);
                    position
                }
            }
        };
        match self.groups.get_mut(position) {
            Some(group) => group.add(schema, select, row),
            None => Ok(()),
        }
    }

    /// The rows of the result, in the query's order; its limit and offset are not applied.
    ///
    /// # Errors
    /// `OutOfRange` if a sum overflows.
    pub fn finish(mut self) -> Result<Vec<Vec<Value<'static>>>> {
        let (schema, select) = (self.schema, self.select);
        self.groups.sort_by(|a, b| a.compare(b, schema, select));
        self.groups.into_iter().map(|group| group.finish(schema, select)).collect()
    }
}

/// The state of one group.
#[derive(Debug)]
struct Group {
    /// The values of the columns that rows are grouped by.
    values: Vec<Value<'static>>,
    /// The state of each expression of the query.
    parts: Vec<AggregateState>,
}

#[derive(Debug)]
enum AggregateState {
    /// A column of the group: its place among the values.
    Value(usize),
    Count(i64),
    Sum(Sum),
    /// The smallest or largest value so far.
    Extreme(Value<'static>),
}

impl Group {
    fn new(select: &Select, first: Option<EncodedRow<'_>>) -> Self {
        let value = |c: &usize| first.map_or(Value::Null, |row| row.value(*c).to_owned());
        let part = |expr: &Expr| match expr {
            Expr::Column(column) => {
                let position = select.group.iter().position(|c| c == column);
                // `to_select` rejects others.
                position.map_or(AggregateState::Extreme(Value::Null), AggregateState::Value)
            }
            Expr::Count | Expr::CountOf(_) => AggregateState::Count(0),
            Expr::Sum(_) | Expr::Avg(_) => AggregateState::Sum(Sum::default()),
            // `Expr` is non-exhaustive; `Select` has no other expressions.
            _ => AggregateState::Extreme(Value::Null),
        };
        Self {
            values: select.group.iter().map(value).collect(),
            parts: select.columns.iter().map(part).collect(),
        }
    }

    fn add(&mut self, schema: &TableSchema, select: &Select, row: EncodedRow<'_>) -> Result<()> {
        for (part, expr) in self.parts.iter_mut().zip(&select.columns) {
            let value = expr.column().map(|column| row.value(column));
            let Some((column, value)) = expr.column().zip(value) else {
                if let AggregateState::Count(count) = part {
                    *count += 1;
                }
                continue;
            };
            if value.is_null() {
                continue;
            }
            match part {
                AggregateState::Value(_) => {}
                AggregateState::Count(count) => *count += 1,
                AggregateState::Sum(sum) => {
                    add(sum, value).map_err(|e| name(e, schema, column))?;
                }
                AggregateState::Extreme(best) => {
                    let ordering = compare_in_column(schema, column, value, best.as_ref());
                    let better = match expr {
                        Expr::Min(_) => ordering.is_lt(),
                        Expr::Max(_) => ordering.is_gt(),
                        _ => false,
                    };
                    if best.is_null() && expr.is_aggregate() || better {
                        *best = value.to_owned();
                    }
                }
            }
        }
        Ok(())
    }

    fn compare(&self, other: &Self, schema: &TableSchema, select: &Select) -> Ordering {
        for step in &select.order {
            let Some(position) = select.group.iter().position(|c| *c == step.column) else {
                continue;
            };
            let value = |group: &Self| group.values.get(position).cloned().unwrap_or_default();
            let (a, b) = (value(self), value(other));
            let ordering = compare_in_column(schema, step.column, a.as_ref(), b.as_ref());
            if ordering.is_ne() {
                return if step.descending { ordering.reverse() } else { ordering };
            }
        }
        Ordering::Equal
    }

    fn finish(self, schema: &TableSchema, select: &Select) -> Result<Vec<Value<'static>>> {
        let values = self.values;
        let pairs = self.parts.into_iter().zip(&select.columns);
        pairs
            .map(|(part, expr)| {
                let column = expr.column().unwrap_or_default();
                match (part, expr) {
                    (AggregateState::Value(position), _) => {
                        Ok(values.get(position).cloned().unwrap_or_default())
                    }
                    (AggregateState::Count(count), _) => Ok(Value::Int(count)),
                    (AggregateState::Extreme(value), _) => Ok(value),
                    (AggregateState::Sum(sum), Expr::Avg(_)) => Ok(average(&sum, schema, column)),
                    (AggregateState::Sum(sum), _) => {
                        sum.total().map_err(|e| name(e, schema, column))
                    }
                }
            })
            .collect()
    }
}

fn add(sum: &mut Sum, value: ValueRef<'_>) -> Result<()> {
    match value {
        ValueRef::Int(integer) => sum.add_integer(integer),
        ValueRef::Float(float) => sum.add_float(float),
        other => return Err(Error::mismatch("a number to sum", other)),
    }
    Ok(())
}

fn average(sum: &Sum, schema: &TableSchema, column: usize) -> Value<'static> {
    if sum.count() == 0 {
        return Value::Null;
    }
    let average = sum.as_float() / sum.count() as f64;
    let money = schema.columns().get(column).map(|c| c.ty) == Some(Type::Currency);
    let average = if money { average / Currency::SCALE as f64 } else { average };
    // As in SQLite, NaN is NULL.
    if average.is_nan() { Value::Null } else { Value::Float(average) }
}

fn name(error: Error, schema: &TableSchema, column: usize) -> Error {
    let error = error.in_table(schema.name());
    match schema.columns().get(column) {
        Some(column) => error.in_column(column.name.clone()),
        None => error,
    }
}

/// Appends bytes that are equal exactly for the rows of one group.
fn identify(schema: &TableSchema, select: &Select, row: EncodedRow<'_>, identity: &mut Vec<u8>) {
    identity.clear();
    for &column in &select.group {
        let mut put = |tag: u8, bytes: &[u8]| {
            identity.push(tag);
            identity.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
            identity.extend_from_slice(bytes);
        };
        match row.value(column) {
            ValueRef::Null => put(0, &[]),
            ValueRef::Int(i) => put(1, &i.to_le_bytes()),
            ValueRef::Float(f) => match exact_integer(f) {
                Some(i) => put(1, &i.to_le_bytes()),
                None => put(2, &f.to_le_bytes()),
            },
            ValueRef::Text(text) => {
                let collation = schema.columns().get(column).map(|c| c.collation);
                put(3, collation.unwrap_or_default().fold(text).as_bytes());
            }
            ValueRef::Bytes(bytes) => put(4, bytes),
        }
    }
}

/// The integer that a float is, if it is one.
#[must_use]
pub fn exact_integer(float: f64) -> Option<i64> {
    let bound = -(i64::MIN as f64);
    let fits = float.fract() == 0.0 && float >= -bound && float < bound;
    fits.then_some(float as i64)
}
