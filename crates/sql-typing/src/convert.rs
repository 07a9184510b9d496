//! Conversion of expressions between units.

use crate::decimal::Decimal;
use crate::kind::{ValueKind, is_time, long_decimal, mismatch, noun};
use bobak_core::{Error, Result, Type, Value, stored_literal};
use std::fmt::Write;
use turso_parser::ast::{
    Expr, FunctionTail, Literal, Name, Operator, Type as TypeName, TypeSize, UnaryOperator,
};

/// Makes an expression of one kind one of another, where both meet in a comparison or a column.
/// Returns whether it was rewritten.
///
/// # Errors
/// `Mismatch` if SQL cannot compare or combine them.
pub(crate) fn convert(e: &mut Expr, from: ValueKind, to: ValueKind) -> Result<bool> {
    if from == ValueKind::Null || from == to || matches!(e, Expr::Literal(Literal::Null)) {
        return Ok(false);
    }
    match (from.unit(), to.unit()) {
        (None, None) => Ok(false),
        (None, Some(ty)) => to_unit(e, from, ty).map(|()| true),
        (Some(ty), None) if ty != Type::Currency && is_number(to) => {
            let help = "store it in a column of its type, or as text";
            Err(mismatch(format!("{} is not a number: {help}", noun(ty))))
        }
        (Some(ty), None) => Ok(to_plain(e, ty, to == ValueKind::Of(Type::Text))),
        (Some(Type::Date), Some(Type::DateTime | Type::Timestamp)) => {
            let day = number("86400000000");
            *e = parenthesized(Expr::binary(operand(take(e)), Operator::Multiply, day));
            Ok(true)
        }
        (Some(Type::DateTime | Type::Timestamp), Some(Type::DateTime | Type::Timestamp)) => {
            Ok(false)
        }
        (Some(from), Some(to)) if from == to => Ok(false),
        (Some(from), Some(to)) => {
            let (from, to) = (noun(from), noun(to));
            Err(mismatch(format!("{from} cannot be used as {to}")))
        }
    }
}

/// Whether values are numbers, and in no other unit.
const fn is_number(kind: ValueKind) -> bool {
    use Type::{F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
    matches!(kind, ValueKind::Of(I8 | I16 | I32 | I64 | U8 | U16 | U32 | U64 | F32 | F64))
}

/// Converts what is not in the type's unit: literals now, other values when the statement runs.
fn to_unit(e: &mut Expr, from: ValueKind, ty: Type) -> Result<()> {
    if ty == Type::Decimal {
        return to_digits(e, from);
    }
    let accepts = match from {
        ValueKind::Of(Type::Text) => ty != Type::Currency,
        ValueKind::Of(Type::Bytes) => ty == Type::Uuid,
        ValueKind::Of(Type::Json | Type::Bool) => false,
        ValueKind::Of(Type::Any) | ValueKind::Plain | ValueKind::Null => true,
        ValueKind::Of(_) => ty == Type::Currency,
    };
    if !accepts {
        return Err(not_combined(from, ty));
    }
    match literal(e) {
        Some(SpelledLiteral::Number(text)) => {
            let amount = Decimal::parse(&text).and_then(Decimal::exact_amount);
            let scaled = amount.ok_or_else(|| mismatch(not_an_amount(&text)))?;
            *e = number(&scaled.to_string());
        }
        Some(SpelledLiteral::Text(text)) if ty == Type::Currency => {
            return Err(mismatch(format!("'{text}' is not an amount: write it without quotes")));
        }
        Some(SpelledLiteral::Text(text)) => *e = stored_expr(&stored_literal(ty, &text)?),
        None => *e = call(unit_function(ty), vec![take(e)]),
    }
    Ok(())
}

#[cold]
fn not_combined(from: ValueKind, ty: Type) -> Error {
    let given = if let ValueKind::Of(given) = from { noun(given) } else { "this" };
    let help = match ty {
        Type::Currency => "write the amount as a number without quotes",
        _ => "write it as text in single quotes",
    };
    mismatch(format!("{given} cannot be compared or combined with {}: {help}", noun(ty)))
}

/// A value for a column of long decimal numbers, which are texts.
fn to_digits(e: &mut Expr, from: ValueKind) -> Result<()> {
    match (literal(e), from) {
        (Some(SpelledLiteral::Number(digits)), _) => {
            *e = Expr::Literal(Literal::String(format!("'{digits}'")));
            Ok(())
        }
        (_, ValueKind::Of(Type::Text | Type::Any) | ValueKind::Plain | ValueKind::Null) => Ok(()),
        _ => Err(long_decimal()),
    }
}

fn not_an_amount(text: &str) -> String {
    format!("{text} is not an amount: it has at most four decimals, up to ±922337203685477.5807")
}

const fn unit_function(ty: Type) -> &'static str {
    match ty {
        Type::Currency => "bobak_amount",
        Type::Date => "bobak_date",
        Type::Time => "bobak_time",
        Type::DateTime => "bobak_datetime",
        Type::Timestamp => "bobak_timestamp",
        _ => "bobak_uuid",
    }
}

