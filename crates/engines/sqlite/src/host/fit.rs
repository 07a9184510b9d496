//! A value that SQLite compares with a column, as the column's engine would compare it.
//!
//! SQLite converts before it compares, by the declared types of both sides: the text '5' equals the
//! integer 5 in a column of integers. Other engines need not. So a value is brought into its
//! column's form here, with SQLite's meaning; where that depends on what the other side was
//! declared as, which a virtual table is not told, nothing is pushed down and SQLite decides.

use bobak_core::{ColumnSchema, Comparison, Condition, Storage, Value, ValueRef};

/// What a comparison with a column comes to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Fit {
    /// This condition, and nothing else.
    Exact(Condition),
    /// This condition lets all rows pass that SQLite would keep, and perhaps others.
    Wider(Condition),
    /// No row.
    Never,
    /// Only SQLite can tell.
    Unknown,
}

/// A value that a column may equal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Point<'a> {
    /// The column may equal this value, which has its storage class.
    Value(ValueRef<'a>),
    /// It equals no value of the column.
    Never,
    /// Only SQLite can tell.
    Unknown,
}

/// The value in the form of a column that is to equal it.
pub(crate) fn point<'a>(column: &ColumnSchema, value: ValueRef<'a>) -> Point<'a> {
    match (column.storage, value) {
        (_, ValueRef::Null) => Point::Never,
        (Storage::Any, _) | (Storage::Text, ValueRef::Int(_) | ValueRef::Float(_)) => {
            Point::Unknown
        }
        (Storage::Text, ValueRef::Text(_)) | (Storage::Bytes, ValueRef::Bytes(_)) => {
            Point::Value(value)
        }
        (Storage::Int, ValueRef::Int(integer)) => {
            let (low, high) = column.ty.integer_range().unwrap_or((i64::MIN, i64::MAX));
            if (low..=high).contains(&integer) { Point::Value(value) } else { Point::Never }
        }
        (Storage::Int, ValueRef::Float(float)) => match whole(float) {
            Some(integer) => point(column, ValueRef::Int(integer)),
            None => Point::Never,
        },
        (Storage::Float, ValueRef::Float(_)) => Point::Value(value),
        (Storage::Float, ValueRef::Int(integer)) => match exact_float(integer) {
            Some(float) => Point::Value(ValueRef::Float(float)),
            None => Point::Never,
        },
        (Storage::Int | Storage::Float, ValueRef::Text(text)) => match number(text) {
            Some(number) => point(column, number),
            None => Point::Never,
        },
        (Storage::Int | Storage::Float | Storage::Text, ValueRef::Bytes(_))
        | (Storage::Bytes, _) => Point::Never,
    }
}

/// `column comparison value`.
pub(crate) fn compare(
    place: usize,
    column: &ColumnSchema,
    comparison: Comparison,
    value: ValueRef<'_>,
) -> Fit {
    if value.is_null() {
        return Fit::Never;
    }
    match comparison {
        Comparison::Equal => match point(column, value) {
            Point::Value(value) => Fit::Exact(compared(place, comparison, value)),
            Point::Never => Fit::Never,
            Point::Unknown => Fit::Unknown,
        },
        Comparison::NotEqual => match point(column, value) {
            Point::Value(value) => Fit::Exact(compared(place, comparison, value)),
            Point::Never => Fit::Exact(not_null(place)),
            Point::Unknown => Fit::Unknown,
        },
        _ => range(place, column, comparison, value),
    }
}

fn range(place: usize, column: &ColumnSchema, comparison: Comparison, value: ValueRef<'_>) -> Fit {
    match (column.storage, value) {
        (Storage::Any, _) | (Storage::Text, ValueRef::Int(_) | ValueRef::Float(_)) => Fit::Unknown,
        (Storage::Text, ValueRef::Text(_))
        | (Storage::Bytes, ValueRef::Bytes(_))
        | (Storage::Float, ValueRef::Float(_)) => Fit::Exact(compared(place, comparison, value)),
        (Storage::Int, ValueRef::Int(integer)) => integer_range(place, column, comparison, integer),
        (Storage::Int, ValueRef::Float(float)) => {
            // The nearest integer on the side where all that hold, hold.
            let bound = match comparison {
                Comparison::Greater | Comparison::LessOrEqual => float.floor(),
                _ => float.ceil(),
            };
            match whole(bound) {
                Some(bound) => integer_range(place, column, comparison, bound),
                None => beyond(place, comparison, bound > 0.0),
            }
        }
        (Storage::Float, ValueRef::Int(integer)) => float_range(place, comparison, integer),
        (Storage::Int | Storage::Float, ValueRef::Text(text)) => match number(text) {
            Some(number) => range(place, column, comparison, number),
            // Texts, and bytes, come after all numbers.
            None => beyond(place, comparison, true),
        },
        (Storage::Int | Storage::Float | Storage::Text, ValueRef::Bytes(_)) => {
            beyond(place, comparison, true)
        }
        (Storage::Bytes, _) => beyond(place, comparison, false),
        (_, ValueRef::Null) => Fit::Never,
    }
}

