//! An expression that equals one of many values.

use super::JoinWriter;
use crate::list::{LONG_LIST, pack, padded_length};
use bobak_core::join::{JoinCondition, JoinExpr};
use bobak_core::{ColumnSchema, Comparison, Type, Value};

impl<'a> JoinWriter<'a> {
    /// Writes comparisons of one expression with many values as a list: SQLite nests no more than 1,000 of them, and each
    /// number of them would be a statement of its own. Returns whether they are such.
    pub(super) fn push_members(&mut self, parts: &'a [JoinCondition]) -> bool {
        let Some((expr, values)) = members(parts) else { return false };
        let is_known = |value: &&JoinExpr| !matches!(value, JoinExpr::Value(Value::Null, _));
        let (known, nulls): (Vec<_>, Vec<_>) = values.into_iter().partition(is_known);
        let unknown = self.dialect().unknown();
        let Some(&last) = known.last().filter(|_| self.storage(expr).is_some()) else {
            self.raw(unknown);
            return true;
        };
        known.iter().for_each(|value| self.require_comparable(expr, value));
        self.push_compared(expr);
        if !self.push_member_array(&known) {
            let length = padded_length(self.dialect(), known.len());
            let padded = known.into_iter().chain(std::iter::repeat(last)).take(length);
            self.raw(" IN (");
            self.list(", ", padded, Self::push_compared);
            self.raw(")");
        }
        if !nulls.is_empty() {
            self.raw(" OR ");
            self.raw(unknown);
        }
        true
    }

    /// Values that are all integers or all texts, as one parameter.
    fn push_member_array(&mut self, values: &[&'a JoinExpr]) -> bool {
        let ty = match values.first() {
            Some(JoinExpr::Value(Value::Int(_), _)) => Type::I64,
            _ => Type::Text,
        };
        let value = |expr: &&'a JoinExpr| match expr {
            JoinExpr::Value(value, _) => Some(value.as_ref()),
            _ => None,
        };
        let values: Vec<_> = values.iter().filter_map(value).collect();
        let array = pack(self.dialect(), &ColumnSchema::new("value", ty), &values);
        array.map(|array| array.push(&mut self.writer, false)).is_some()
    }
}

/// The expression and the values, if all conditions say that it equals a value.
fn members(parts: &[JoinCondition]) -> Option<(&JoinExpr, Vec<&JoinExpr>)> {
    let first = parts.first().filter(|_| parts.len() >= LONG_LIST)?;
    let (expr, _) = member(first)?;
    let values = parts.iter().map(|part| member(part).filter(|(left, _)| *left == expr));
    Some((expr, values.map(|found| found.map(|(_, value)| value)).collect::<Option<_>>()?))
}

/// The expression and the value of which a condition says that they are equal.
fn member(condition: &JoinCondition) -> Option<(&JoinExpr, &JoinExpr)> {
    match condition {
        JoinCondition::Compare(expr, Comparison::Equal, value @ JoinExpr::Value(..)) => {
            Some((expr, value))
        }
        _ => None,
    }
}
