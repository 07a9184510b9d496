//! Conversion of expressions between units.

use crate::decimal::Decimal;
use crate::kind::{ValueKind, is_time, long_decimal, mismatch, noun};
use crate::rewrite::Rewrite;
use crate::tree::{CastType, ExprKind, ParsedExpr, SignOperator};
use bobak_core::{Error, Result, Type, Value, stored_literal};
use std::fmt::Write;

/// Makes an expression of one kind one of another, where both meet in a comparison or a column.
///
/// # Errors
/// `Mismatch` if SQL cannot compare or combine them.
pub(crate) fn convert(
    rewrite: &mut Rewrite<'_>,
    e: &ParsedExpr<'_>,
    from: ValueKind,
    to: ValueKind,
) -> Result<()> {
    if from == ValueKind::Null || from == to || matches!(e.kind, ExprKind::Null) {
        return Ok(());
    }
    match (from.unit(), to.unit()) {
        (None, None) => Ok(()),
        (None, Some(ty)) => to_unit(rewrite, e, from, ty),
        (Some(ty), None) if ty != Type::Currency && is_number(to) => {
            let help = "store it in a column of its type, or as text";
            Err(mismatch(format!("{} is not a number: {help}", noun(ty))))
        }
        (Some(ty), None) => {
            to_plain(rewrite, e, ty, to == ValueKind::Of(Type::Text));
            Ok(())
        }
        (Some(Type::Date), Some(Type::DateTime | Type::Timestamp)) => {
            rewrite.apply(e, "* 86400000000");
            Ok(())
        }
        (Some(Type::DateTime | Type::Timestamp), Some(Type::DateTime | Type::Timestamp)) => Ok(()),
        (Some(from), Some(to)) if from == to => Ok(()),
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

/// Checks that values without a unit can be compared or combined with those of a type.
///
/// # Errors
/// `Mismatch` if they cannot.
pub(crate) fn check_unit(from: ValueKind, ty: Type) -> Result<()> {
    let accepts = match from {
        ValueKind::Of(Type::Text) => ty != Type::Currency,
        ValueKind::Of(Type::Bytes) => ty == Type::Uuid,
        ValueKind::Of(Type::Json | Type::Bool) => false,
        ValueKind::Of(Type::Any) | ValueKind::Plain | ValueKind::Null => true,
        ValueKind::Of(_) => ty == Type::Currency,
    };
    if accepts { Ok(()) } else { Err(not_combined(from, ty)) }
}

/// Converts what is not in the type's unit: literals now, other values when the statement runs.
fn to_unit(rewrite: &mut Rewrite<'_>, e: &ParsedExpr<'_>, from: ValueKind, ty: Type) -> Result<()> {
    if ty == Type::Decimal {
        return to_digits(rewrite, e, from);
    }
    check_unit(from, ty)?;
    match literal(e) {
        Some(SpelledLiteral::Number(text)) => {
            let amount = Decimal::parse(&text).and_then(Decimal::exact_amount);
            let scaled = amount.ok_or_else(|| mismatch(not_an_amount(&text)))?;
            rewrite.replace(e, number(&scaled.to_string()));
        }
        Some(SpelledLiteral::Text(text)) if ty == Type::Currency => {
            return Err(mismatch(format!("'{text}' is not an amount: write it without quotes")));
        }
        Some(SpelledLiteral::Text(text)) => {
            rewrite.replace(e, stored_text(&stored_literal(ty, &text)?));
        }
        None if ty == Type::Currency && is_untyped_parameter(e, from) => {
            rewrite.call("bobak_amount_given", e);
        }
        None => rewrite.call(unit_function(ty), e),
    }
    Ok(())
}

/// Whether it is a value that was given without a type, such as a number of JSON: the decimal number that its text says.
/// A float of a program has a type, and more decimals than the program meant.
fn is_untyped_parameter(e: &ParsedExpr<'_>, from: ValueKind) -> bool {
    from == ValueKind::Plain && matches!(e.kind, ExprKind::Parameter(_))
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
fn to_digits(rewrite: &mut Rewrite<'_>, e: &ParsedExpr<'_>, from: ValueKind) -> Result<()> {
    match (literal(e), from) {
        (Some(SpelledLiteral::Number(digits)), _) => {
            rewrite.replace(e, format!("'{digits}'"));
            Ok(())
        }
        (_, ValueKind::Of(Type::Text | Type::Any) | ValueKind::Plain | ValueKind::Null) => Ok(()),
        _ => Err(long_decimal()),
    }
}

pub(crate) fn not_an_amount(text: &str) -> String {
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
/// become text.
pub(crate) fn to_plain(rewrite: &mut Rewrite<'_>, e: &ParsedExpr<'_>, ty: Type, as_text: bool) {
    match ty {
        Type::Currency if as_text => rewrite.call("bobak_amount_text", e),
        Type::Currency => to_number(rewrite, e),
        Type::Uuid if !as_text => {}
        Type::Decimal => {}
        _ => rewrite.call(&format!("{}_text", unit_function(ty)), e),
    }
}

/// An amount as a floating-point number.
pub(crate) fn to_number(rewrite: &mut Rewrite<'_>, amount: &ParsedExpr<'_>) {
    rewrite.apply(amount, "/ 10000.0");
}

/// A moment as what SQLite's date functions read.
pub(crate) fn to_clock(rewrite: &mut Rewrite<'_>, e: &ParsedExpr<'_>, ty: Type) -> Result<()> {
    let function = match ty {
        Type::DateTime | Type::Timestamp => "bobak_clock",
        Type::Time => "bobak_clock_time",
        Type::Date => "bobak_date_text",
        _ => return Err(mismatch(format!("{} is not a date or time", noun(ty)))),
    };
    rewrite.call(function, e);
    Ok(())
}

/// The text of a literal in quotes.
pub(crate) fn text_literal(e: &ParsedExpr<'_>) -> Option<String> {
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
fn literal(e: &ParsedExpr<'_>) -> Option<SpelledLiteral> {
    match &e.kind {
        ExprKind::Number(text) => Some(SpelledLiteral::Number(text.replace('_', ""))),
        ExprKind::Text(text) => Some(SpelledLiteral::Text(text.clone())),
        ExprKind::Row(inner) if inner.len() == 1 => literal(inner.first()?),
        ExprKind::Unary(sign @ (SignOperator::Negative | SignOperator::Positive), inner) => {
            let SpelledLiteral::Number(text) = literal(inner)? else { return None };
            Some(SpelledLiteral::Number(match (sign, text.strip_prefix('-')) {
                (SignOperator::Negative, Some(positive)) => positive.to_owned(),
                (SignOperator::Negative, None) => format!("-{text}"),
                _ => text,
            }))
        }
        _ => None,
    }
}

fn stored_text(value: &Value<'_>) -> String {
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
            hex
        }
        _ => "NULL".to_owned(),
    }
}

/// `CAST(e AS type)`, for the types that Bobak has. `None` if it stays SQLite's own.
///
/// # Errors
/// `Mismatch` for a type that the values cannot have.
pub(crate) fn cast(
    rewrite: &mut Rewrite<'_>,
    e: &ParsedExpr<'_>,
    from: ValueKind,
    target: &CastType,
) -> Result<Option<ValueKind>> {
    let wanted = match target.name.as_str() {
        "DECIMAL" | "NUMERIC" => return Ok(cast_decimal(rewrite, e, from, target)),
        "DATE" => Type::Date,
        "TIME" => Type::Time,
        "DATETIME" => Type::DateTime,
        "TIMESTAMP" => Type::Timestamp,
        "UUID" => Type::Uuid,
        _ => return cast_from_unit(rewrite, e, from, &target.name),
    };
    match (from.unit(), wanted) {
        (Some(Type::DateTime | Type::Timestamp), Type::Date) => rewrite.call("bobak_day", e),
        _ => convert(rewrite, e, from, ValueKind::Of(wanted))?,
    }
    Ok(Some(ValueKind::Of(wanted)))
}

/// A decimal type with one to four decimals is an amount.
fn cast_decimal(
    rewrite: &mut Rewrite<'_>,
    e: &ParsedExpr<'_>,
    from: ValueKind,
    target: &CastType,
) -> Option<ValueKind> {
    let decimals = match &target.size {
        Some((1, _)) => Some(0),
        Some((_, decimals)) => decimals.parse::<u8>().ok(),
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
                rewrite.call(function, e);
            }
            if decimals < 4 {
                rewrite.wrap(e, "bobak_round(", &format!(", {decimals})"));
            }
            Some(AMOUNT)
        }
        _ if from == AMOUNT => Some(AMOUNT),
        _ => None,
    }
}

/// A cast of an amount, date or time to one of SQLite's own types, by the letters of its name.
fn cast_from_unit(
    rewrite: &mut Rewrite<'_>,
    e: &ParsedExpr<'_>,
    from: ValueKind,
    name: &str,
) -> Result<Option<ValueKind>> {
    let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
    let Some(ty) = from.unit() else { return Ok(None) };
    let is_integer = has(&["INT"]);
    if !is_integer && has(&["CHAR", "CLOB", "TEXT"]) {
        to_plain(rewrite, e, ty, true);
        return Ok(None);
    }
    match ty {
        Type::Decimal if is_integer => Err(long_decimal()),
        Type::Uuid | Type::Decimal => Ok(None),
        Type::Currency if is_integer => {
            rewrite.wrap(e, "(bobak_round(", ", 0) / 10000)");
            Ok(Some(ValueKind::Of(Type::I64)))
        }
        Type::Currency => {
            to_number(rewrite, e);
            Ok(Some(ValueKind::Of(Type::F64)))
        }
        ty => {
            debug_assert!(is_time(ty));
            let help = "use unixepoch(), julianday() or strftime()";
            Err(mismatch(format!("{} is not a number: {help}", noun(ty))))
        }
    }
}

/// A number as SQL text, which can be the operand of any operator.
fn number(text: &str) -> String {
    if text.starts_with('-') { format!("({text})") } else { text.to_owned() }
}
