//! CHECK rules as SQL Server's SQL.
//!
//! Of texts that are compared, it ignores spaces at the end, so that each gets another character there.

use crate::columns::COLLATE;
use crate::dialect::MssqlStatements;
use crate::values::SERVER;
use crate::wire::SentKind;
use bobak_core::check::{Arithmetic, ExpressionType};
use bobak_core::{Collation, Currency, Field, Result, Type, Uuid, ValueRef};
use bobak_engine_common::{CheckDialect, calendar};

impl CheckDialect for MssqlStatements {
    const ENGINE: &'static str = "mssql";

    fn text_literal(&self, text: &str) -> String {
        format!("N{}", bobak_engine_common::text_literal(text))
    }

    fn value_literal(&self, ty: Type, value: ValueRef<'_>) -> Result<String> {
        let cast = |text: String, kind: SentKind| format!("CAST('{text}' AS {})", kind.name());
        Ok(match (value, ty) {
            (ValueRef::Null, _) => "NULL".to_owned(),
            (ValueRef::Int(scaled), Type::Currency) => {
                format!("CAST({} AS decimal(19,4))", Currency::from_scaled(scaled))
            }
            (
                ValueRef::Int(integer),
                ty @ (Type::Date | Type::Time | Type::DateTime | Type::Timestamp),
            ) => moment_literal(ty, integer)?,
            // The smallest integer is no literal: its sign is an operator.
            (ValueRef::Int(i64::MIN), _) => "CAST('-9223372036854775808' AS bigint)".to_owned(),
            (ValueRef::Int(integer), _) => integer.to_string(),
            (ValueRef::Float(float), _) => format!("{float:e}"),
            (ValueRef::Text(text), _) => self.text_literal(text),
            (ValueRef::Bytes(bytes), Type::Uuid) => cast(
                Field::from_value(ValueRef::Bytes(bytes)).map(|uuid: Uuid| uuid.to_string())?,
                SentKind::Uuid,
            ),
            (ValueRef::Bytes(bytes), _) => {
                let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                format!("0x{}", digits.concat())
            }
        })
    }

    /// With a last character, so that spaces at the end count.
    fn checked_text(&self, text: String, collation: Collation) -> String {
        format!("({} + NCHAR(1)){COLLATE}", self.folded_text(text, collation))
    }

    fn like(&self, text: &str, pattern: &str) -> String {
        // A bracket begins a set of characters here.
        let pattern = format!("REPLACE({}, N'[', N'[[]')", self.letters(pattern, false));
        format!("({} LIKE {pattern})", self.letters(text, false))
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
        let (large, small) = ("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz");
        let (from, to) = if upper { (small, large) } else { (large, small) };
        format!("TRANSLATE({text}{COLLATE}, N'{from}', N'{to}')")
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

fn moment_literal(ty: Type, integer: i64) -> Result<String> {
    let (date, time) = calendar::texts_of(ty, integer, SERVER)?;
    Ok(match ty {
        Type::Date => format!("CAST('{date}' AS date)"),
        Type::Time => format!("CAST('{time}' AS time(6))"),
        _ => format!("CAST('{date}T{time}' AS datetime2(6))"),
    })
}
