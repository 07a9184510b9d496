//! Typed columns, from which conditions, orders and assignments are built.

use crate::nearest::{Distance, Metric, VectorField};
use crate::{
    ColumnPair, Comparison, Condition, Expr, Expression, Field, FieldReference, Filter, Order,
    OrderBy, Summable, ToOne, Value,
};
use std::marker::PhantomData;

/// A column of the record `T` whose field has the type `V`. The derive makes a constant for each field,
/// named like the field in capitals.
///
/// ```
/// # use bobak_core::{Column, Query};
/// # struct Person;
/// # impl Person { const NAME: Column<Person, String> = Column::new(1); const AGE: Column<Person, Option<i32>> = Column::new(2); }
/// let query: Query<Person> = Query::filter(Person::AGE.between(20, 29))
///     .order_by(Person::AGE.desc())
///     .order_by(Person::NAME.asc())
///     .limit(10);
/// ```
#[derive(Debug)]
pub struct Column<T, V> {
    index: usize,
    types: PhantomData<fn() -> (T, V)>,
}

impl<T, V> Clone for Column<T, V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, V> Copy for Column<T, V> {}

/// A column of the record `T`, of any type.
#[derive(Debug)]
pub struct AnyColumn<T> {
    index: usize,
    record: PhantomData<fn() -> T>,
}

impl<T> Clone for AnyColumn<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for AnyColumn<T> {}

impl<T> AnyColumn<T> {
    /// The column's index in the schema.
    #[must_use]
    pub const fn index(self) -> usize {
        self.index
    }
}

impl<T, V> From<Column<T, V>> for AnyColumn<T> {
    fn from(column: Column<T, V>) -> Self {
        Self { index: column.index, record: PhantomData }
    }
}

/// What a column of type `V` can be compared with: a `V`, or a value that stands for one (`&str` for a
/// `String`, a `V` for an `Option<V>`).
#[diagnostic::on_unimplemented(
    message = "a column of the type `{V}` has no values of the type `{Self}`",
    label = "this is no `{V}`",
    note = "an expression is compared by `column.into_expr()`",
    note = "a value for an `Option` is given without `Some`; `None` is written with its type, as in `None::<String>`"
)]
pub trait Operand<V> {
    /// The value. The query fails with `OutOfRange` if it has no stored form: a `u64` beyond `i64`, a NaN, or a document
    /// without a JSON form.
    fn into_value(self) -> Value<'static>;
}

fn stored<V: Field>(field: &V) -> Value<'static> {
    field.to_value().map_or(Value::UNSTORABLE, Value::into_owned)
}

impl<V: Field> Operand<V> for V {
    fn into_value(self) -> Value<'static> {
        stored(&self)
    }
}

impl<V: Field> Operand<Option<V>> for V {
    fn into_value(self) -> Value<'static> {
        stored(&self)
    }
}

impl<V: Field> Operand<V> for &V {
    fn into_value(self) -> Value<'static> {
        stored(self)
    }
}

macro_rules! borrowed_operand {
    ($($borrowed:ty => $owned:ty),*) => {$(
        impl Operand<$owned> for $borrowed {
            fn into_value(self) -> Value<'static> {
                Value::from(self).into_owned()
            }
        }
        impl Operand<Option<$owned>> for $borrowed {
            fn into_value(self) -> Value<'static> {
                Value::from(self).into_owned()
            }
        }
        impl Operand<Value<'static>> for $borrowed {
            fn into_value(self) -> Value<'static> {
                Value::from(self).into_owned()
            }
        }
    )*};
}
borrowed_operand!(&str => String, &[u8] => Vec<u8>);

macro_rules! dynamic_operand {
    ($($t:ty),*) => {$(
        impl Operand<Value<'static>> for $t {
            fn into_value(self) -> Value<'static> {
                stored(&self)
            }
        }
    )*};
}
dynamic_operand!(
    bool,
    i8,
    i16,
    i32,
    i64,
    u8,
    u16,
    u32,
    u64,
    f32,
    f64,
    String,
    Vec<u8>,
    crate::Uuid,
    crate::Currency,
    crate::Date,
    crate::Time,
    crate::DateTime,
    crate::Timestamp
);

