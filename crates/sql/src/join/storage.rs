//! The classes of values.

use super::JoinWriter;
use bobak_core::join::{JoinAggregate, JoinColumn, JoinExpr, JoinFunction, WindowFunction};
use bobak_core::{Collation, ColumnSchema, Join, Storage, Type, Value};

impl JoinWriter<'_> {
    /// The class of an expression's values; `None` for NULL.
    pub(super) fn storage(&self, expr: &JoinExpr) -> Option<Storage> {
        storage(self.join, expr)
    }

    /// Whether a column of a table is stored in an integer type of the server.
    pub(super) fn is_integer_column(&self, column: JoinColumn) -> bool {
        let is_integer = |schema: &ColumnSchema| {
            schema.storage == Storage::Int && schema.ty.is_integer() && self.is_comparable(schema)
        };
        !self.is_of_rows(column) && self.join.column(column).is_some_and(is_integer)
    }
}

fn storage(join: &Join, expr: &JoinExpr) -> Option<Storage> {
    match expr {
        JoinExpr::Column(column) => join.column(*column).map(|column| column.storage),
        JoinExpr::Value(value, _) => match value {
            Value::Null => None,
            Value::Int(_) => Some(Storage::Int),
            Value::Float(_) => Some(Storage::Float),
            Value::Text(_) => Some(Storage::Text),
            Value::Bytes(_) => Some(Storage::Bytes),
        },
        JoinExpr::Calculation(..) if expr.ty(join) == Type::F64 => Some(Storage::Float),
        JoinExpr::Calculation(..) => Some(Storage::Int),
        JoinExpr::Aggregate(function, expr) => aggregate(join, *function, expr),
        JoinExpr::Window(window) => match (window.function, &window.argument) {
            (WindowFunction::Aggregate(function, _), Some(expr)) => aggregate(join, function, expr),
            (_, Some(argument)) => storage(join, argument),
            (_, None) => Some(Storage::Int),
        },
        JoinExpr::Function(function, arguments) => match function {
            JoinFunction::Length
            | JoinFunction::Part(_)
            | JoinFunction::ToInteger
            | JoinFunction::JsonInteger
            | JoinFunction::JsonTruth
            | JoinFunction::JsonLength
            | JoinFunction::JsonHas => Some(Storage::Int),
            JoinFunction::ToFloat | JoinFunction::JsonFloat | JoinFunction::Distance => {
                Some(Storage::Float)
            }
            JoinFunction::Coalesce | JoinFunction::StartOf(_) => {
                arguments.iter().find_map(|argument| storage(join, argument))
            }
            _ => Some(Storage::Text),
        },
        JoinExpr::Query(query) => {
            let first = query.join.columns.first();
            first.and_then(|first| storage(&query.join, first))
        }
        JoinExpr::Case(branches, otherwise) => {
            let mut values = branches.iter().map(|(_, value)| value);
            values.find_map(|value| storage(join, value)).or_else(|| storage(join, otherwise))
        }
    }
}

fn aggregate(join: &Join, function: JoinAggregate, expr: &JoinExpr) -> Option<Storage> {
    match function {
        JoinAggregate::Count | JoinAggregate::CountDistinct => Some(Storage::Int),
        JoinAggregate::Avg => Some(Storage::Float),
        JoinAggregate::Sum | JoinAggregate::Min | JoinAggregate::Max => storage(join, expr),
    }
}

/// Whether columns are equal in SQL if Bobak finds their values equal.
pub(super) fn are_linkable(a: &ColumnSchema, b: &ColumnSchema) -> bool {
    a.storage == b.storage
        && match a.storage {
            Storage::Int => a.ty == b.ty || a.ty.is_integer() && b.ty.is_integer(),
            Storage::Text => {
                a.ty == b.ty
                    && a.ty != Type::Json
                    && a.collation == Collation::Binary
                    && b.collation == Collation::Binary
            }
            Storage::Bytes => a.ty == b.ty,
            Storage::Float | Storage::Any => false,
        }
}
