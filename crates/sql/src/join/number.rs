//! Numbers.

use super::JoinWriter;
use crate::Dialect;
use crate::condition::push_stored;
use bobak_core::join::{JoinAggregate, JoinColumn, JoinExpr};
use bobak_core::{Storage, Type, Value};

impl<'a> JoinWriter<'a> {
    /// A number; an error if it is an integer of more than 64 bits, which servers notice by themselves.
    pub(super) fn push_checked(&mut self, expr: &'a JoinExpr) {
        let calculates = match expr {
            JoinExpr::Calculation(..) => true,
            JoinExpr::Aggregate(JoinAggregate::Sum, expr) => {
                matches!(**expr, JoinExpr::Calculation(..))
            }
            _ => false,
        };
        let is_exact = self.storage(expr) == Some(Storage::Int);
        if !calculates || !is_exact || self.dialect() != Dialect::Sqlite {
            return self.push_number(expr);
        }
        // SQLite makes a float of such an integer.
        self.raw("CASE typeof(");
        self.push_number(expr);
        self.raw(") WHEN 'real' THEN ");
        self.raw(self.dialect().overflow());
        self.raw(" ELSE ");
        self.push_number(expr);
        self.raw(" END");
    }

    pub(super) fn push_number(&mut self, expr: &'a JoinExpr) {
        match expr {
            JoinExpr::Column(column) => self.push_number_column(*column),
            JoinExpr::Value(value, _) => self.push_number_value(value),
            JoinExpr::Calculation(operator, parts) => self.push_calculation(expr, *operator, parts),
            JoinExpr::Aggregate(function, expr) => self.push_aggregate(*function, expr),
            JoinExpr::Function(function, arguments) => {
                self.push_number_function(*function, arguments);
            }
            JoinExpr::Case(branches, otherwise) => self.push_case(branches, otherwise),
            JoinExpr::Query(query) => self.push_value(query),
            JoinExpr::Window(window) => self.push_window(window),
        }
    }

    fn push_number_column(&mut self, column: JoinColumn) {
        if self.push_if_of_rows(column) {
            return;
        }
        let Some(schema) = self.comparable(column) else { return };
        let (before, after) = match (self.dialect(), schema.storage) {
            (Dialect::Sqlite, Storage::Int | Storage::Float) => ("", ""),
            (Dialect::Postgres, Storage::Int) => ("(", ")::int8"),
            (Dialect::Postgres, Storage::Float) => ("", "::float8"),
            (Dialect::MariaDb | Dialect::MySql, Storage::Int) => ("CAST(", " AS SIGNED)"),
            (Dialect::MariaDb | Dialect::MySql, Storage::Float) if schema.ty == Type::F64 => {
                ("", "")
            }
            _ => return self.require(false),
        };
        self.raw(before);
        self.in_table(column.table, |writer, table| push_stored(writer, table, column.column));
        self.raw(after);
    }

    fn push_number_value(&mut self, value: &'a Value<'static>) {
        let (before, after) = match (self.dialect(), value) {
            (Dialect::Sqlite, Value::Int(_) | Value::Float(_)) => ("", ""),
            (Dialect::Postgres, Value::Int(_)) => ("", "::int8"),
            (Dialect::Postgres, Value::Float(_)) => ("", "::float8"),
            (Dialect::MariaDb | Dialect::MySql, Value::Int(_)) => ("CAST(", " AS SIGNED)"),
            (Dialect::MariaDb | Dialect::MySql, Value::Float(float)) if float.is_finite() => {
                ("", "")
            }
            _ => return self.require(false),
        };
        self.writer.raw(before).value(value.as_ref()).raw(after);
    }
}
