//! CHECK rules as SQL Server's SQL.
//!
//! Of texts that are compared, it ignores spaces at the end, so that each gets another character there.

use crate::columns::{COLLATE, letters, lower, value_literal};
use crate::names::column as name_of;
use bobak_core::check::{Arithmetic, ExpressionType};
use bobak_core::{Collation, ColumnSchema, Result, TableSchema, Type, Value};
use bobak_engine_common::CheckDialect;

/// How SQL Server writes checks.
pub(crate) struct MssqlChecks;

impl CheckDialect for MssqlChecks {
    const ENGINE: &'static str = "mssql";

    fn column(&self, table: &TableSchema, place: usize) -> Result<String> {
        Ok(name_of(table, place))
    }

    fn literal(&self, value: &Value<'_>, ty: Option<Type>) -> Result<String> {
        match value {
            Value::Null => Ok("CAST(NULL AS int)".to_owned()),
            value => value_literal(&ColumnSchema::new("", ty.unwrap_or(Type::Any)), value.as_ref()),
        }
    }

    fn compared(&self, text: String, collation: Collation) -> String {
        let folded = match collation {
            Collation::Binary => text,
            Collation::NoCase => letters(&text, false),
            Collation::UnicodeNoCase => lower(&text),
        };
        format!("({folded} + NCHAR(1)){COLLATE}")
    }

    fn like(&self, text: &str, pattern: &str) -> String {
        // A bracket begins a set of characters here.
        let pattern = format!("REPLACE({}, N'[', N'[[]')", letters(pattern, false));
        format!("({} LIKE {pattern})", letters(text, false))
    }

    fn concat(&self, left: &str, right: &str) -> String {
        format!("({left} + {right})")
    }

    fn arithmetic(&self, operation: Arithmetic, operands: [(String, ExpressionType); 2]) -> String {
        let is_float = operands.iter().any(|(_, ty)| *ty == ExpressionType::Float);
        let [first, second] = operands.map(|(text, _)| match (is_float, operation) {
            (false, _) => text,
            (true, Arithmetic::Remainder) => format!("CAST({text} AS bigint)"),
            (true, _) => format!("CAST({text} AS float)"),
        });
        match operation {
            Arithmetic::Divide => format!("({first} / NULLIF({second}, 0))"),
            Arithmetic::Remainder => format!("({first} % NULLIF({second}, 0))"),
            operation => format!("({first} {} {second})", operation.operator()),
        }
    }

    fn letters(&self, text: &str, upper: bool) -> String {
        letters(text, upper)
    }

    fn length(&self, value: &str, is_bytes: bool) -> Result<String> {
        Ok(match is_bytes {
            true => format!("DATALENGTH({value})"),
            // LEN ignores spaces at the end, and counts a character outside the first plane twice unless the collation
            // knows them.
            false => format!("(LEN({value} COLLATE Latin1_General_100_CI_AS_SC + N'.') - 1)"),
        })
    }
}
