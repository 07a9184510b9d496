//! Functions of the values of a row, and the methods of expressions.

use super::combined::NthColumn;
use super::expression::{AggregateOf, AsFloat, Calculation, CountKind, SameBase, SameNumber};
use super::filter::{Among, ExprComparison, NullTest, TextCondition};
use super::over::{ValueOfRow, WindowExpr};
use super::scalar::{CountableField, IntegerField, Moment, Number, ScalarField, TextField};
use super::selection::{JoinPart, OrderedPart};
use super::subquery::{AmongRows, QueryValue};
use super::tables::Nullness;
use super::text_test::TextTest;
use super::tree::{JoinAggregate, JoinFunction};
use super::{CaseOf, JoinExpr, JoinQuery, JsonPart, PartOfType, WindowFunction};
use crate::{Column, Comparison, DatePart, DateUnit, Error, ErrorKind, Expression, Field, Result};
use std::marker::PhantomData;

/// The most that positions and lengths of substrings can be: no text is longer.
const LONGEST: u32 = 1_000_000_000;

/// A function of an expression: `Customer::NAME.lower()`. `K` says what type the result has.
#[derive(Debug)]
pub struct FunctionOf<E, K> {
    expr: E,
    function: Option<JoinFunction>,
    kind: PhantomData<fn() -> K>,
}

impl<E: Clone, K> Clone for FunctionOf<E, K> {
    fn clone(&self) -> Self {
        Self { expr: self.expr.clone(), ..*self }
    }
}

impl<E: Copy, K> Copy for FunctionOf<E, K> {}

/// A function of two expressions: `Customer::CITY.coalesce("unknown")`.
#[derive(Debug)]
pub struct PairOf<A, B, K> {
    left: A,
    right: B,
    function: JoinFunction,
    kind: PhantomData<fn() -> K>,
}

impl<A: Clone, B: Clone, K> Clone for PairOf<A, B, K> {
    fn clone(&self) -> Self {
        Self { left: self.left.clone(), right: self.right.clone(), ..*self }
    }
}

impl<A: Copy, B: Copy, K> Copy for PairOf<A, B, K> {}

/// What type a function's result has, if its argument has the type `V`.
#[diagnostic::on_unimplemented(message = "no function for `{V}` that gives a result of `{Self}`")]
pub trait FunctionKind<V> {
    /// The type.
    type Value: Field;
}

/// What type a function's result has, if its arguments have the types `A` and `B`.
#[diagnostic::on_unimplemented(message = "`{A}` and `{B}` have no common type for `{Self}`")]
pub trait PairKind<A, B> {
    /// The type.
    type Value: Field;
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident: $bound:path => $value:ty;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl<V: $bound> FunctionKind<V> for $name {
            type Value = <V::Nullness as Nullness>::Of<$value>;
        }
    )*};
}
kinds! {
    /// A text of a text.
    TextOfText: TextField => String;
    /// A whole number of a text.
    NumberOfText: TextField => i64;
    /// An integer of a number or truth value.
    IntegerOfNumber: CountableField => i64;
    /// A text of an integer.
    TextOfInteger: IntegerField => String;
    /// A float of a number.
    FloatOfNumber: Number => f64;
    /// A whole number of a date or time.
    NumberOfMoment: ScalarField<Base: Moment> => i64;
    /// A date or time of another one.
    MomentOfMoment: ScalarField<Base: Moment> => V::Base;
    /// The value itself.
    Itself: ScalarField => V::Base;
}

/// The first of two values that is not NULL.
#[derive(Clone, Copy, Debug)]
pub struct CoalesceKind;

impl<A: ScalarField, B: ScalarField<Base = A::Base>> PairKind<A, B> for CoalesceKind {
    type Value = <B::Nullness as Nullness>::Of<A::Base>;
}

/// One text after another.
#[derive(Clone, Copy, Debug)]
pub struct ConcatKind;

impl<A: ScalarField<Base = String>, B: ScalarField<Base = String>> PairKind<A, B> for ConcatKind {
    type Value = <<A::Nullness as Nullness>::With<B::Nullness> as Nullness>::Of<String>;
}

impl<L, P, E: JoinPart<L, P>, K: FunctionKind<E::Value>> JoinPart<L, P> for FunctionOf<E, K> {
    type Value = K::Value;

    fn expr(&self) -> JoinExpr {
        let expr = self.expr.expr();
        match self.function {
            Some(function) => JoinExpr::Function(function, vec![expr]),
            None => expr,
        }
    }
}

