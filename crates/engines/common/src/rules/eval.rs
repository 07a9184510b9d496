//! Evaluates an expression for a row, as SQLite computes it.

use bobak_core::check::{Arithmetic, CheckFunction, CheckNode};
use bobak_core::{Collation, Comparison, TableSchema, Value, ValueRef, codec::EncodedRow};
use bobak_core::{compare_values, like};
use std::cmp::Ordering;

/// The value for a row; truth values are 0, 1 and NULL.
pub(super) fn evaluate<'a>(
    node: &'a CheckNode,
    table: &TableSchema,
    row: EncodedRow<'a>,
) -> Value<'a> {
    let value_of = |node: &'a CheckNode| evaluate(node, table, row);
    match node {
        CheckNode::Column(position) => row.value(*position).into(),
        CheckNode::Literal(value, _) => value.as_ref().into(),
        CheckNode::Arithmetic(operation, a, b) => apply(*operation, &value_of(a), &value_of(b)),
        CheckNode::Concat(a, b) => match (value_of(a), value_of(b)) {
            (Value::Text(a), Value::Text(b)) => Value::from(a.into_owned() + &b),
            _ => Value::Null,
        },
        CheckNode::Call(function, arguments) => call(*function, arguments, table, row),
        _ => match condition(node, table, row) {
            Some(truth) => Value::Int(truth.into()),
            None => Value::Null,
        },
    }
}

/// The truth of a condition; `None` for NULL.
fn condition(node: &CheckNode, table: &TableSchema, row: EncodedRow<'_>) -> Option<bool> {
    let truth_of = |node| truth(&evaluate(node, table, row));
    match node {
        CheckNode::And(a, b) => match (truth_of(a), truth_of(b)) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => None,
        },
        CheckNode::Or(a, b) => match (truth_of(a), truth_of(b)) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (Some(false), Some(false)) => Some(false),
            _ => None,
        },
        CheckNode::Not(inner) => truth_of(inner).map(|truth| !truth),
        CheckNode::IsNull(inner) => Some(evaluate(inner, table, row).is_null()),
        CheckNode::Is(a, b) => {
            let (left, right) = (evaluate(a, table, row), evaluate(b, table, row));
            let ordering = compare(table, a, b, left.as_ref(), right.as_ref());
            Some(ordering.map_or(left.is_null() && right.is_null(), Ordering::is_eq))
        }
        CheckNode::Compare(comparison, a, b) => holds(*comparison, a, b, table, row),
        CheckNode::In(inner, values) => is_in(inner, values, table, row),
        CheckNode::Like(a, b) => match (evaluate(a, table, row), evaluate(b, table, row)) {
            (Value::Text(text), Value::Text(pattern)) => Some(like(&pattern, &text)),
            _ => None,
        },
        _ => truth_of(node),
    }
}

fn holds(
    comparison: Comparison,
    a: &CheckNode,
    b: &CheckNode,
    table: &TableSchema,
    row: EncodedRow<'_>,
) -> Option<bool> {
    let (left, right) = (evaluate(a, table, row), evaluate(b, table, row));
    let ordering = compare(table, a, b, left.as_ref(), right.as_ref());
    ordering.map(|ordering| comparison.holds(ordering))
}

fn is_in(
    node: &CheckNode,
    values: &[CheckNode],
    table: &TableSchema,
    row: EncodedRow<'_>,
) -> Option<bool> {
    let found = evaluate(node, table, row);
    let mut unknown = false;
    for value in values {
        let value = evaluate(value, table, row);
        // Only the left side's collation counts here.
        match compare(table, node, node, found.as_ref(), value.as_ref()) {
            Some(Ordering::Equal) => return Some(true),
            Some(_) => {}
            None => unknown = true,
        }
    }
    if unknown { None } else { Some(false) }
}