impl<T, V> Column<T, V> {
    /// The column at this index of the schema. The derive calls it; a wrong index fails with `Schema` when
    /// the column is used.
    #[must_use]
    pub const fn new(index: usize) -> Self {
        Self { index, types: PhantomData }
    }

    /// The column's index in the schema.
    #[must_use]
    pub const fn index(self) -> usize {
        self.index
    }

    /// The relation to the record whose key the column holds, without a foreign key in the table: for one that another
    /// engine keeps, or that another program made. See [`ToOne`].
    #[must_use]
    pub const fn refers_to<B>(self) -> ToOne<T, B>
    where
        V: Field,
    {
        ToOne::new(self.index, V::NULLABLE)
    }

    /// One field of a reference [by several](ToOne::by_fields): the other one is a field of the record referred to.
    ///
    /// # Panics
    /// If the types are stored in different forms: when the program is compiled, for a constant.
    #[must_use]
    pub const fn refers_to_field<B, W>(self, other: Column<B, W>) -> FieldReference<T, B>
    where
        V: Field,
        W: Field,
    {
        let same = V::TYPE.storage() as u8 == W::TYPE.storage() as u8;
        assert!(same, "a field is not of the type of the field that it refers to");
        let pair = ColumnPair { from: self.index, to: other.index };
        FieldReference::new(pair, V::NULLABLE)
    }

    /// Ascending order, NULL first.
    #[must_use]
    pub const fn asc(self) -> OrderBy<T> {
        OrderBy::new(Order { column: self.index, descending: false })
    }

    /// Descending order, NULL last.
    #[must_use]
    pub const fn desc(self) -> OrderBy<T> {
        OrderBy::new(Order { column: self.index, descending: true })
    }

    /// Rows in which the column is NULL.
    #[must_use]
    pub const fn is_null(self) -> Filter<T> {
        Filter::new(Condition::IsNull { column: self.index })
    }

    /// Rows in which the column is not NULL.
    #[must_use]
    pub fn is_not_null(self) -> Filter<T> {
        self.is_null().not()
    }

    /// Equal. NULL (`None`) equals NULL here, as `is_null` does.
    #[must_use]
    pub fn eq(self, value: impl Operand<V>) -> Filter<T> {
        match value.into_value() {
            Value::Null => self.is_null(),
            value => self.compare(Comparison::Equal, value),
        }
    }

    /// Not equal. Does not match NULL, unless the value is NULL.
    #[must_use]
    pub fn ne(self, value: impl Operand<V>) -> Filter<T> {
        match value.into_value() {
            Value::Null => self.is_not_null(),
            value => self.compare(Comparison::NotEqual, value),
        }
    }

    /// Less than.
    #[must_use]
    pub fn lt(self, value: impl Operand<V>) -> Filter<T> {
        self.compare(Comparison::Less, value.into_value())
    }

    /// Less than, or equal.
    #[must_use]
    pub fn le(self, value: impl Operand<V>) -> Filter<T> {
        self.compare(Comparison::LessOrEqual, value.into_value())
    }

    /// Greater than.
    #[must_use]
    pub fn gt(self, value: impl Operand<V>) -> Filter<T> {
        self.compare(Comparison::Greater, value.into_value())
    }

    /// Greater than, or equal.
    #[must_use]
    pub fn ge(self, value: impl Operand<V>) -> Filter<T> {
        self.compare(Comparison::GreaterOrEqual, value.into_value())
    }

    /// From `low` to `high`, inclusive.
    #[must_use]
    pub fn between(self, low: impl Operand<V>, high: impl Operand<V>) -> Filter<T> {
        self.ge(low).and(self.le(high))
    }

    /// Equal to one of the values; a NULL among them matches nothing.
    #[must_use]
    pub fn is_in<O: Operand<V>>(self, values: impl IntoIterator<Item = O>) -> Filter<T> {
        let values = values.into_iter().map(Operand::into_value).filter(|v| !v.is_null()).collect();
        Filter::new(Condition::In { column: self.index, values })
    }

    /// The text matches a pattern: `%` stands for any characters, `_` for one; ASCII letters match in
    /// either case.
    #[must_use]
    pub fn like(self, pattern: impl Into<String>) -> Filter<T> {
        Filter::new(Condition::Like { column: self.index, pattern: pattern.into() })
    }

