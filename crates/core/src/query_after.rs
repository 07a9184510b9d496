//! Queries for the rows after another one.

use crate::join::{JoinColumn, JoinExpr};
use crate::{
    Comparison, Condition, Error, ErrorKind, Join, KeyGeneration, Order, Result, Select,
    TableSchema, Value, ValueRef,
};

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

    /// Adds the condition that a row comes after the row that has these values in the columns of the order. `weak_types` is
    /// the engine's [capability](crate::Capabilities::weak_types): keys may be NULL.
    ///
    /// # Errors
    /// `Mismatch` for another number of values, or a value of the wrong type.
    pub fn after_row(mut self, values: &[Value<'static>], weak_types: bool) -> Result<Self> {
        if values.len() != self.order.len() {
            let kind = ErrorKind::Mismatch;
            let error = Error::wrong_number(kind, values.len(), self.order.len(), "ordered column");
            return Err(error.in_table(self.table.name()));
        }
        let after = after_row(&self.table, &self.order, values, weak_types)?;
        let after = after.resolve(&self.table)?;
        self.condition = Some(match self.condition {
            Some(condition) => Condition::And(vec![condition, after]),
            None => after,
        });
        Ok(self)
    }

    /// Checks that the values of a row in the columns of the order locate it: that its key has no NULL, which several rows
    /// may have, and that each value is of its column's type. SQLite files of other programs have rows without both.
    ///
    /// # Errors
    /// As [`no_place`].
    pub fn check_place(&self, values: &[Value<'_>]) -> Result<()> {
        let table = &self.table;
        for (step, value) in self.order.iter().zip(values) {
            let column = table.column_at(step.column)?;
            let is_null_key = value.is_null() && table.key().contains(&step.column);
            if is_null_key || column.check_stored(value.as_ref()).is_err() {
                let columns = self.order.iter().filter_map(|step| table.columns().get(step.column));
                let row = columns.zip(values).map(|(c, value)| (&*c.name, value.as_ref()));
                return Err(no_place(&column.name, row).in_table(table.name()));
            }
        }
        Ok(())
    }
}

impl Join {
    /// Whether the expression is a column of the key that each row of the result has: that of the first table, unless the
    /// rows are groups.
    #[must_use]
    pub fn is_of_key(&self, expr: &JoinExpr) -> bool {
        let JoinExpr::Column(JoinColumn { table: 0, column }) = *expr else { return false };
        let first = self.tables.first();
        first.is_some_and(|first| first.table.key().contains(&column)) && !self.is_grouped()
    }
}

/// The error for a row of these values in the order, behind which no page can begin, because of one of them: `Mismatch`.
#[cold]
pub fn no_place<'v>(column: &str, row: impl IntoIterator<Item = (&'v str, ValueRef<'v>)>) -> Error {
    let message = "the next page can't begin behind this row, because a value of it is not of its column's type, or NULL in \
                   the key: read the next rows with an offset, or correct the row";
    Error::new(ErrorKind::Mismatch, message).in_column(column.to_owned()).in_row(row)
}

/// `key > values`, column by column.
fn after_key(table: &TableSchema, values: &[Value<'static>]) -> Result<Condition> {
    let ascending = |&column: &usize| Order { column, descending: false };
    let order: Vec<Order> = table.key().iter().map(ascending).collect();
    after_row(table, &order, values, false)
}

/// The condition that a row comes after another one in an order: `a > x or a = x and (b > y or …)`. `values` are the other
/// row's, in the order's columns.
fn after_row(
    table: &TableSchema,
    order: &[Order],
    values: &[Value<'static>],
    weak_types: bool,
) -> Result<Condition> {
    // Of the keys of a weakly typed engine, only row numbers are never NULL.
    let is_generated = table.key_generation() == KeyGeneration::Engine;
    let has_null_keys = weak_types && !(table.has_integer_key() && is_generated);
    let mut condition: Option<Condition> = None;
    for (step, value) in order.iter().zip(values).rev() {
        let is_key = table.key().contains(&step.column);
        let nullable = table.column_at(step.column)?.nullable || is_key && has_null_keys;
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