fn apply<'a>(operation: Arithmetic, a: &Value<'_>, b: &Value<'_>) -> Value<'a> {
    let (Some(x), Some(y)) = (number(a), number(b)) else {
        return Value::Null;
    };
    if let (&Value::Int(a), &Value::Int(b)) = (a, b) {
        let exact = match operation {
            Arithmetic::Add => a.checked_add(b),
            Arithmetic::Subtract => a.checked_sub(b),
            Arithmetic::Multiply => a.checked_mul(b),
            Arithmetic::Divide | Arithmetic::Remainder if b == 0 => return Value::Null,
            Arithmetic::Divide => a.checked_div(b),
            Arithmetic::Remainder => Some(a.wrapping_rem(b)),
        };
        if let Some(exact) = exact {
            return Value::Int(exact);
        }
    }
    let float = match operation {
        Arithmetic::Add => x + y,
        Arithmetic::Subtract => x - y,
        Arithmetic::Multiply => x * y,
        Arithmetic::Divide if y == 0.0 => return Value::Null,
        Arithmetic::Divide => x / y,
        Arithmetic::Remainder => match (x as i64, y as i64) {
            (_, 0) => return Value::Null,
            (x, y) => x.wrapping_rem(y) as f64,
        },
    };
    if float.is_nan() { Value::Null } else { Value::Float(float) }
}

fn call<'a>(
    function: CheckFunction,
    arguments: &'a [CheckNode],
    table: &TableSchema,
    row: EncodedRow<'a>,
) -> Value<'a> {
    if let (CheckFunction::Iif, [condition, first, second]) = (function, arguments) {
        let holds = truth(&evaluate(condition, table, row)) == Some(true);
        return evaluate(if holds { first } else { second }, table, row);
    }
    let mut values = arguments.iter().map(|node| evaluate(node, table, row));
    if function == CheckFunction::Coalesce {
        return values.find(|value| !value.is_null()).unwrap_or_default();
    }
    let first = values.next().unwrap_or_default();
    match (function, first) {
        (CheckFunction::NullIf, first) => {
            let second = values.next().unwrap_or_default();
            let equal = match arguments {
                [a, b] => compare(table, a, b, first.as_ref(), second.as_ref()),
                _ => None,
            };
            if equal == Some(Ordering::Equal) { Value::Null } else { first }
        }
        // SQLite counts the characters before the first NUL.
        (CheckFunction::Length, Value::Text(text)) => {
            Value::Int(text.chars().take_while(|c| *c != '\0').count() as i64)
        }
        (CheckFunction::Length, Value::Bytes(bytes)) => Value::Int(bytes.len() as i64),
        (CheckFunction::Abs, Value::Int(i)) => i.checked_abs().map_or(Value::Null, Value::Int),
        (CheckFunction::Abs, Value::Float(f)) => Value::Float(f.abs()),
        (CheckFunction::Lower, Value::Text(text)) => text.to_ascii_lowercase().into(),
        (CheckFunction::Upper, Value::Text(text)) => text.to_ascii_uppercase().into(),
        (CheckFunction::Trim, Value::Text(text)) => text.trim_matches(' ').to_owned().into(),
        (function, document) => part_of(function, &document, &values.next().unwrap_or_default()),
    }
}

/// A part of a document. A text that is no document has none.
fn part_of(function: CheckFunction, document: &Value<'_>, path: &Value<'_>) -> Value<'static> {
    let function = function.json_function().filter(|_| !document.is_null());
    let part = function.map(|function| function.of_json(&[document.as_ref(), path.as_ref()]));
    part.and_then(Result::ok).unwrap_or_default()
}

/// The truth of a value; `None` for NULL.
pub(super) fn truth(value: &Value<'_>) -> Option<bool> {
    number(value).map(|number| number != 0.0)
}

fn number(value: &Value<'_>) -> Option<f64> {
    match value {
        Value::Int(i) => Some(*i as f64),
        Value::Float(f) => Some(*f),
        _ => None,
    }
}

/// Compares under the collation of the left side if it is a column, else of the right.
fn compare(
    table: &TableSchema,
    left: &CheckNode,
    right: &CheckNode,
    a: ValueRef<'_>,
    b: ValueRef<'_>,
) -> Option<Ordering> {
    if a.is_null() || b.is_null() {
        return None;
    }
    let (ValueRef::Text(x), ValueRef::Text(y)) = (a, b) else {
        return Some(compare_values(a, b));
    };
    let collation = |node: &CheckNode| match node {
        CheckNode::Column(position) => table.columns().get(*position).map(|c| c.collation),
        _ => None,
    };
    let collation: Collation = collation(left).or_else(|| collation(right)).unwrap_or_default();
    Some(collation.compare(x, y))
}