    /// As [`like`](Self::like), with a character after which the next one stands for itself:
    /// `Item::NAME.like_escape("100!%%", '!')`. For a text of the user's, [`contains`](Self::contains),
    /// [`starts_with`](Self::starts_with) and [`ends_with`](Self::ends_with) need no escape.
    ///
    /// The query fails with `Syntax` if the character is `%` or `_`.
    #[must_use]
    pub fn like_escape(self, pattern: impl Into<String>, escape: char) -> Filter<T> {
        Filter::new(Condition::LikeEscape { column: self.index, pattern: pattern.into(), escape })
    }

    /// The text has `part` somewhere, byte for byte.
    #[must_use]
    pub fn contains(self, part: impl Into<String>) -> Filter<T> {
        Filter::new(Condition::Contains { column: self.index, part: part.into() })
    }

    /// The text ends with `suffix`, byte for byte.
    #[must_use]
    pub fn ends_with(self, suffix: impl Into<String>) -> Filter<T> {
        Filter::new(Condition::EndsWith { column: self.index, suffix: suffix.into() })
    }

    /// The text begins with `prefix`, byte for byte.
    #[must_use]
    pub fn starts_with(self, prefix: impl Into<String>) -> Filter<T> {
        Filter::new(Condition::StartsWith { column: self.index, prefix: prefix.into() })
    }

    /// Equal to another column of the row.
    #[must_use]
    pub const fn eq_column(self, other: Self) -> Filter<T> {
        self.compare_column(Comparison::Equal, other)
    }

    /// Less than another column of the row.
    #[must_use]
    pub const fn lt_column(self, other: Self) -> Filter<T> {
        self.compare_column(Comparison::Less, other)
    }

    /// Greater than another column of the row.
    #[must_use]
    pub const fn gt_column(self, other: Self) -> Filter<T> {
        self.compare_column(Comparison::Greater, other)
    }

    const fn compare_column(self, comparison: Comparison, other: Self) -> Filter<T> {
        Filter::new(Condition::CompareColumns { left: self.index, comparison, right: other.index })
    }

    fn compare(self, comparison: Comparison, value: Value<'static>) -> Filter<T> {
        if value.is_null() {
            // Comparing with NULL matches no row.
            return Filter::new(Condition::Or(Vec::new()));
        }
        Filter::new(Condition::Compare { column: self.index, comparison, value })
    }

    /// The smallest value; `None` if no row has one.
    #[must_use]
    pub const fn min(self) -> Expression<T, Option<V>> {
        Expression::new(Expr::Min(self.index))
    }

    /// The largest value; `None` if no row has one.
    #[must_use]
    pub const fn max(self) -> Expression<T, Option<V>> {
        Expression::new(Expr::Max(self.index))
    }
}

impl<T, V: Summable> Column<T, V> {
    /// The sum, exact for integers and money; `None` if no row has a value.
    #[must_use]
    pub const fn sum(self) -> Expression<T, Option<V::Sum>> {
        Expression::new(Expr::Sum(self.index))
    }

    /// The average as a float; `None` if no row has a value. For money, in whole units.
    #[must_use]
    pub const fn avg(self) -> Expression<T, Option<f64>> {
        Expression::new(Expr::Avg(self.index))
    }
}

impl<T, V: VectorField> Column<T, V> {
    /// The [cosine distance](Metric::Cosine) from a vector.
    #[must_use]
    pub fn cosine(self, to: &V::Vector) -> Distance<T> {
        Distance::new(self.index(), Metric::Cosine, to.as_ref())
    }

    /// The [Euclidean distance](Metric::Euclidean) from a vector.
    #[must_use]
    pub fn euclidean(self, to: &V::Vector) -> Distance<T> {
        Distance::new(self.index(), Metric::Euclidean, to.as_ref())
    }

    /// Minus the [dot product](Metric::Dot) with a vector.
    #[must_use]
    pub fn dot(self, to: &V::Vector) -> Distance<T> {
        Distance::new(self.index(), Metric::Dot, to.as_ref())
    }
}