/// Makes a value without a unit: amounts become numbers, or text if `as_text`; dates and times
/// become text. Returns whether it was rewritten.
pub(crate) fn to_plain(e: &mut Expr, ty: Type, as_text: bool) -> bool {
    *e = match ty {
        Type::Currency if as_text => call("bobak_amount_text", vec![take(e)]),
        Type::Currency => to_number(take(e)),
        Type::Uuid if !as_text => return false,
        Type::Decimal => return false,
        _ => call(&format!("{}_text", unit_function(ty)), vec![take(e)]),
    };
    true
}

/// An amount as a floating-point number.
pub(crate) fn to_number(amount: Expr) -> Expr {
    parenthesized(Expr::binary(operand(amount), Operator::Divide, number("10000.0")))
}

/// A moment as what SQLite's date functions read.
pub(crate) fn to_clock(e: &mut Expr, ty: Type) -> Result<()> {
    let function = match ty {
        Type::DateTime | Type::Timestamp => "bobak_clock",
        Type::Time => "bobak_clock_time",
        Type::Date => "bobak_date_text",
        _ => return Err(mismatch(format!("{} is not a date or time", noun(ty)))),
    };
    *e = call(function, vec![take(e)]);
    Ok(())
}

/// The text of a literal in quotes.
pub(crate) fn text_literal(e: &Expr) -> Option<String> {
    match literal(e)? {
        SpelledLiteral::Text(text) => Some(text),
        SpelledLiteral::Number(_) => None,
    }
}

/// A literal, as spelled.
enum SpelledLiteral {
    Number(String),
    Text(String),
}

/// The literal that an expression consists of.
fn literal(e: &Expr) -> Option<SpelledLiteral> {
    match e {
        Expr::Literal(Literal::Numeric(text)) if text.contains('_') => {
            Some(SpelledLiteral::Number(text.replace('_', "")))
        }
        Expr::Literal(Literal::Numeric(text)) => Some(SpelledLiteral::Number(text.clone())),
        Expr::Literal(Literal::String(quoted)) => {
            let inner = quoted.strip_prefix('\'')?.strip_suffix('\'')?;
            Some(SpelledLiteral::Text(inner.replace("''", "'")))
        }
        Expr::Parenthesized(inner) if inner.len() == 1 => literal(inner.first()?),
        Expr::Unary(sign @ (UnaryOperator::Negative | UnaryOperator::Positive), inner) => {
            let SpelledLiteral::Number(text) = literal(inner)? else { return None };
            Some(SpelledLiteral::Number(match (sign, text.strip_prefix('-')) {
                (UnaryOperator::Negative, Some(positive)) => positive.to_owned(),
                (UnaryOperator::Negative, None) => format!("-{text}"),
                _ => text,
            }))
        }
        _ => None,
    }
}

fn stored_expr(value: &Value<'_>) -> Expr {
    match value {
        Value::Int(stored) => number(&stored.to_string()),
        Value::Bytes(bytes) => {
            let mut hex = String::with_capacity(bytes.len() * 2 + 3);
            hex.push_str("X'");
            for byte in bytes.iter() {
                // Writing to a String does not fail.
                let _ = write!(hex, "{byte:02X}");
            }
            hex.push('\'');
            Expr::Literal(Literal::Blob(hex))
        }
        _ => Expr::Literal(Literal::Null),
    }
}

