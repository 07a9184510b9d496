//! Queries for the rows after another one.

use crate::{Comparison, Condition, Error, ErrorKind, Order, Result, Select, TableSchema, Value};

impl Select {
    /// Adds the condition that the key follows `key`.
    ///
    /// # Errors
    /// `Mismatch` for a value of the wrong type.
    pub fn after(mut self, key: &[Value<'static>]) -> Result<Self> {
        let after = after_key(&self.table, key)?.resolve(&self.table)?;
        self.condition = Some(match self.condition {
            Some(condition) => Condition::And(vec![condition, after]),
            None => after,
        });
        Ok(self)
    }

    /// Adds the condition that a row comes after the row that has these values in the columns of the order.
    ///
    /// # Errors
    /// `Mismatch` for another number of values, or a value of the wrong type.
    pub fn after_row(mut self, values: &[Value<'static>]) -> Result<Self> {
        if values.len() != self.order.len() {
            let kind = ErrorKind::Mismatch;
            let error = Error::wrong_number(kind, values.len(), self.order.len(), "ordered column");
            return Err(error.in_table(self.table.name()));
        }
        let after = after_row(&self.table, &self.order, values)?.resolve(&self.table)?;
        self.condition = Some(match self.condition {
            Some(condition) => Condition::And(vec![condition, after]),
            None => after,
        });
        Ok(self)
    }
}

/// `key > values`, column by column.
fn after_key(table: &TableSchema, values: &[Value<'static>]) -> Result<Condition> {
    let ascending = |&column: &usize| Order { column, descending: false };
    let order: Vec<Order> = table.key().iter().map(ascending).collect();
    after_row(table, &order, values)
}

/// The condition that a row comes after another one in an order: `a > x or a = x and (b > y or …)`. `values` are the other
/// row's, in the order's columns.
fn after_row(table: &TableSchema, order: &[Order], values: &[Value<'static>]) -> Result<Condition> {
    let mut condition: Option<Condition> = None;
    for (step, value) in order.iter().zip(values).rev() {
        let nullable = table.column_at(step.column)?.nullable;
        let later = later_value(*step, value, nullable);
        condition = Some(match condition {
            None => later,
            Some(rest) => {
                let same = match value {
                    Value::Null => Condition::IsNull { column: step.column },
                    value => compare(step.column, Comparison::Equal, value),
                };
                Condition::Or(vec![later, Condition::And(vec![same, rest])])
            }
        });
    }
    condition.ok_or_else(|| {
        Error::new(ErrorKind::Schema, "a key has at least one column").in_table(table.name())
    })
}

/// The condition that a column's value comes after another one: NULL is the smallest value.
fn later_value(step: Order, value: &Value<'static>, nullable: bool) -> Condition {
    let Order { column, descending } = step;
    let is_null = Condition::IsNull { column };
    match (value, descending) {
        (Value::Null, false) => Condition::Not(Box::new(is_null)),
        (Value::Null, true) => Condition::Or(Vec::new()),
        (value, false) => compare(column, Comparison::Greater, value),
        (value, true) if nullable => {
            Condition::Or(vec![compare(column, Comparison::Less, value), is_null])
        }
        (value, true) => compare(column, Comparison::Less, value),
    }
}

fn compare(column: usize, comparison: Comparison, value: &Value<'static>) -> Condition {
    Condition::Compare { column, comparison, value: value.clone() }
}
