//! CHECK rules as Firebird's SQL, from their tree.
//!
//! A text is compared by its bytes, as in `columns`. Amounts and dates are computed with as such, times as the integers that
//! they are kept as. A truth is 0, 1 or NULL wherever a number can be.

use crate::columns::{is_octets, octets, text_bytes};
use crate::names::Names;
use crate::values::SERVER;
use bobak_core::check::{Arithmetic, ExpressionType};
use bobak_core::{Collation, Currency, Result, TableSchema, Type, Value, ValueRef};
use bobak_engine_common::{CheckDialect, StatementDialect, calendar};

/// The bytes of the texts that checks compare.
const BYTES: usize = 8_000;

impl CheckDialect for Names {
    const ENGINE: &'static str = "firebird";

    fn checked_column(&self, table: &TableSchema, place: usize) -> Result<String> {
        let name = self.column(table, place);
        Ok(match table.columns().get(place).map(|column| column.ty) {
            Some(Type::Bool) => format!("(CASE WHEN {name} THEN 1 WHEN NOT {name} THEN 0 END)"),
            _ if is_octets(table, place) => {
                let bytes = text_bytes(table, place).unwrap_or(BYTES);
                format!("CAST({name} AS VARCHAR({bytes}) CHARACTER SET UTF8)")
            }
            _ => name,
        })
    }

    fn value_literal(&self, ty: Type, value: ValueRef<'_>) -> Result<String> {
        Ok(match (value, ty) {
            (ValueRef::Null, _) => "NULL".to_owned(),
            (ValueRef::Int(truth), Type::Bool) => {
                if truth != 0 { "TRUE" } else { "FALSE" }.to_owned()
            }
            (ValueRef::Int(scaled), Type::Currency) => Currency::from_scaled(scaled).to_string(),
            (ValueRef::Int(days), ty @ Type::Date) => {
                format!("DATE '{}'", calendar::texts_of(ty, days, SERVER)?.0)
            }
            (ValueRef::Int(integer), _) => integer.to_string(),
            (ValueRef::Float(float), _) => format!("{float:e}"),
            (ValueRef::Text(text), _) => self.text_literal(text),
            (ValueRef::Bytes(bytes), _) => {
                let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                format!("x'{}'", digits.concat())
            }
        })
    }

    /// Truth values are 0 and 1 in a check.
    fn checked_literal(&self, value: &Value<'_>, ty: Option<Type>) -> Result<String> {
        match (value, ty) {
            (Value::Null, _) => Ok("CAST(NULL AS INTEGER)".to_owned()),
            (Value::Int(truth), Some(Type::Bool)) => Ok(i32::from(*truth != 0).to_string()),
            (value, ty) => self.value_literal(ty.unwrap_or(Type::Any), value.as_ref()),
        }
    }

    fn checked_text(&self, text: String, collation: Collation) -> String {
        octets(&text, collation, BYTES)
    }

    fn is_same(&self, _: [&str; 2], [left, right]: [&str; 2]) -> String {
        format!("({left} IS NOT DISTINCT FROM {right})")
    }

    fn like(&self, text: &str, pattern: &str) -> String {
        format!("({} LIKE {})", self.letters(text, false), self.letters(pattern, false))
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
        ('a'..='z').fold(text.to_owned(), |text, small| {
            let (from, to) = match upper {
                true => (small, small.to_ascii_uppercase()),
                false => (small.to_ascii_uppercase(), small),
            };
            format!(
                "REPLACE({text}, {}, {})",
                self.text_literal(&from.to_string()),
                self.text_literal(&to.to_string())
            )
        })
    }

    fn length(&self, value: &str, is_bytes: bool) -> Result<String> {
        let function = if is_bytes { "OCTET_LENGTH" } else { "CHAR_LENGTH" };
        Ok(format!("{function}({value})"))
    }
}