impl<L, PA, PB, A, B, K> JoinPart<L, (PA, PB)> for PairOf<A, B, K>
where
    A: JoinPart<L, PA>,
    B: JoinPart<L, PB>,
    K: PairKind<A::Value, B::Value>,
{
    type Value = K::Value;

    fn expr(&self) -> JoinExpr {
        JoinExpr::Function(self.function, vec![self.left.expr(), self.right.expr()])
    }
}

const fn function<E, K>(expr: E, function: JoinFunction) -> FunctionOf<E, K> {
    FunctionOf { expr, function: Some(function), kind: PhantomData }
}

const fn test<E>(expr: E, test: TextTest) -> TextCondition<E> {
    TextCondition::new(expr, test)
}

/// What columns, aggregates and all other expressions have in common, in queries by [`Query::select`](crate::Query::select),
/// [`from`](super::from) and [`Query::join`](crate::Query::join).
///
/// Each expression has one meaning on every engine. Texts compare by their bytes; where an engine would calculate otherwise,
/// the rows are calculated in this process.
///
/// ```
/// # use bobak_core::{Column, Query, Record, join::{from, ExpressionMethods}};
/// # fn example<Person: Record>(name: Column<Person, String>, city: Column<Person, Option<String>>) {
/// let persons = from::<Person>()
///     .and(name.trim().length().gt(3))
///     .order_by(name.lower().asc())
///     .select((name.upper(), city.coalesce("unknown")));
/// # }
/// ```
#[allow(clippy::wrong_self_convention, reason = "as the methods of columns")]
pub trait ExpressionMethods: Sized {
    /// The expression itself: for comparisons of a column with another expression, since a column's own methods compare it
    /// with values.
    #[must_use]
    fn into_expr(self) -> FunctionOf<Self, Itself> {
        FunctionOf { expr: self, function: None, kind: PhantomData }
    }

    /// The text with A–Z as a–z. Other letters stay, as in `LIKE`.
    #[must_use]
    fn lower(self) -> FunctionOf<Self, TextOfText> {
        function(self, JoinFunction::Lower)
    }

    /// The text with a–z as A–Z. Other letters stay, as in `LIKE`.
    #[must_use]
    fn upper(self) -> FunctionOf<Self, TextOfText> {
        function(self, JoinFunction::Upper)
    }

    /// The text without the spaces at its ends.
    #[must_use]
    fn trim(self) -> FunctionOf<Self, TextOfText> {
        function(self, JoinFunction::Trim)
    }

    /// The number of characters of the text.
    #[must_use]
    fn length(self) -> FunctionOf<Self, NumberOfText> {
        function(self, JoinFunction::Length)
    }

    /// At most `length` characters of the text, from a position on. The first character has the position 1; with 0 the query
    /// fails with `OutOfRange`.
    #[must_use]
    fn substring(self, start: u32, length: u32) -> FunctionOf<Self, TextOfText> {
        function(self, JoinFunction::Substring(start.min(LONGEST), length.min(LONGEST)))
    }

    /// The text with another one after it; NULL if one of them is.
    #[must_use]
    fn concat<B>(self, text: B) -> PairOf<Self, B, ConcatKind> {
        let function = JoinFunction::Concat;
        PairOf { left: self, right: text, function, kind: PhantomData }
    }

    /// The value, or another one if it is NULL.
    #[must_use]
    fn coalesce<B>(self, other: B) -> PairOf<Self, B, CoalesceKind> {
        let function = JoinFunction::Coalesce;
        PairOf { left: self, right: other, function, kind: PhantomData }
    }

    /// The number as a float; of money, in whole units.
    #[must_use]
    fn to_float(self) -> FunctionOf<Self, FloatOfNumber> {
        function(self, JoinFunction::ToFloat)
    }

    /// The number as an integer, rounded towards zero: money in whole units, a truth value as 0 or 1. A float beyond 64 bits is
    /// `OutOfRange`.
    #[must_use]
    fn to_integer(self) -> FunctionOf<Self, IntegerOfNumber> {
        function(self, JoinFunction::ToInteger)
    }

    /// The decimal digits of the integer, with `-` before those of a negative one.
    #[must_use]
    fn to_text(self) -> FunctionOf<Self, TextOfInteger> {
        function(self, JoinFunction::ToText)
    }

