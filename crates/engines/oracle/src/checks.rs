//! CHECK rules as Oracle's SQL.
//!
//! The empty text is stored as one NUL, which is left out of what is joined, and does not count in a length or for LIKE.

use crate::columns::oracle_type;
use crate::dialect::OracleStatements;
use crate::values::{SERVER, stored_bytes};
use bobak_core::check::{Arithmetic, CheckFunction, ExpressionType};
use bobak_core::{Currency, Error, ErrorKind, Result, TableSchema, Type, ValueRef};
use bobak_engine_common::{CheckDialect, StatementDialect, calendar, in_column};

/// The bytes of a literal.
const LITERAL: usize = 4_000;

impl CheckDialect for OracleStatements {
    const ENGINE: &'static str = "oracle";

    /// Long texts and bytes cannot be compared.
    fn checked_column(&self, table: &TableSchema, place: usize) -> Result<String> {
        if oracle_type(table, place)?.is_lob() {
            let message = "on Oracle, a CHECK is not of a text longer than 1,000 characters, of bytes without an index, or of JSON";
            let error = Error::new(ErrorKind::Unsupported, message);
            return Err(in_column(error, table, Some(place)));
        }
        Ok(self.column(table, place))
    }

    /// The empty text is NULL to Oracle: Bobak's is [`EMPTY`](crate::values::EMPTY).
    fn text_literal(&self, text: &str) -> String {
        match text {
            "" => "CHR(0)".to_owned(),
            _ => bobak_engine_common::text_literal(text),
        }
    }

    fn value_literal(&self, ty: Type, value: ValueRef<'_>) -> Result<String> {
        let text = match (value, ty) {
            (ValueRef::Null, _) => "NULL".to_owned(),
            (ValueRef::Int(scaled), Type::Currency) => Currency::from_scaled(scaled).to_string(),
            (
                ValueRef::Int(integer),
                ty @ (Type::Date | Type::Time | Type::DateTime | Type::Timestamp),
            ) => moment_literal(ty, integer)?,
            (ValueRef::Int(integer), _) => integer.to_string(),
            (ValueRef::Float(float), _) => float_literal(float),
            (ValueRef::Text(text), _) => self.text_literal(text),
            (ValueRef::Bytes(bytes), ty) => {
                let stored = if ty == Type::Uuid { bytes.into() } else { stored_bytes(bytes) };
                let digits: Vec<String> = stored.iter().map(|byte| format!("{byte:02x}")).collect();
                format!("HEXTORAW('{}')", digits.concat())
            }
        };
        if text.len() > LITERAL {
            let message = format!("Oracle has no literals of more than {LITERAL} bytes");
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        Ok(text)
    }

    fn like(&self, text: &str, pattern: &str) -> String {
        format!("({} LIKE {})", liked(text), liked(pattern))
    }

    fn concat(&self, left: &str, right: &str) -> String {
        format!(
            "(CASE WHEN {left} IS NOT NULL AND {right} IS NOT NULL \
             THEN COALESCE(REPLACE({left} || {right}, CHR(0)), CHR(0)) END)"
        )
    }

    fn arithmetic(&self, operation: Arithmetic, operands: [(String, ExpressionType); 2]) -> String {
        let is_integer = operands.iter().all(|(_, ty)| *ty == ExpressionType::Integer);
        let [(first, _), (second, _)] = operands;
        match operation {
            Arithmetic::Divide if is_integer => format!("TRUNC({first} / NULLIF({second}, 0))"),
            Arithmetic::Divide => format!("({first} / NULLIF({second}, 0))"),
            Arithmetic::Remainder => format!("MOD(TRUNC({first}), NULLIF(TRUNC({second}), 0))"),
            operation => format!("({first} {} {second})", operation.operator()),
        }
    }

    fn letters(&self, text: &str, upper: bool) -> String {
        let (large, small) = ("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz");
        let (from, to) = if upper { (small, large) } else { (large, small) };
        format!("TRANSLATE({text}, '{from}', '{to}')")
    }

    fn length(&self, value: &str, is_bytes: bool) -> Result<String> {
        if is_bytes {
            let message = "Oracle has no CHECK of the length of bytes";
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        Ok(format!("(CASE WHEN {value} = CHR(0) THEN 0 ELSE LENGTH({value}) END)"))
    }

    fn call(&self, function: CheckFunction, values: &[String]) -> Option<String> {
        let [text, ..] = values else { return None };
        (function == CheckFunction::Trim).then(|| {
            format!("(CASE WHEN {text} IS NOT NULL THEN COALESCE(TRIM({text}), CHR(0)) END)")
        })
    }
}

/// A side of LIKE: in small letters, without the NUL that stands for nothing, and with a character that is no wildcard, so
/// that it is not empty.
fn liked(text: &str) -> String {
    format!(
        "CASE WHEN {text} IS NOT NULL THEN REPLACE({}, CHR(0)) || '.' END",
        OracleStatements.letters(text, false)
    )
}

fn float_literal(float: f64) -> String {
    match float {
        _ if float.is_nan() => "BINARY_DOUBLE_NAN".to_owned(),
        f64::INFINITY => "BINARY_DOUBLE_INFINITY".to_owned(),
        f64::NEG_INFINITY => "-BINARY_DOUBLE_INFINITY".to_owned(),
        // A NUMBER has all digits of a float of this size.
        _ if float == 0.0 || (1e-80..1e80).contains(&float.abs()) => {
            format!("CAST({float:e} AS BINARY_DOUBLE)")
        }
        _ => format!("TO_BINARY_DOUBLE('{float:e}')"),
    }
}

fn moment_literal(ty: Type, integer: i64) -> Result<String> {
    let (date, time) = calendar::texts_of(ty, integer, SERVER)?;
    Ok(match ty {
        Type::Date => format!("DATE '{date}'"),
        Type::Time => format!("INTERVAL '0 {time}' DAY(1) TO SECOND(6)"),
        _ => format!("TIMESTAMP '{date} {time}'"),
    })
}