/// A range of integers, with its bound inside what the column can hold: engines with narrow
/// columns would refuse others.
fn integer_range(place: usize, column: &ColumnSchema, comparison: Comparison, bound: i64) -> Fit {
    let (low, high) = column.ty.integer_range().unwrap_or((i64::MIN, i64::MAX));
    if bound < low {
        return beyond(place, comparison, false);
    }
    if bound > high {
        return beyond(place, comparison, true);
    }
    Fit::Exact(compared(place, comparison, ValueRef::Int(bound)))
}

/// A range of floats whose bound is an integer, which need not be a float.
fn float_range(place: usize, comparison: Comparison, integer: i64) -> Fit {
    use Comparison::{Greater, GreaterOrEqual, Less, LessOrEqual};
    let float = integer as f64;
    // How the float compares with the integer, without rounding.
    let comparison = match (float as i128).cmp(&i128::from(integer)) {
        std::cmp::Ordering::Equal => comparison,
        std::cmp::Ordering::Greater => match comparison {
            Greater | GreaterOrEqual => GreaterOrEqual,
            _ => Less,
        },
        std::cmp::Ordering::Less => match comparison {
            Greater | GreaterOrEqual => Greater,
            _ => LessOrEqual,
        },
    };
    Fit::Exact(compared(place, comparison, ValueRef::Float(float)))
}

/// A range whose bound is after (`after`) or before all values of the column.
fn beyond(place: usize, comparison: Comparison, after: bool) -> Fit {
    let upward = matches!(comparison, Comparison::Greater | Comparison::GreaterOrEqual);
    if upward == after { Fit::Never } else { Fit::Exact(not_null(place)) }
}

/// `column IS value`, or `IS NOT`.
pub(crate) fn is(place: usize, column: &ColumnSchema, value: ValueRef<'_>, not: bool) -> Fit {
    let null = Condition::IsNull { column: place };
    match (value.is_null(), not) {
        (true, false) => Fit::Exact(null),
        (true, true) => Fit::Exact(not_null(place)),
        (false, false) => compare(place, column, Comparison::Equal, value),
        (false, true) => match compare(place, column, Comparison::NotEqual, value) {
            Fit::Exact(differs) => Fit::Exact(Condition::Or(vec![null, differs])),
            other => other,
        },
    }
}

/// `column LIKE pattern`, of a column of texts.
pub(crate) fn like(place: usize, pattern: ValueRef<'_>) -> Fit {
    match pattern {
        ValueRef::Null => Fit::Never,
        ValueRef::Text(pattern) => {
            Fit::Exact(Condition::Like { column: place, pattern: pattern.to_owned() })
        }
        _ => Fit::Unknown,
    }
}

/// `column GLOB pattern`, of a column of texts: what stands before the first wild card.
pub(crate) fn glob(place: usize, pattern: ValueRef<'_>) -> Fit {
    match pattern {
        ValueRef::Null => Fit::Never,
        ValueRef::Text(pattern) => {
            let end = pattern.find(['*', '?', '[']).unwrap_or(pattern.len());
            match pattern.get(..end) {
                Some(prefix) if !prefix.is_empty() => {
                    Fit::Wider(Condition::StartsWith { column: place, prefix: prefix.to_owned() })
                }
                _ => Fit::Unknown,
            }
        }
        _ => Fit::Unknown,
    }
}

/// The column is not NULL.
pub(crate) fn not_null(place: usize) -> Condition {
    Condition::Not(Box::new(Condition::IsNull { column: place }))
}

fn compared(column: usize, comparison: Comparison, value: ValueRef<'_>) -> Condition {
    Condition::Compare { column, comparison, value: value.to_owned() }
}

