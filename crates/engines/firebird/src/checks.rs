//! CHECK rules as Firebird's SQL, from their tree.
//!
//! A text is compared by its bytes, as in `columns`. Amounts and dates are computed with as such, times as the integers that
//! they are kept as. A truth is 0, 1 or NULL wherever a number can be.

use crate::columns::{is_octets, text_bytes, value_literal};
use crate::names::{Names, check_name, literal};
use bobak_core::check::{Arithmetic, ExpressionType};
use bobak_core::{Collation, ColumnSchema, Result, TableSchema, Type, Value};
use bobak_engine_common::{CheckDialect, StatementDialect, check_condition};

/// The bytes of the texts that checks compare.
const BYTES: usize = 8_000;

/// The constraint of a column's check; `None` if it has none.
///
/// # Errors
/// As [`CheckExpression::parse`].
pub(crate) fn constraint(
    names: Names,
    table: &TableSchema,
    column: &ColumnSchema,
) -> Result<Option<String>> {
    let condition = condition(names, table, column)?;
    let name = check_name(table, &column.name);
    Ok(condition.map(|condition| format!("CONSTRAINT {name} CHECK ({condition})")))
}

/// The condition of a column's check; `None` if it has none.
///
/// # Errors
/// As [`constraint`].
pub(crate) fn condition(
    names: Names,
    table: &TableSchema,
    column: &ColumnSchema,
) -> Result<Option<String>> {
    check_condition(&FirebirdChecks { names }, table, column)
}

struct FirebirdChecks {
    names: Names,
}

impl CheckDialect for FirebirdChecks {
    const ENGINE: &'static str = "firebird";

    fn column(&self, table: &TableSchema, place: usize) -> Result<String> {
        let name = self.names.column(table, place);
        Ok(match table.columns().get(place).map(|column| column.ty) {
            Some(Type::Bool) => format!("(CASE WHEN {name} THEN 1 WHEN NOT {name} THEN 0 END)"),
            _ if is_octets(table, place) => {
                let bytes = text_bytes(table, place).unwrap_or(BYTES);
                format!("CAST({name} AS VARCHAR({bytes}) CHARACTER SET UTF8)")
            }
            _ => name,
        })
    }

    fn literal(&self, value: &Value<'_>, ty: Option<Type>) -> Result<String> {
        if *value == Value::Null {
            return Ok("CAST(NULL AS INTEGER)".to_owned());
        }
        let text = value_literal(&ColumnSchema::new("", ty.unwrap_or(Type::Any)), value.as_ref())?;
        Ok(match ty {
            Some(Type::Bool) => if text == "TRUE" { "1" } else { "0" }.to_owned(),
            _ => text,
        })
    }

    fn compared(&self, text: String, collation: Collation) -> String {
        let folded = match collation {
            Collation::Binary => text,
            Collation::NoCase => {
                format!("LOWER(CAST({text} AS VARCHAR({BYTES}) CHARACTER SET NONE))")
            }
            Collation::UnicodeNoCase => format!("LOWER(REPLACE({text}, 'İ', 'i\u{307}'))"),
        };
        format!("CAST({folded} AS VARCHAR({BYTES}) CHARACTER SET OCTETS)")
    }

    fn is_same(&self, _: [&str; 2], [left, right]: [&str; 2]) -> String {
        format!("({left} IS NOT DISTINCT FROM {right})")
    }

    fn like(&self, text: &str, pattern: &str) -> String {
        format!("({} LIKE {})", letters(text, false), letters(pattern, false))
    }

    fn concat(&self, left: &str, right: &str) -> String {
        format!("({left} || {right})")
    }

    fn arithmetic(&self, operation: Arithmetic, operands: [(String, ExpressionType); 2]) -> String {
        let is_float = operands.iter().any(|(_, ty)| *ty == ExpressionType::Float);
        let [first, second] = operands.map(|(text, _)| match (is_float, operation) {
            (false, _) => text,
            (true, Arithmetic::Remainder) => format!("CAST(TRUNC({text}) AS BIGINT)"),
            (true, _) => format!("CAST({text} AS DOUBLE PRECISION)"),
        });
        match operation {
            Arithmetic::Divide => format!("({first} / NULLIF({second}, 0))"),
            Arithmetic::Remainder => format!("MOD({first}, NULLIF({second}, 0))"),
            operation => format!("({first} {} {second})", operation.operator()),
        }
    }

    fn letters(&self, text: &str, upper: bool) -> String {
        letters(text, upper)
    }

    fn length(&self, value: &str, is_bytes: bool) -> Result<String> {
        let function = if is_bytes { "OCTET_LENGTH" } else { "CHAR_LENGTH" };
        Ok(format!("{function}({value})"))
    }
}

/// A text with its letters of ASCII in one case, and no others.
fn letters(text: &str, upper: bool) -> String {
    ('a'..='z').fold(text.to_owned(), |text, small| {
        let (from, to) = match upper {
            true => (small, small.to_ascii_uppercase()),
            false => (small.to_ascii_uppercase(), small),
        };
        format!("REPLACE({text}, {}, {})", literal(&from.to_string()), literal(&to.to_string()))
    })
}
