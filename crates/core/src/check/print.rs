//! Prints an expression in a canonical spelling, with the record's own values.

use super::CheckNode;
use crate::{
    Comparison, Currency, Date, DateTime, Field, TableSchema, Time, Timestamp, Type, Uuid, Value,
    ValueRef,
};
use std::fmt::Display;

/// How tightly an expression binds; a looser one inside a tighter one needs parentheses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Binding {
    Or,
    And,
    Not,
    Comparison,
    Sum,
    Product,
    Concat,
    Atom,
}

pub(super) fn to_text(node: &CheckNode, table: &TableSchema) -> String {
    let mut text = String::new();
    push(&mut text, node, table, Binding::Or);
    text
}

fn binding(node: &CheckNode) -> Binding {
    use super::Arithmetic::{Add, Subtract};
    match node {
        CheckNode::Or(..) => Binding::Or,
        CheckNode::And(..) => Binding::And,
        CheckNode::Not(_) => Binding::Not,
        CheckNode::IsNull(_)
        | CheckNode::Is(..)
        | CheckNode::Compare(..)
        | CheckNode::In(..)
        | CheckNode::Like(..) => Binding::Comparison,
        CheckNode::Arithmetic(Add | Subtract, ..) => Binding::Sum,
        CheckNode::Arithmetic(..) => Binding::Product,
        CheckNode::Concat(..) => Binding::Concat,
        CheckNode::Column(_) | CheckNode::Literal(..) | CheckNode::Call(..) => Binding::Atom,
    }
}

/// Adds a node, in parentheses if it binds more loosely than `at_least`.
fn push(text: &mut String, node: &CheckNode, table: &TableSchema, at_least: Binding) {
    let parentheses = binding(node) < at_least;
    text.push_str(if parentheses { "(" } else { "" });
    push_bare(text, node, table);
    text.push_str(if parentheses { ")" } else { "" });
}

fn push_bare(text: &mut String, node: &CheckNode, table: &TableSchema) {
    use Binding::{And, Atom, Concat, Or, Product, Sum};
    let mut pair = |left, left_binding, operator: &str, right, right_binding| {
        push(text, left, table, left_binding);
        text.push_str(operator);
        push(text, right, table, right_binding);
    };
    match node {
        CheckNode::Column(position) => {
            let column = table.columns().get(*position);
            push_name(text, column.map_or("", |column| column.name.as_ref()));
        }
        CheckNode::Literal(value, ty) => push_literal(text, value, *ty),
        CheckNode::And(left, right) => pair(left, And, " AND ", right, Binding::Not),
        CheckNode::Or(left, right) => pair(left, Or, " OR ", right, And),
        CheckNode::Not(inner) => {
            text.push_str("NOT ");
            push(text, inner, table, Atom);
        }
        CheckNode::IsNull(inner) => {
            push(text, inner, table, Sum);
            text.push_str(" IS NULL");
        }
        CheckNode::Is(left, right) => pair(left, Sum, " IS ", right, Sum),
        CheckNode::Compare(comparison, left, right) => {
            pair(left, Sum, operator(*comparison), right, Sum);
        }
        CheckNode::In(inner, values) => {
            push(text, inner, table, Sum);
            text.push_str(" IN ");
            push_list(text, values, table);
        }
        CheckNode::Like(left, right) => pair(left, Sum, " LIKE ", right, Sum),
        CheckNode::Arithmetic(operation, left, right) => {
            let (own, tighter) = match binding(node) {
                Sum => (Sum, Product),
                _ => (Product, Concat),
            };
            pair(left, own, &format!(" {} ", operation.operator()), right, tighter);
        }
        CheckNode::Concat(left, right) => pair(left, Concat, " || ", right, Atom),
        CheckNode::Call(function, arguments) => {
            text.push_str(function.name());
            push_list(text, arguments, table);
        }
    }
}

fn push_list(text: &mut String, nodes: &[CheckNode], table: &TableSchema) {
    text.push('(');
    for (index, node) in nodes.iter().enumerate() {
        text.push_str(if index > 0 { ", " } else { "" });
        push(text, node, table, Binding::Or);
    }
    text.push(')');
}

const fn operator(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Equal => " = ",
        Comparison::NotEqual => " <> ",
        Comparison::Less => " < ",
        Comparison::LessOrEqual => " <= ",
        Comparison::Greater => " > ",
        Comparison::GreaterOrEqual => " >= ",
    }
}

/// A plain word that is no keyword of the grammar needs no quotes.
fn push_name(text: &mut String, name: &str) {
    const KEYWORDS: [&str; 14] = [
        "and", "or", "not", "is", "isnull", "notnull", "between", "in", "like", "null", "true",
        "false", "case", "select",
    ];
    let mut characters = name.chars();
    let is_word = characters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && characters.all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !KEYWORDS.iter().any(|keyword| keyword.eq_ignore_ascii_case(name));
    if is_word {
        text.push_str(name);
    } else {
        push_quoted(text, '"', name);
    }
}

fn push_quoted(text: &mut String, quote: char, content: &str) {
    text.push(quote);
    for character in content.chars() {
        if character == quote {
            text.push(quote);
        }
        text.push(character);
    }
    text.push(quote);
}

fn push_literal(text: &mut String, value: &Value<'_>, ty: Option<Type>) {
    if let Some(shown) = ty.and_then(|ty| shown(ty, value.as_ref())) {
        match ty {
            // As short as people write it.
            Some(Type::Currency) => {
                text.push_str(shown.trim_end_matches('0').trim_end_matches('.'));
            }
            _ => push_quoted(text, '\'', &shown),
        }
        return;
    }
    match value {
        // Its digits alone are beyond the largest integer.
        Value::Int(i64::MIN) => text.push_str("(-9223372036854775807 - 1)"),
        _ => text.push_str(&value.to_string()),
    }
}

/// The text of a stored value of a type; `None` if the type has no such value.
fn shown(ty: Type, value: ValueRef<'_>) -> Option<String> {
    fn field<F: Field + Display>(value: ValueRef<'_>) -> Option<String> {
        F::from_value(value).ok().map(|value| value.to_string())
    }
    match ty {
        Type::Currency => field::<Currency>(value),
        Type::Date => field::<Date>(value),
        Type::Time => field::<Time>(value),
        Type::DateTime => field::<DateTime>(value),
        Type::Timestamp => field::<Timestamp>(value),
        Type::Uuid => field::<Uuid>(value),
        _ => None,
    }
}
