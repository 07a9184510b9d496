//! The part of a condition that goes to a server, where that compares as Bobak does.

use crate::{StatementDialect, StatementValue};
use bobak_core::{Comparison, Condition, Select, TableSchema, Value, ValueRef};
use std::collections::BTreeSet;

/// What a server can compare of a column and a value as Bobak does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparability {
    /// Whether they are equal.
    Equality,
    /// Which is larger, too.
    Order,
}

/// The most values of a list that the server compares.
const LIST: usize = 200;

/// The part of a condition that the server looks at.
#[derive(Debug)]
pub struct ServerCondition<'c> {
    texts: Vec<String>,
    /// The parameters.
    pub values: Vec<StatementValue<'c>>,
    /// Whether it is all of the condition.
    pub is_whole: bool,
    /// The columns that must equal one of some values.
    pub fixed: Vec<usize>,
    /// The columns that are read of the rows, in their order.
    pub shown: Vec<usize>,
}

impl<'c> ServerCondition<'c> {
    /// The part of a query's condition in the words of a database, and the columns that the query needs.
    #[must_use]
    pub fn of<D: StatementDialect>(dialect: &D, select: &'c Select) -> Self {
        let (texts, values, fixed) = Default::default();
        let mut pushed = Self { texts, values, is_whole: true, fixed, shown: read_columns(select) };
        if let Some(condition) = &select.condition {
            pushed.push(dialect, &select.table, condition);
        }
        pushed
    }

    /// ` WHERE …` with another condition, or nothing.
    #[must_use]
    pub fn text(&self, more: Option<&str>) -> String {
        let texts: Vec<&str> = self.texts.iter().map(String::as_str).chain(more).collect();
        match texts.is_empty() {
            true => String::new(),
            false => format!(" WHERE {}", texts.join(" AND ")),
        }
    }

    fn push<D: StatementDialect>(
        &mut self,
        dialect: &D,
        table: &TableSchema,
        condition: &'c Condition,
    ) {
        match condition {
            Condition::And(parts) => parts.iter().for_each(|part| self.push(dialect, table, part)),
            Condition::IsNull { column } => {
                self.texts.push(format!("{} IS NULL", dialect.column(table, *column)));
            }
            Condition::Compare { column, comparison, value } => {
                let given = (self.values.len() + 1, value.as_ref());
                match dialect.comparison(table, *column, *comparison, given) {
                    Some(text) => {
                        self.fixed.extend((*comparison == Comparison::Equal).then_some(*column));
                        self.texts.push(text);
                        self.values.push(StatementValue::new(table, *column, value.as_ref()));
                    }
                    None => self.is_whole = false,
                }
            }
            Condition::In { column, values } => self.push_list(dialect, table, *column, values),
            _ => self.is_whole = false,
        }
    }

    fn push_list<D: StatementDialect>(
        &mut self,
        dialect: &D,
        table: &TableSchema,
        place: usize,
        values: &'c [Value<'static>],
    ) {
        let equal = |given: (usize, ValueRef<'_>)| {
            dialect.comparison(table, place, Comparison::Equal, given)
        };
        let values = values.iter().map(Value::as_ref);
        let parts = (self.values.len() + 1..).zip(values.clone()).map(equal);
        match parts.collect::<Option<Vec<_>>>() {
            Some(parts) if (1..=LIST).contains(&parts.len()) => {
                self.texts.push(format!("({})", parts.join(" OR ")));
                self.values.extend(values.map(|value| StatementValue::new(table, place, value)));
                self.fixed.push(place);
            }
            _ => self.is_whole = false,
        }
    }
}

/// The columns of the table that a query needs, with the key, by which rows are sorted.
fn read_columns(select: &Select) -> Vec<usize> {
    let mut columns: BTreeSet<usize> = select.table.key().iter().copied().collect();
    columns.extend(select.columns.iter().filter_map(|expr| expr.column()));
    columns.extend(select.group.iter().copied());
    columns.extend(select.order.iter().map(|order| order.column));
    if let Some(condition) = &select.condition {
        condition.for_each_column(&mut |column| {
            columns.insert(column);
        });
    }
    if columns.is_empty() {
        // Of a view, whose rows are counted.
        columns.insert(0);
    }
    columns.into_iter().collect()
}
