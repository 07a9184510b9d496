//! What an expression gives for a row, as SQLite computes it.

use super::{Arithmetic, Function, Node};
use bobak_core::{Collation, TableSchema, Value, ValueRef, codec::EncodedRow};
use bobak_core::{compare_values, like};
use std::cmp::Ordering;

impl Node {
    /// The value for a row; truths are 0, 1 and NULL.
    pub(super) fn eval<'a>(&'a self, table: &TableSchema, row: EncodedRow<'a>) -> Value<'a> {
        let truth_of = |node: &Self| truth(&node.eval(table, row));
        match self {
            Self::Column(place) => row.value(*place).into(),
            Self::Literal(value) => value.as_ref().into(),
            Self::And(a, b) => from_truth(match (truth_of(a), truth_of(b)) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            }),
            Self::Or(a, b) => from_truth(match (truth_of(a), truth_of(b)) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            }),
            Self::Not(node) => from_truth(truth_of(node).map(|truth| !truth)),
            Self::IsNull(node) => from_truth(Some(node.eval(table, row).is_null())),
            Self::Is(a, b) => {
                let (left, right) = (a.eval(table, row), b.eval(table, row));
                let same = compare(table, a, b, left.as_ref(), right.as_ref());
                let same = same.map_or(left.is_null() && right.is_null(), Ordering::is_eq);
                from_truth(Some(same))
            }
            Self::Compare(comparison, a, b) => {
                let (left, right) = (a.eval(table, row), b.eval(table, row));
                let ordering = compare(table, a, b, left.as_ref(), right.as_ref());
                from_truth(ordering.map(|ordering| comparison.holds(ordering)))
            }
            Self::In(node, values) => from_truth(node.is_in(values, table, row)),
            Self::Like(a, b) => match (a.eval(table, row), b.eval(table, row)) {
                (Value::Text(text), Value::Text(pattern)) => {
                    from_truth(Some(like(&pattern, &text)))
                }
                _ => Value::Null,
            },
            Self::Arithmetic(operation, a, b) => {
                operation.apply(&a.eval(table, row), &b.eval(table, row))
            }
            Self::Concat(a, b) => match (a.eval(table, row), b.eval(table, row)) {
                (Value::Text(a), Value::Text(b)) => Value::from(a.into_owned() + &b),
                _ => Value::Null,
            },
            Self::Call(function, arguments) => function.call(arguments, table, row),
        }
    }

    fn is_in(&self, values: &[Self], table: &TableSchema, row: EncodedRow<'_>) -> Option<bool> {
        let found = self.eval(table, row);
        let mut unknown = false;
        for node in values {
            let value = node.eval(table, row);
            // The left side's collation alone counts here.
            match compare(table, self, self, found.as_ref(), value.as_ref()) {
                Some(Ordering::Equal) => return Some(true),
                Some(_) => {}
                None => unknown = true,
            }
        }
        if unknown { None } else { Some(false) }
    }
}

impl Arithmetic {
    fn apply<'a>(self, a: &Value<'_>, b: &Value<'_>) -> Value<'a> {
        let (Some(x), Some(y)) = (number(a), number(b)) else {
            return Value::Null;
        };
        if let (&Value::Int(a), &Value::Int(b)) = (a, b) {
            let exact = match self {
                Self::Add => a.checked_add(b),
                Self::Subtract => a.checked_sub(b),
                Self::Multiply => a.checked_mul(b),
                Self::Divide | Self::Remainder if b == 0 => return Value::Null,
                Self::Divide => a.checked_div(b),
                Self::Remainder => Some(a.wrapping_rem(b)),
            };
            if let Some(exact) = exact {
                return Value::Int(exact);
            }
        }
        let float = match self {
            Self::Add => x + y,
            Self::Subtract => x - y,
            Self::Multiply => x * y,
            Self::Divide if y == 0.0 => return Value::Null,
            Self::Divide => x / y,
            Self::Remainder => match (x as i64, y as i64) {
                (_, 0) => return Value::Null,
                (x, y) => x.wrapping_rem(y) as f64,
            },
        };
        if float.is_nan() { Value::Null } else { Value::Float(float) }
    }
}

impl Function {
    fn call<'a>(
        self,
        arguments: &'a [Node],
        table: &TableSchema,
        row: EncodedRow<'a>,
    ) -> Value<'a> {
        let mut values = arguments.iter().map(|node| node.eval(table, row));
        if self == Self::Coalesce {
            return values.find(|value| !value.is_null()).unwrap_or_default();
        }
        let first = values.next().unwrap_or_default();
        match (self, first) {
            (Self::NullIf, first) => {
                let second = values.next().unwrap_or_default();
                let equal = match arguments {
                    [a, b] => compare(table, a, b, first.as_ref(), second.as_ref()),
                    _ => None,
                };
                if equal == Some(Ordering::Equal) { Value::Null } else { first }
            }
            // SQLite counts the characters before the first NUL.
            (Self::Length, Value::Text(text)) => {
                Value::Int(text.chars().take_while(|c| *c != '\0').count() as i64)
            }
            (Self::Length, Value::Bytes(bytes)) => Value::Int(bytes.len() as i64),
            (Self::Abs, Value::Int(i)) => i.checked_abs().map_or(Value::Null, Value::Int),
            (Self::Abs, Value::Float(f)) => Value::Float(f.abs()),
            (Self::Lower, Value::Text(text)) => text.to_ascii_lowercase().into(),
            (Self::Upper, Value::Text(text)) => text.to_ascii_uppercase().into(),
            (Self::Trim, Value::Text(text)) => text.trim_matches(' ').to_owned().into(),
            _ => Value::Null,
        }
    }
}

/// The truth of a value; `None` for NULL.
pub(super) fn truth(value: &Value<'_>) -> Option<bool> {
    number(value).map(|number| number != 0.0)
}

const fn from_truth<'a>(truth: Option<bool>) -> Value<'a> {
    match truth {
        Some(truth) => Value::Int(truth as i64),
        None => Value::Null,
    }
}

fn number(value: &Value<'_>) -> Option<f64> {
    match value {
        Value::Int(i) => Some(*i as f64),
        Value::Float(f) => Some(*f),
        _ => None,
    }
}

/// Compares under the collation of the left side where it is a column, else of the right.
fn compare(
    table: &TableSchema,
    left: &Node,
    right: &Node,
    a: ValueRef<'_>,
    b: ValueRef<'_>,
) -> Option<Ordering> {
    if a.is_null() || b.is_null() {
        return None;
    }
    let (ValueRef::Text(x), ValueRef::Text(y)) = (a, b) else {
        return Some(compare_values(a, b));
    };
    let collation = |node: &Node| match node {
        Node::Column(place) => table.columns().get(*place).map(|c| c.collation),
        _ => None,
    };
    let collation: Collation = collation(left).or_else(|| collation(right)).unwrap_or_default();
    Some(collation.compare(x, y))
}
