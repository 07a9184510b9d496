//! What types have in common, for expressions that are parsed.

use crate::Type;
use crate::join::CalculationOperator;

/// What types have in common if their values can be compared and calculated with each other.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Base {
    Integer,
    Float,
    Money,
    Text,
    Other(Type),
}

pub(super) fn base(ty: Type) -> Base {
    use Type::{F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
    match ty {
        I8 | I16 | I32 | I64 | U8 | U16 | U32 | U64 => Base::Integer,
        F32 | F64 => Base::Float,
        Type::Currency => Base::Money,
        Type::Text => Base::Text,
        other => Base::Other(other),
    }
}

/// Whether values of two bases can be calculated with each other.
pub(super) fn can_calculate(operator: CalculationOperator, a: Base, b: Base) -> bool {
    match (operator, a, b) {
        (CalculationOperator::Remainder, a, b) => a == Base::Integer && b == Base::Integer,
        (_, Base::Integer | Base::Float, Base::Integer | Base::Float) => true,
        (CalculationOperator::Times, Base::Money, b) => b == Base::Integer,
        (CalculationOperator::Times, a, Base::Money) => a == Base::Integer,
        (CalculationOperator::Divide, Base::Money, b) => {
            matches!(b, Base::Integer | Base::Money)
        }
        (CalculationOperator::Plus | CalculationOperator::Minus, a, b) => {
            a == Base::Money && b == Base::Money
        }
        _ => false,
    }
}

pub(super) fn is_number(ty: Type) -> bool {
    matches!(base(ty), Base::Integer | Base::Float | Base::Money)
}
