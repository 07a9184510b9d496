//! Conditions: which rows a query, an update or a delete applies to. Plain values.

use crate::{
    Result, Row, SubQuery, TableSchema, Value, ValueRef, check_escape, check_pattern, like,
    like_with_escape,
};
use std::cmp::Ordering;
use std::marker::PhantomData;

/// A condition over the columns of one table, which are given by their indexes in the schema.
///
/// As in SQL, a comparison with NULL is neither true nor false, and `And`, `Or` and `Not` follow
/// three-valued logic. A row matches if the whole condition is true.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Condition {
    /// Compares a column with a value that is not NULL.
    Compare {
        /// The column's index.
        column: usize,
        /// The operator.
        comparison: Comparison,
        /// The value.
        value: Value<'static>,
    },
    /// Compares two columns of the row.
    CompareColumns {
        /// The left column's index.
        left: usize,
        /// The operator.
        comparison: Comparison,
        /// The right column's index.
        right: usize,
    },
    /// The column equals one of the values, none of which is NULL.
    In {
        /// The column's index.
        column: usize,
        /// The values.
        values: Vec<Value<'static>>,
    },
    /// The column equals a value of a column in the rows of another table that match a condition.
    ///
    /// Only engines with [`Capabilities::subqueries`](crate::Capabilities::subqueries) take it; for
    /// others, callers replace it by [`In`](Condition::In) first.
    InQuery {
        /// The column's index.
        column: usize,
        /// The other table's rows.
        query: Box<SubQuery>,
    },
    /// The text matches a pattern: `%` stands for any characters, `_` for one; ASCII letters match in
    /// either case.
    Like {
        /// The column's index.
        column: usize,
        /// The pattern.
        pattern: String,
    },
    /// As [`Like`](Self::Like), with a character after which the next one stands for itself: neither `%` nor
    /// `_`. A pattern that ends with it matches nothing.
    LikeEscape {
        /// The column's index.
        column: usize,
        /// The pattern.
        pattern: String,
        /// The escape character.
        escape: char,
    },
    /// The text has these exact bytes somewhere, whatever the column's collation.
    Contains {
        /// The column's index.
        column: usize,
        /// The part.
        part: String,
    },
    /// The text ends with these exact bytes, whatever the column's collation.
    EndsWith {
        /// The column's index.
        column: usize,
        /// The suffix.
        suffix: String,
    },
    /// The text starts with these exact bytes, whatever the column's collation.
    StartsWith {
        /// The column's index.
        column: usize,
        /// The prefix.
        prefix: String,
    },
    /// The column is NULL.
    IsNull {
        /// The column's index.
        column: usize,
    },
    /// All conditions are true; true if there are none.
    And(Vec<Condition>),
    /// At least one condition is true; false if there are none.
    Or(Vec<Condition>),
    /// The condition is false.
    Not(Box<Condition>),
}

/// A comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// Equal.
    Equal,
    /// Not equal.
    NotEqual,
    /// Less.
    Less,
    /// Less or equal.
    LessOrEqual,
    /// Greater.
    Greater,
    /// Greater or equal.
    GreaterOrEqual,
}

impl Comparison {
    /// Whether `a operator b` is true, if `ordering` is the result of comparing `a` with `b`.
    #[inline]
    #[must_use]
    pub const fn holds(self, ordering: Ordering) -> bool {
        match self {
            Self::Equal => ordering.is_eq(),
            Self::NotEqual => ordering.is_ne(),
            Self::Less => ordering.is_lt(),
            Self::LessOrEqual => ordering.is_le(),
            Self::Greater => ordering.is_gt(),
            Self::GreaterOrEqual => ordering.is_ge(),
        }
    }
}