/// The number that a text is to SQLite, where it is one as a whole.
pub(crate) fn number(text: &str) -> Option<ValueRef<'static>> {
    let text = text.trim_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c']);
    // Rust reads words such as `inf` too.
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit() || b"+-.eE".contains(&b)) {
        return None;
    }
    if let Ok(integer) = text.parse::<i64>() {
        return Some(ValueRef::Int(integer));
    }
    text.parse::<f64>().ok().map(ValueRef::Float)
}

/// The integer that a float is, where it is one.
pub(crate) fn whole(float: f64) -> Option<i64> {
    let fits = float >= i64::MIN as f64 && float < -(i64::MIN as f64);
    (fits && float.fract() == 0.0).then_some(float as i64)
}

/// The float that an integer is, where there is one.
pub(crate) fn exact_float(integer: i64) -> Option<f64> {
    let float = integer as f64;
    (float as i128 == i128::from(integer)).then_some(float)
}

/// A value as a column keeps it, converted as SQLite converts what is stored in its own tables.
pub(crate) fn stored<'a>(column: &ColumnSchema, value: ValueRef<'a>) -> Value<'a> {
    match (column.storage, value) {
        (Storage::Int, ValueRef::Text(text)) if !column.is_kept_as_text() => match number(text) {
            Some(number) => stored(column, number),
            None => value.into(),
        },
        (Storage::Int, ValueRef::Float(float)) => whole(float).map_or(value.into(), Value::Int),
        (Storage::Float, ValueRef::Int(integer)) => {
            exact_float(integer).map_or(value.into(), Value::Float)
        }
        (Storage::Float, ValueRef::Text(text)) => match number(text) {
            Some(number) => stored(column, number),
            None => value.into(),
        },
        (Storage::Text, ValueRef::Int(integer)) if !column.is_kept_as_text() => {
            Value::from(integer.to_string())
        }
        _ => value.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bobak_core::Type;

    fn fit(ty: Type, comparison: Comparison, value: ValueRef<'_>) -> Fit {
        compare(0, &ColumnSchema::new("c", ty), comparison, value)
    }

    #[test]
    fn values_take_the_form_of_their_column() {
        use Comparison::{Equal, Greater, Less, LessOrEqual, NotEqual};
        let exact = |comparison, value: ValueRef<'_>| Fit::Exact(compared(0, comparison, value));
        let int = ValueRef::Int;
        assert_eq!(fit(Type::I64, Equal, ValueRef::Text(" 5.0 ")), exact(Equal, int(5)));
        assert_eq!(fit(Type::I64, Equal, ValueRef::Text("5x")), Fit::Never);
        assert_eq!(fit(Type::I64, Equal, ValueRef::Float(5.5)), Fit::Never);
        assert_eq!(fit(Type::I64, Less, ValueRef::Float(5.5)), exact(Less, int(6)));
        assert_eq!(fit(Type::I64, LessOrEqual, ValueRef::Float(-5.5)), exact(LessOrEqual, int(-6)));
        assert_eq!(fit(Type::I64, Less, ValueRef::Text("inf")), Fit::Exact(not_null(0)));
        assert_eq!(fit(Type::I64, Greater, ValueRef::Float(1e300)), Fit::Never);
        assert_eq!(fit(Type::U8, Less, int(1000)), Fit::Exact(not_null(0)));
        assert_eq!(fit(Type::U8, NotEqual, int(-1)), Fit::Exact(not_null(0)));
        assert_eq!(fit(Type::Text, Equal, int(5)), Fit::Unknown);
        assert_eq!(fit(Type::Bytes, Greater, ValueRef::Text("x")), Fit::Exact(not_null(0)));
        assert_eq!(fit(Type::Any, Equal, int(1)), Fit::Unknown);
        assert_eq!(fit(Type::F64, Equal, int(1)), exact(Equal, ValueRef::Float(1.0)));
        let large = (1_i64 << 53) + 1;
        assert_eq!(fit(Type::F64, Equal, int(large)), Fit::Never);
        let below = ValueRef::Float((1_i64 << 53) as f64);
        assert_eq!(fit(Type::F64, Greater, int(large)), exact(Greater, below));
        assert_eq!(fit(Type::F64, Less, int(large)), exact(LessOrEqual, below));
    }

    #[test]
    fn patterns_give_their_prefix() {
        let prefix = Condition::StartsWith { column: 0, prefix: "ab".into() };
        assert_eq!(glob(0, ValueRef::Text("ab*c?")), Fit::Wider(prefix));
        assert_eq!(glob(0, ValueRef::Text("*x")), Fit::Unknown);
        assert_eq!(like(0, ValueRef::Null), Fit::Never);
    }
}
