//! CHECK rules as Oracle's SQL.
//!
//! The empty text is stored as one NUL, which is left out of what is joined, and does not count in a length or for LIKE.

use crate::columns::{letters, lower, oracle_type, value_literal};
use crate::names::column as name_of;
use bobak_core::check::{Arithmetic, CheckFunction, ExpressionType};
use bobak_core::{Collation, ColumnSchema, Error, ErrorKind, Result, TableSchema, Type, Value};
use bobak_engine_common::{CheckDialect, in_column};

/// How Oracle writes checks.
pub(crate) struct OracleChecks;

impl CheckDialect for OracleChecks {
    const ENGINE: &'static str = "oracle";

    /// Long texts and bytes cannot be compared.
    fn column(&self, table: &TableSchema, place: usize) -> Result<String> {
        if oracle_type(table, place)?.is_lob() {
            let message = "on Oracle, a CHECK is not of a text longer than 1,000 characters, of bytes without an index, or of JSON";
            let error = Error::new(ErrorKind::Unsupported, message);
            return Err(in_column(error, table, Some(place)));
        }
        Ok(name_of(table, place))
    }

    fn literal(&self, value: &Value<'_>, ty: Option<Type>) -> Result<String> {
        match value {
            Value::Null => Ok("CAST(NULL AS NUMBER)".to_owned()),
            value => value_literal(&ColumnSchema::new("", ty.unwrap_or(Type::Any)), value.as_ref()),
        }
    }

    fn compared(&self, text: String, collation: Collation) -> String {
        match collation {
            Collation::Binary => text,
            Collation::NoCase => letters(&text, false),
            Collation::UnicodeNoCase => lower(&text),
        }
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
        letters(text, upper)
    }

    fn length(&self, value: &str, is_bytes: bool) -> Result<String> {
        if is_bytes {
            let message = "a CHECK of the length of bytes, on Oracle";
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
        letters(text, false)
    )
}