impl Condition {
    /// Whether the row matches the condition; `None` if the result is NULL.
    ///
    /// This defines what conditions mean, on every engine.
    #[must_use]
    pub fn evaluate(&self, table: &TableSchema, row: &dyn Row) -> Option<bool> {
        match self {
            Self::Compare { column, comparison, value } => {
                let ordering = compare(table, *column, row.get(*column), value.as_ref())?;
                Some(comparison.holds(ordering))
            }
            Self::CompareColumns { left, comparison, right } => {
                let ordering = compare(table, *left, row.get(*left), row.get(*right))?;
                Some(comparison.holds(ordering))
            }
            Self::In { column, values } => {
                let found = row.get(*column);
                if values.is_empty() {
                    return Some(false);
                }
                if found.is_null() {
                    return None;
                }
                let same = |v: &Value<'_>| compare(table, *column, found, v.as_ref());
                Some(values.iter().any(|value| same(value) == Some(Ordering::Equal)))
            }
            // A row alone does not tell: the caller has not replaced the subquery.
            Self::InQuery { .. } => None,
            Self::Like { column, pattern } => {
                text(row.get(*column)).map(|text| like(pattern, text))
            }
            Self::LikeEscape { column, pattern, escape } => {
                text(row.get(*column)).map(|text| like_with_escape(pattern, text, *escape))
            }
            Self::Contains { column, part } => {
                text(row.get(*column)).map(|text| text.contains(part.as_str()))
            }
            Self::EndsWith { column, suffix } => {
                text(row.get(*column)).map(|text| text.ends_with(suffix.as_str()))
            }
            Self::StartsWith { column, prefix } => {
                text(row.get(*column)).map(|text| text.starts_with(prefix.as_str()))
            }
            Self::IsNull { column } => Some(row.get(*column).is_null()),
            Self::And(parts) => all(parts.iter().map(|part| part.evaluate(table, row))),
            Self::Or(parts) => {
                all(parts.iter().map(|part| part.evaluate(table, row).map(|b| !b))).map(|b| !b)
            }
            Self::Not(part) => part.evaluate(table, row).map(|kept| !kept),
        }
    }

    /// The condition with each value in its column's stored form.
    ///
    /// # Errors
    /// `Schema` if the table has no such column; as [`ColumnSchema::accept`] for a value of the wrong
    /// type; as [`check_pattern`](crate::check_pattern); `OutOfRange` beyond [`MAX_DEPTH`](Self::MAX_DEPTH).
    ///
    /// [`ColumnSchema::accept`]: crate::ColumnSchema::accept
    pub fn resolve(self, table: &TableSchema) -> Result<Self> {
        self.check_depth(Self::MAX_DEPTH)?;
        let accept = |column: usize, value: Value<'static>| {
            let schema = table.column_at(column)?;
            schema.accept(value).map_err(|error| error.in_table(table.name()))
        };
        let each = |parts: Vec<Self>| {
            parts.into_iter().map(|p| p.resolve(table)).collect::<Result<Vec<_>>>()
        };
        Ok(match self {
            Self::Compare { column, comparison, value } => {
                Self::Compare { column, comparison, value: accept(column, value)? }
            }
            Self::In { column, values } => {
                let values =
                    values.into_iter().map(|v| accept(column, v)).collect::<Result<_>>()?;
                Self::In { column, values }
            }
            Self::InQuery { column, query } => {
                let query = query.resolve_against(table, column)?;
                Self::InQuery { column, query: Box::new(query) }
            }
            Self::And(parts) => Self::And(each(parts)?),
            Self::Or(parts) => Self::Or(each(parts)?),
            Self::Not(part) => Self::Not(Box::new(part.resolve(table)?)),
            Self::CompareColumns { left, right, .. } => {
                table.column_at(left)?;
                table.column_at(right)?;
                self
            }
            Self::LikeEscape { column, escape, ref pattern } => {
                table.column_at(column)?;
                let checked = check_escape(escape).and_then(|()| check_pattern(pattern));
                checked.map_err(|error| error.in_table(table.name()))?;
                self
            }
            Self::Like { column, ref pattern } => {
                table.column_at(column)?;
                check_pattern(pattern).map_err(|error| error.in_table(table.name()))?;
                self
            }
            Self::Contains { column, .. }
            | Self::EndsWith { column, .. }
            | Self::StartsWith { column, .. }
            | Self::IsNull { column } => {
                table.column_at(column)?;
                self
            }
        })
    }
}

impl Condition {
    /// Whether the condition contains an [`InQuery`](Condition::InQuery).
    #[must_use]
    pub fn has_subquery(&self) -> bool {
        match self {
            Self::InQuery { .. } => true,
            Self::And(parts) | Self::Or(parts) => parts.iter().any(Self::has_subquery),
            Self::Not(part) => part.has_subquery(),
            _ => false,
        }
    }

