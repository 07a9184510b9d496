//! The types of expressions, as far as they can be known without a row.

use super::{Arithmetic, CheckFunction, CheckNode};
use crate::{Storage, TableSchema, Type, Value};

/// The type of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpressionType {
    /// NULL, which goes with every type.
    Null,
    /// A column of any storage class, which can only be compared.
    Any,
    /// True or false: a comparison, or a logical operation.
    Truth,
    /// A whole number.
    Integer,
    /// A floating-point number.
    Float,
    /// Money.
    Amount,
    /// A date or a time of this type, stored as an integer.
    Moment(Type),
    /// Text.
    Text,
    /// Bytes.
    Bytes,
}

impl ExpressionType {
    /// Whether it is a plain number; a truth is 0 or 1.
    #[must_use]
    pub const fn is_number(self) -> bool {
        matches!(self, Self::Truth | Self::Integer | Self::Float)
    }

    /// Its name in messages.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Null => "NULL",
            Self::Any => "a value of any type",
            Self::Truth | Self::Integer | Self::Float => "a number",
            Self::Amount => "an amount of money",
            Self::Moment(_) => "a date or time",
            Self::Text => "text",
            Self::Bytes => "bytes",
        }
    }

    /// Whether values of both types can be compared.
    pub(super) fn is_comparable(self, other: Self) -> bool {
        let any = |ty| matches!(ty, Self::Any | Self::Null);
        self == other || any(self) || any(other) || self.is_number() && other.is_number()
    }
}

impl CheckNode {
    /// The type of this expression.
    #[must_use]
    pub fn ty(&self, table: &TableSchema) -> ExpressionType {
        match self {
            Self::Column(position) => column_type(table, *position),
            Self::Literal(_, Some(Type::Currency)) => ExpressionType::Amount,
            Self::Literal(_, Some(Type::Uuid)) => ExpressionType::Bytes,
            Self::Literal(Value::Int(_), Some(ty)) => ExpressionType::Moment(*ty),
            Self::Literal(value, _) => match value {
                Value::Null => ExpressionType::Null,
                Value::Int(_) => ExpressionType::Integer,
                Value::Float(_) => ExpressionType::Float,
                Value::Text(_) => ExpressionType::Text,
                Value::Bytes(_) => ExpressionType::Bytes,
            },
            Self::And(..)
            | Self::Or(..)
            | Self::Not(_)
            | Self::IsNull(_)
            | Self::Is(..)
            | Self::Compare(..)
            | Self::In(..)
            | Self::Like(..) => ExpressionType::Truth,
            Self::Arithmetic(operation, left, right) => {
                arithmetic_type(*operation, left.ty(table), right.ty(table))
            }
            Self::Concat(..) => ExpressionType::Text,
            Self::Call(function, arguments) => call_type(*function, arguments, table),
        }
    }
}

fn column_type(table: &TableSchema, position: usize) -> ExpressionType {
    let Some(column) = table.columns().get(position) else { return ExpressionType::Any };
    match (column.storage, column.ty) {
        (Storage::Int, Type::Currency) => ExpressionType::Amount,
        (Storage::Int, ty) if ty.has_text_form() => ExpressionType::Moment(ty),
        (Storage::Int, _) => ExpressionType::Integer,
        (Storage::Float, _) => ExpressionType::Float,
        (Storage::Text, _) => ExpressionType::Text,
        (Storage::Bytes, _) => ExpressionType::Bytes,
        (Storage::Any, _) => ExpressionType::Any,
    }
}

fn arithmetic_type(
    operation: Arithmetic,
    left: ExpressionType,
    right: ExpressionType,
) -> ExpressionType {
    match (left, right) {
        (ExpressionType::Amount, _) | (_, ExpressionType::Amount) => ExpressionType::Amount,
        _ if operation == Arithmetic::Remainder => ExpressionType::Integer,
        (ExpressionType::Float, _) | (_, ExpressionType::Float) => ExpressionType::Float,
        _ => ExpressionType::Integer,
    }
}

fn call_type(
    function: CheckFunction,
    arguments: &[CheckNode],
    table: &TableSchema,
) -> ExpressionType {
    let types = || arguments.iter().map(|argument| argument.ty(table));
    match function {
        CheckFunction::Length | CheckFunction::JsonInteger | CheckFunction::JsonLength => {
            ExpressionType::Integer
        }
        CheckFunction::JsonFloat => ExpressionType::Float,
        CheckFunction::JsonTruth => ExpressionType::Truth,
        CheckFunction::Lower
        | CheckFunction::Upper
        | CheckFunction::Trim
        | CheckFunction::JsonText => ExpressionType::Text,
        CheckFunction::Abs | CheckFunction::NullIf => {
            numeric(types().next().unwrap_or(ExpressionType::Null))
        }
        CheckFunction::Coalesce | CheckFunction::Iif => {
            let skipped = usize::from(function == CheckFunction::Iif);
            let types = || types().skip(skipped);
            let known = types().find(|ty| *ty != ExpressionType::Null);
            let known = numeric(known.unwrap_or(ExpressionType::Null));
            let is_float = types().any(|ty| ty == ExpressionType::Float);
            if known == ExpressionType::Integer && is_float { ExpressionType::Float } else { known }
        }
    }
}

/// A truth that is used as a value is an integer.
const fn numeric(ty: ExpressionType) -> ExpressionType {
    match ty {
        ExpressionType::Truth => ExpressionType::Integer,
        ty => ty,
    }
}