    /// A part of the date or time, in UTC.
    #[must_use]
    fn part(self, part: DatePart) -> FunctionOf<Self, NumberOfMoment> {
        function(self, JoinFunction::Part(part))
    }

    /// The year.
    #[must_use]
    fn year(self) -> FunctionOf<Self, NumberOfMoment> {
        self.part(DatePart::Year)
    }

    /// The month, from 1 to 12.
    #[must_use]
    fn month(self) -> FunctionOf<Self, NumberOfMoment> {
        self.part(DatePart::Month)
    }

    /// The day of the month, from 1 to 31.
    #[must_use]
    fn day(self) -> FunctionOf<Self, NumberOfMoment> {
        self.part(DatePart::Day)
    }

    /// Where the unit begins in which the date or time is: the first of the month for [`DateUnit::Month`].
    #[must_use]
    fn start_of(self, unit: DateUnit) -> FunctionOf<Self, MomentOfMoment> {
        function(self, JoinFunction::StartOf(unit))
    }

    /// The number of values that are not NULL.
    #[must_use]
    fn count(self) -> AggregateOf<Self, CountKind> {
        AggregateOf::new(JoinAggregate::Count, self)
    }

    /// The number of different values that are not NULL.
    #[must_use]
    fn count_distinct(self) -> AggregateOf<Self, CountKind> {
        AggregateOf::new(JoinAggregate::CountDistinct, self)
    }

    /// The sum, exact for integers and money; `None` if there is no value.
    #[must_use]
    fn sum(self) -> AggregateOf<Self, SameNumber> {
        AggregateOf::new(JoinAggregate::Sum, self)
    }

    /// The smallest value; `None` if there is none.
    #[must_use]
    fn min(self) -> AggregateOf<Self, SameBase> {
        AggregateOf::new(JoinAggregate::Min, self)
    }

    /// The largest value; `None` if there is none.
    #[must_use]
    fn max(self) -> AggregateOf<Self, SameBase> {
        AggregateOf::new(JoinAggregate::Max, self)
    }

    /// The average as a float, of money in whole units; `None` if there is no value.
    #[must_use]
    fn avg(self) -> AggregateOf<Self, AsFloat> {
        AggregateOf::new(JoinAggregate::Avg, self)
    }

    /// Its value so many rows before, in the order of a window: `Sale::TOTAL.lag(1).over(window().order_by(Sale::DAY.asc()))`;
    /// `None` if there is no such row.
    #[must_use]
    fn lag(self, rows: u32) -> ValueOfRow<Self> {
        ValueOfRow::new(self, WindowFunction::Lag(rows))
    }

    /// As [`lag`](Self::lag), so many rows later.
    #[must_use]
    fn lead(self, rows: u32) -> ValueOfRow<Self> {
        ValueOfRow::new(self, WindowFunction::Lead(rows))
    }

    /// Its value in the first row of each partition of a window.
    #[must_use]
    fn first_value(self) -> ValueOfRow<Self> {
        ValueOfRow::new(self, WindowFunction::First)
    }

    /// Its value in the last row of each partition of a window.
    #[must_use]
    fn last_value(self) -> ValueOfRow<Self> {
        ValueOfRow::new(self, WindowFunction::Last)
    }

    /// Ascending order, NULL first.
    #[must_use]
    fn asc(self) -> OrderedPart<Self> {
        OrderedPart::new(self, false)
    }

    /// Descending order, NULL last.
    #[must_use]
    fn desc(self) -> OrderedPart<Self> {
        OrderedPart::new(self, true)
    }

    /// Rows, or groups, in which it equals a value or another expression. NULL equals nothing.
    #[must_use]
    fn eq<W>(self, other: W) -> ExprComparison<Self, W> {
        ExprComparison::new(self, Comparison::Equal, other)
    }

    /// Rows, or groups, in which it is another value than this one.
    #[must_use]
    fn ne<W>(self, other: W) -> ExprComparison<Self, W> {
        ExprComparison::new(self, Comparison::NotEqual, other)
    }

    /// Rows, or groups, in which it is less.
    #[must_use]
    fn lt<W>(self, other: W) -> ExprComparison<Self, W> {
        ExprComparison::new(self, Comparison::Less, other)
    }

    /// Rows, or groups, in which it is less or equal.
    #[must_use]
    fn le<W>(self, other: W) -> ExprComparison<Self, W> {
        ExprComparison::new(self, Comparison::LessOrEqual, other)
    }