    /// Calls `each` with the query of each [`InQuery`](Condition::InQuery), also of those inside of others.
    pub fn for_each_subquery<'c>(&'c self, each: &mut dyn FnMut(&'c SubQuery)) {
        match self {
            Self::InQuery { query, .. } => {
                each(query);
                if let Some(condition) = &query.condition {
                    condition.for_each_subquery(each);
                }
            }
            Self::And(parts) | Self::Or(parts) => {
                parts.iter().for_each(|part| part.for_each_subquery(each));
            }
            Self::Not(part) => part.for_each_subquery(each),
            _ => {}
        }
    }

    /// Replaces each [`InQuery`](Condition::InQuery), the innermost first, by the condition that `run` returns for it.
    ///
    /// # Errors
    /// Those of `run`.
    pub fn replace_subqueries(
        self,
        run: &mut dyn FnMut(usize, SubQuery) -> Result<Self>,
    ) -> Result<Self> {
        let mut each = |parts: Vec<Self>| {
            parts.into_iter().map(|part| part.replace_subqueries(run)).collect::<Result<Vec<_>>>()
        };
        Ok(match self {
            Self::InQuery { column, query } => {
                let mut query = *query;
                let replace = |part: Self| part.replace_subqueries(run);
                query.condition = query.condition.map(replace).transpose()?;
                run(column, query)?
            }
            Self::And(parts) => Self::And(each(parts)?),
            Self::Or(parts) => Self::Or(each(parts)?),
            Self::Not(part) => Self::Not(Box::new(part.replace_subqueries(run)?)),
            other => other,
        })
    }
}

/// Compares two values of a column; `None` if one is NULL.
///
/// Values of different classes, which only columns of type `Any` can have, compare as in SQLite:
/// numbers before texts before bytes.
#[must_use]
fn compare(
    table: &TableSchema,
    column: usize,
    a: ValueRef<'_>,
    b: ValueRef<'_>,
) -> Option<Ordering> {
    if a.is_null() || b.is_null() {
        return None;
    }
    Some(compare_in_column(table, column, a, b))
}

/// Compares two values as the column at this index sorts them: NULL first, numbers before texts
/// before bytes, texts by the column's collation.
#[must_use]
pub fn compare_in_column(
    table: &TableSchema,
    column: usize,
    a: ValueRef<'_>,
    b: ValueRef<'_>,
) -> Ordering {
    match (a, b) {
        (ValueRef::Int(a), ValueRef::Int(b)) => a.cmp(&b),
        (ValueRef::Text(a), ValueRef::Text(b)) => {
            let collation = table.columns().get(column).map(|c| c.collation).unwrap_or_default();
            collation.compare(a, b)
        }
        _ => compare_values(a, b),
    }
}

/// Compares two values as [`compare_in_column`] does, but texts by their bytes.
#[must_use]
pub fn compare_values(a: ValueRef<'_>, b: ValueRef<'_>) -> Ordering {
    match (a, b) {
        (ValueRef::Int(a), ValueRef::Int(b)) => a.cmp(&b),
        (ValueRef::Text(a), ValueRef::Text(b)) => a.cmp(b),
        (ValueRef::Bytes(a), ValueRef::Bytes(b)) => a.cmp(b),
        (ValueRef::Float(a), ValueRef::Float(b)) => float_order(a, b),
        (ValueRef::Int(a), ValueRef::Float(b)) => integer_with_float(a, b),
        (ValueRef::Float(a), ValueRef::Int(b)) => integer_with_float(b, a).reverse(),
        _ => class(a).cmp(&class(b)),
    }
}

/// Zero and minus zero are equal; there are no NaNs.
fn float_order(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or(Ordering::Equal)
}

/// Exact, unlike a conversion to float, which may round the integer.
fn integer_with_float(integer: i64, float: f64) -> Ordering {
    if float >= -(i64::MIN as f64) {
        return Ordering::Less;
    }
    if float < i64::MIN as f64 {
        return Ordering::Greater;
    }
    let whole = float.trunc();
    integer.cmp(&(whole as i64)).then_with(|| float_order(whole, float))
}