/// `CAST(e AS type)`, for the types that Bobak has. `None` if it stays SQLite's own.
///
/// # Errors
/// `Mismatch` for a type that the values cannot have.
pub(crate) fn cast(e: &mut Expr, from: ValueKind, target: &TypeName) -> Result<Option<ValueKind>> {
    let name = target.name.to_ascii_uppercase();
    let wanted = match name.as_str() {
        "DECIMAL" | "NUMERIC" => return cast_decimal(e, from, target.size.as_ref()),
        "DATE" => Type::Date,
        "TIME" => Type::Time,
        "DATETIME" => Type::DateTime,
        "TIMESTAMP" => Type::Timestamp,
        "UUID" => Type::Uuid,
        _ => return cast_from_unit(e, from, &name),
    };
    match (from.unit(), wanted) {
        (Some(Type::DateTime | Type::Timestamp), Type::Date) => {
            *e = call("bobak_day", vec![take(e)]);
        }
        _ => drop(convert(e, from, ValueKind::Of(wanted))?),
    }
    Ok(Some(ValueKind::Of(wanted)))
}

/// A decimal type with one to four decimals is an amount.
fn cast_decimal(
    e: &mut Expr,
    from: ValueKind,
    size: Option<&TypeSize>,
) -> Result<Option<ValueKind>> {
    let decimals = match size {
        Some(TypeSize::TypeSize(_, decimals)) => decimals.to_string().parse::<u8>().ok(),
        Some(TypeSize::MaxSize(_)) => Some(0),
        None => None,
    };
    const AMOUNT: ValueKind = ValueKind::Of(Type::Currency);
    match decimals {
        Some(decimals @ 0..=4)
            if from == AMOUNT || from == ValueKind::Of(Type::Decimal) || decimals > 0 =>
        {
            if from != AMOUNT {
                let is_long = from == ValueKind::Of(Type::Decimal);
                let function = if is_long { "bobak_amount_of_digits" } else { "bobak_amount" };
                *e = call(function, vec![take(e)]);
            }
            if decimals < 4 {
                *e = call("bobak_round", vec![take(e), number(&decimals.to_string())]);
            }
            Ok(Some(AMOUNT))
        }
        _ if from == AMOUNT => Ok(Some(AMOUNT)),
        _ => Ok(None),
    }
}

/// A cast of an amount, date or time to one of SQLite's own types, by the letters of its name.
fn cast_from_unit(e: &mut Expr, from: ValueKind, name: &str) -> Result<Option<ValueKind>> {
    let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
    let Some(ty) = from.unit() else { return Ok(None) };
    let is_integer = has(&["INT"]);
    if !is_integer && has(&["CHAR", "CLOB", "TEXT"]) {
        to_plain(e, ty, true);
        return Ok(None);
    }
    match ty {
        Type::Decimal if is_integer => Err(long_decimal()),
        Type::Uuid | Type::Decimal => Ok(None),
        Type::Currency if is_integer => {
            let whole = call("bobak_round", vec![take(e), number("0")]);
            *e = parenthesized(Expr::binary(whole, Operator::Divide, number("10000")));
            Ok(Some(ValueKind::Of(Type::I64)))
        }
        Type::Currency => {
            *e = to_number(take(e));
            Ok(Some(ValueKind::Of(Type::F64)))
        }
        ty => {
            debug_assert!(is_time(ty));
            let help = "use unixepoch(), julianday() or strftime()";
            Err(mismatch(format!("{} is not a number: {help}", noun(ty))))
        }
    }
}

pub(crate) fn call(function: &str, arguments: Vec<Expr>) -> Expr {
    Expr::FunctionCall {
        name: Name::exact(function.to_owned()),
        distinctness: None,
        args: arguments.into_iter().map(Box::new).collect(),
        order_by: Vec::new(),
        within_group: Vec::new(),
        filter_over: FunctionTail { filter_clause: None, over_clause: None },
    }
}

pub(crate) fn number(text: &str) -> Expr {
    let literal = |text: &str| Expr::Literal(Literal::Numeric(text.to_owned()));
    match text.strip_prefix('-') {
        Some(magnitude) => parenthesized(Expr::unary(UnaryOperator::Negative, literal(magnitude))),
        None => literal(text),
    }
}

pub(crate) fn parenthesized(e: Expr) -> Expr {
    Expr::Parenthesized(vec![Box::new(e)])
}

/// An expression in parentheses, unless it is the operand of any operator without them.
fn operand(e: Expr) -> Expr {
    match e {
        Expr::Id(_)
        | Expr::Qualified(..)
        | Expr::DoublyQualified(..)
        | Expr::Variable(_)
        | Expr::FunctionCall { .. }
        | Expr::Parenthesized(_) => e,
        _ => parenthesized(e),
    }
}

pub(crate) fn take(e: &mut Expr) -> Expr {
    std::mem::take(e)
}