    /// Rows, or groups, in which it is greater.
    #[must_use]
    fn gt<W>(self, other: W) -> ExprComparison<Self, W> {
        ExprComparison::new(self, Comparison::Greater, other)
    }

    /// Rows, or groups, in which it is greater or equal.
    #[must_use]
    fn ge<W>(self, other: W) -> ExprComparison<Self, W> {
        ExprComparison::new(self, Comparison::GreaterOrEqual, other)
    }

    /// Rows, or groups, in which it equals one of the values.
    #[must_use]
    fn is_in<W>(self, values: impl IntoIterator<Item = W>) -> Among<Self, W> {
        Among::new(self, values.into_iter().collect())
    }

    /// Rows, or groups, in which it equals a value that another query selects, such as a
    /// [subquery](crate::Query::subquery). NULLs that it selects are left out, unlike in SQL, so that `not` finds the other
    /// rows.
    #[must_use]
    fn is_in_query<I, R>(self, query: JoinQuery<I, R>) -> AmongRows<Self, I, R> {
        AmongRows::new(self, query)
    }

    /// Rows, or groups, in which it is NULL.
    #[must_use]
    fn is_null(self) -> NullTest<Self> {
        NullTest::new(self, true)
    }

    /// Rows, or groups, in which it is not NULL.
    #[must_use]
    fn is_not_null(self) -> NullTest<Self> {
        NullTest::new(self, false)
    }

    /// The text matches a pattern, as [`Column::like`].
    #[must_use]
    fn like(self, pattern: impl Into<String>) -> TextCondition<Self> {
        test(self, TextTest::Like(pattern.into(), None))
    }

    /// As [`like`](Self::like), with a character after which the next one stands for itself.
    #[must_use]
    fn like_escape(self, pattern: impl Into<String>, escape: char) -> TextCondition<Self> {
        test(self, TextTest::Like(pattern.into(), Some(escape)))
    }

    /// The text has `part` somewhere, byte for byte.
    #[must_use]
    fn contains(self, part: impl Into<String>) -> TextCondition<Self> {
        test(self, TextTest::Contains(part.into()))
    }

    /// The text begins with `prefix`, byte for byte.
    #[must_use]
    fn starts_with(self, prefix: impl Into<String>) -> TextCondition<Self> {
        test(self, TextTest::StartsWith(prefix.into()))
    }

    /// The text ends with `suffix`, byte for byte.
    #[must_use]
    fn ends_with(self, suffix: impl Into<String>) -> TextCondition<Self> {
        test(self, TextTest::EndsWith(suffix.into()))
    }
}

impl JoinFunction {
    /// Checks its arguments as far as engines rely on them.
    ///
    /// # Errors
    /// `OutOfRange` for a substring from position 0; `Misuse` for another number of arguments; `Syntax` for a JSON path that
    /// is none; `Mismatch` for a text that is no JSON document.
    pub fn check(self, arguments: &[JoinExpr]) -> Result<()> {
        if matches!(self, Self::Substring(0, _)) {
            let message = "a text has no position 0: its first character has the position 1";
            return Err(Error::new(ErrorKind::OutOfRange, message));
        }
        let wanted = match self {
            Self::Concat | Self::Coalesce => arguments.len().max(1),
            Self::JsonHas | Self::JsonWith => 3,
            Self::Distance => 4,
            json if json.is_of_json() => 2,
            _ => 1,
        };
        if arguments.len() != wanted {
            let kind = ErrorKind::Misuse;
            return Err(Error::wrong_number(kind, arguments.len(), wanted, "argument"));
        }
        self.check_json(arguments)
    }
}

impl<T, V> ExpressionMethods for Column<T, V> {}
impl<T, V> ExpressionMethods for Expression<T, V> {}
impl<A, B, O> ExpressionMethods for Calculation<A, B, O> {}
impl<E, V> ExpressionMethods for AggregateOf<E, V> {}
impl<E, K> ExpressionMethods for FunctionOf<E, K> {}
impl<A, B, K> ExpressionMethods for PairOf<A, B, K> {}
impl<C, E> ExpressionMethods for CaseOf<C, E> {}
impl<I, R> ExpressionMethods for QueryValue<I, R> {}
impl<E, P> ExpressionMethods for JsonPart<E, PartOfType<P>> {}
impl<C, P, O> ExpressionMethods for WindowExpr<C, P, O> {}
impl<const N: usize> ExpressionMethods for NthColumn<N> {}