fn class(value: ValueRef<'_>) -> u8 {
    match value {
        ValueRef::Null => 0,
        ValueRef::Int(_) | ValueRef::Float(_) => 1,
        ValueRef::Text(_) => 2,
        ValueRef::Bytes(_) => 3,
    }
}

fn text(value: ValueRef<'_>) -> Option<&str> {
    if let ValueRef::Text(text) = value { Some(text) } else { None }
}

/// Three-valued AND.
fn all(parts: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut unknown = false;
    for part in parts {
        match part {
            Some(false) => return Some(false),
            Some(true) => {}
            None => unknown = true,
        }
    }
    if unknown { None } else { Some(true) }
}

/// A [`Condition`] over the record `T`, built from typed columns.
///
/// ```
/// # use bobak_core::{Column, Filter};
/// # struct Person;
/// # impl Person { const NAME: Column<Person, String> = Column::new(1); const AGE: Column<Person, i32> = Column::new(2); }
/// let adults: Filter<Person> = Person::AGE.ge(18).and(Person::NAME.starts_with("A"));
/// ```
#[derive(Debug)]
pub struct Filter<T> {
    condition: Condition,
    /// How deeply the filters are nested of which it was built, up to one level more than a condition may have.
    depth: u32,
    record: PhantomData<fn() -> T>,
}

impl<T> Clone for Filter<T> {
    fn clone(&self) -> Self {
        Self { condition: self.condition.clone(), ..*self }
    }
}

impl<T> Filter<T> {
    /// A filter from an untyped condition.
    #[must_use]
    pub const fn new(condition: Condition) -> Self {
        Self { condition, depth: 1, record: PhantomData }
    }

    /// Rows that match both filters.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        self.combined(other, Condition::And, |condition| match condition {
            Condition::And(parts) => Ok(parts),
            other => Err(other),
        })
    }

    /// Rows that match at least one of the filters.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        self.combined(other, Condition::Or, |condition| match condition {
            Condition::Or(parts) => Ok(parts),
            other => Err(other),
        })
    }

    /// Rows for which the filter is false. Rows for which it is NULL match neither.
    #[must_use]
    #[allow(clippy::should_implement_trait, reason = "reads like SQL, as `and` and `or` do")]
    pub fn not(self) -> Self {
        if self.is_too_deep() {
            return self;
        }
        let condition = Condition::Not(Box::new(self.condition));
        Self { condition, depth: self.depth + 1, record: PhantomData }
    }

    /// The untyped condition.
    #[must_use]
    pub fn into_condition(self) -> Condition {
        self.condition
    }

    /// Adds `other` to the parts of this filter, if it has such; else both are the parts.
    fn combined(
        self,
        other: Self,
        of: fn(Vec<Condition>) -> Condition,
        parts: fn(Condition) -> std::result::Result<Vec<Condition>, Condition>,
    ) -> Self {
        if self.is_too_deep() {
            return self;
        }
        if other.is_too_deep() {
            return other;
        }
        let (mut all, depth) = match parts(self.condition) {
            Ok(all) => (all, self.depth.max(other.depth + 1)),
            Err(this) => (vec![this], self.depth.max(other.depth) + 1),
        };
        all.push(other.condition);
        Self { condition: of(all), depth, record: PhantomData }
    }

    /// Whether no query takes it. It stays as it is then, whatever is added: a deeper one would overflow the stack.
    const fn is_too_deep(&self) -> bool {
        self.depth > Condition::MAX_DEPTH
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_compare_with_floats_exactly() {
        let big = (1i64 << 53) + 1;
        assert_eq!(integer_with_float(big, (1i64 << 53) as f64), Ordering::Greater);
        assert_eq!(integer_with_float(i64::MAX, 9_223_372_036_854_775_808.0), Ordering::Less);
        assert_eq!(integer_with_float(-1, -0.5), Ordering::Less);
        assert_eq!(integer_with_float(0, -0.0), Ordering::Equal);
        assert_eq!(integer_with_float(i64::MIN, f64::NEG_INFINITY), Ordering::Greater);
    }
}
