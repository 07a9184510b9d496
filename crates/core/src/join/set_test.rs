//! Conditions of sets of the values of an enum.

use super::selection::JoinPart;
use super::tree::CalculationOperator;
use super::{JoinCondition, JoinExpr, JoinFilter};
use crate::{Column, Comparison, EnumSet, SetMember, Type, Value};

/// Rows whose set has members: see [`SetMethods`].
#[derive(Clone, Copy, Debug)]
pub struct SetTest<X> {
    expr: X,
    bits: i64,
    /// Whether it has all of them, or else one.
    is_all: bool,
}

/// Conditions of [sets](EnumSet), in queries of [expressions](super::ExpressionMethods). A set that is NULL
/// matches none, and none of their negations.
///
/// Every engine calculates them in its statements where it calculates with integers.
///
/// ```
/// # use bobak_core::{Column, EnumSet, Record, SetMember, join::{from, not, SetMethods}};
/// # #[derive(Clone, Copy)] enum Day { Saturday = 5, Sunday }
/// # impl SetMember for Day {
/// #     const ALL: &'static [Self] = &[Day::Saturday, Day::Sunday];
/// #     fn number(&self) -> u32 { *self as u32 }
/// # }
/// # fn example<Shop: Record>(open: Column<Shop, EnumSet<Day>>) {
/// let on_sunday = from::<Shop>().and(open.has(Day::Sunday));
/// let at_weekends = from::<Shop>().and(open.has_any([Day::Saturday, Day::Sunday]));
/// let not_both = from::<Shop>().and(not(open.has_all([Day::Saturday, Day::Sunday])));
/// # }
/// ```
pub trait SetMethods<E: SetMember>: Sized {
    /// Rows whose set has this member.
    #[must_use]
    fn has(self, member: E) -> SetTest<Self> {
        self.has_all([member])
    }

    /// Rows whose set has one of these members; none if there are none.
    #[must_use]
    fn has_any(self, members: impl Into<EnumSet<E>>) -> SetTest<Self> {
        SetTest { expr: self, bits: members.into().bits(), is_all: false }
    }

    /// Rows whose set has all of these members.
    #[must_use]
    fn has_all(self, members: impl Into<EnumSet<E>>) -> SetTest<Self> {
        SetTest { expr: self, bits: members.into().bits(), is_all: true }
    }
}

impl<T, E: SetMember> SetMethods<E> for Column<T, EnumSet<E>> {}
impl<T, E: SetMember> SetMethods<E> for Column<T, Option<EnumSet<E>>> {}

impl<L, P, X: JoinPart<L, P>> JoinFilter<L, P> for SetTest<X> {
    fn into_condition(self) -> JoinCondition {
        let bits = (0..63).filter(|bit| (self.bits >> bit) & 1 == 1);
        let tests = bits.map(|bit| has_bit(self.expr.expr(), 1 << bit)).collect();
        if self.is_all { JoinCondition::AllOf(tests) } else { JoinCondition::AnyOf(tests) }
    }
}

/// `set / bit % 2 = 1`: every engine has these operators, and few have others.
fn has_bit(set: JoinExpr, bit: i64) -> JoinCondition {
    let number = |number| JoinExpr::Value(Value::Int(number), Type::I64);
    let calculation =
        |operator, left, right| JoinExpr::Calculation(operator, Box::new((left, number(right))));
    let shifted = calculation(CalculationOperator::Divide, set, bit);
    let last = calculation(CalculationOperator::Remainder, shifted, 2);
    JoinCondition::Compare(last, Comparison::Equal, number(1))
}
