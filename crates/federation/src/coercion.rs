//! Coercion of the values that SQLite compares with a column, to the column's type.
//!
//! SQLite converts values before it compares them, by the declared types of both sides: the text
//! '5' equals the integer 5 in a column of integers. Other engines need not do that. So a value is
//! converted to its column's type here, with SQLite's meaning. If the result depends on the declared
//! type of the other side, which a virtual table does not learn, nothing is pushed down and SQLite
//! decides.

use bobak_core::{ColumnSchema, Comparison, Condition, Storage, Value, ValueRef};

/// A comparison with a column, after coercion.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Coercion {
    /// Equivalent to this condition.
    Exact(Condition),
    /// Implies this condition, which may accept more rows.
    Wider(Condition),
    /// True for no row.
    NoRows,
    /// Only SQLite can decide.
    Undecided,
}

/// The value that a column must have to be equal to another value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum EqualValue<'a> {
    /// This value, of the column's storage class.
    Value(ValueRef<'a>),
    /// No value of the column is equal.
    Nothing,
    /// Only SQLite can decide.
    Undecided,
}

/// Converts a value to the type of a column that is compared with it by `=`.
pub(crate) fn equal_value<'a>(column: &ColumnSchema, value: ValueRef<'a>) -> EqualValue<'a> {
    match (column.storage, value) {
        (_, ValueRef::Null) => EqualValue::Nothing,
        (Storage::Any, _) | (Storage::Text, ValueRef::Int(_) | ValueRef::Float(_)) => {
            EqualValue::Undecided
        }
        (Storage::Text, ValueRef::Text(_)) | (Storage::Bytes, ValueRef::Bytes(_)) => {
            EqualValue::Value(value)
        }
        (Storage::Int, ValueRef::Int(integer)) => {
            let (low, high) = column.ty.integer_range().unwrap_or((i64::MIN, i64::MAX));
            if (low..=high).contains(&integer) {
                EqualValue::Value(value)
            } else {
                EqualValue::Nothing
            }
        }
        (Storage::Int, ValueRef::Float(float)) => match whole(float) {
            Some(integer) => equal_value(column, ValueRef::Int(integer)),
            None => EqualValue::Nothing,
        },
        (Storage::Float, ValueRef::Float(_)) => EqualValue::Value(value),
        (Storage::Float, ValueRef::Int(integer)) => match exact_float(integer) {
            Some(float) => EqualValue::Value(ValueRef::Float(float)),
            None => EqualValue::Nothing,
        },
        (Storage::Int | Storage::Float, ValueRef::Text(text)) => match number(text) {
            Some(number) => equal_value(column, number),
            None => EqualValue::Nothing,
        },
        (Storage::Int | Storage::Float | Storage::Text, ValueRef::Bytes(_))
        | (Storage::Bytes, _) => EqualValue::Nothing,
    }
}

/// Coerces `column comparison value`.
pub(crate) fn compare(
    position: usize,
    column: &ColumnSchema,
    comparison: Comparison,
    value: ValueRef<'_>,
) -> Coercion {
    if value.is_null() {
        return Coercion::NoRows;
    }
    match comparison {
        Comparison::Equal => match equal_value(column, value) {
            EqualValue::Value(value) => Coercion::Exact(compared(position, comparison, value)),
            EqualValue::Nothing => Coercion::NoRows,
            EqualValue::Undecided => Coercion::Undecided,
        },
        Comparison::NotEqual => match equal_value(column, value) {
            EqualValue::Value(value) => Coercion::Exact(compared(position, comparison, value)),
            EqualValue::Nothing => Coercion::Exact(not_null(position)),
            EqualValue::Undecided => Coercion::Undecided,
        },
        _ => range(position, column, comparison, value),
    }
}

fn range(
    position: usize,
    column: &ColumnSchema,
    comparison: Comparison,
    value: ValueRef<'_>,
) -> Coercion {
    match (column.storage, value) {
        (Storage::Any, _) | (Storage::Text, ValueRef::Int(_) | ValueRef::Float(_)) => {
            Coercion::Undecided
        }
        (Storage::Text, ValueRef::Text(_))
        | (Storage::Bytes, ValueRef::Bytes(_))
        | (Storage::Float, ValueRef::Float(_)) => {
            Coercion::Exact(compared(position, comparison, value))
        }
        (Storage::Int, ValueRef::Int(integer)) => {
            integer_range(position, column, comparison, integer)
        }
        (Storage::Int, ValueRef::Float(float)) => {
            // Round to the side on which the same integers satisfy the comparison.
            let bound = match comparison {
                Comparison::Greater | Comparison::LessOrEqual => float.floor(),
                _ => float.ceil(),
            };
            match whole(bound) {
                Some(bound) => integer_range(position, column, comparison, bound),
                None => beyond(position, comparison, bound > 0.0),
            }
        }
        (Storage::Float, ValueRef::Int(integer)) => float_range(position, comparison, integer),
        (Storage::Int | Storage::Float, ValueRef::Text(text)) => match number(text) {
            Some(number) => range(position, column, comparison, number),
            // Texts and bytes sort after all numbers.
            None => beyond(position, comparison, true),
        },
        (Storage::Int | Storage::Float | Storage::Text, ValueRef::Bytes(_)) => {
            beyond(position, comparison, true)
        }
        (Storage::Bytes, _) => beyond(position, comparison, false),
        (_, ValueRef::Null) => Coercion::NoRows,
    }
}

/// A range of integers. Its bound is kept inside the column's range: engines with narrow integer
/// types reject others.
fn integer_range(
    position: usize,
    column: &ColumnSchema,
    comparison: Comparison,
    bound: i64,
) -> Coercion {
    let (low, high) = column.ty.integer_range().unwrap_or((i64::MIN, i64::MAX));
    if bound < low {
        return beyond(position, comparison, false);
    }
    if bound > high {
        return beyond(position, comparison, true);
    }
    Coercion::Exact(compared(position, comparison, ValueRef::Int(bound)))
}

/// A range of floats whose bound is an integer that a float may not represent exactly.
fn float_range(position: usize, comparison: Comparison, integer: i64) -> Coercion {
    use Comparison::{Greater, GreaterOrEqual, Less, LessOrEqual};
    let float = integer as f64;
    // Compares the rounded bound with the exact one.
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
    Coercion::Exact(compared(position, comparison, ValueRef::Float(float)))
}

/// A range whose bound is greater (`after`) or less than all values of the column.
fn beyond(position: usize, comparison: Comparison, after: bool) -> Coercion {
    let upward = matches!(comparison, Comparison::Greater | Comparison::GreaterOrEqual);
    if upward == after { Coercion::NoRows } else { Coercion::Exact(not_null(position)) }
}

/// Coerces `column IS value`, or `IS NOT`.
pub(crate) fn is(
    position: usize,
    column: &ColumnSchema,
    value: ValueRef<'_>,
    not: bool,
) -> Coercion {
    let null = Condition::IsNull { column: position };
    match (value.is_null(), not) {
        (true, false) => Coercion::Exact(null),
        (true, true) => Coercion::Exact(not_null(position)),
        (false, false) => compare(position, column, Comparison::Equal, value),
        (false, true) => match compare(position, column, Comparison::NotEqual, value) {
            Coercion::Exact(differs) => Coercion::Exact(Condition::Or(vec![null, differs])),
            other => other,
        },
    }
}

/// Coerces `column LIKE pattern` of a text column.
pub(crate) fn like(position: usize, pattern: ValueRef<'_>) -> Coercion {
    match pattern {
        ValueRef::Null => Coercion::NoRows,
        ValueRef::Text(pattern) => {
            Coercion::Exact(Condition::Like { column: position, pattern: pattern.to_owned() })
        }
        _ => Coercion::Undecided,
    }
}

/// Coerces `column GLOB pattern` of a text column to its prefix before the first wildcard.
pub(crate) fn glob(position: usize, pattern: ValueRef<'_>) -> Coercion {
    match pattern {
        ValueRef::Null => Coercion::NoRows,
        ValueRef::Text(pattern) => {
            let end = pattern.find(['*', '?', '[']).unwrap_or(pattern.len());
            match pattern.get(..end) {
                Some(prefix) if !prefix.is_empty() => Coercion::Wider(Condition::StartsWith {
                    column: position,
                    prefix: prefix.to_owned(),
                }),
                _ => Coercion::Undecided,
            }
        }
        _ => Coercion::Undecided,
    }
}

/// The condition that a column is not NULL.
pub(crate) fn not_null(position: usize) -> Condition {
    Condition::Not(Box::new(Condition::IsNull { column: position }))
}

fn compared(column: usize, comparison: Comparison, value: ValueRef<'_>) -> Condition {
    Condition::Compare { column, comparison, value: value.to_owned() }
}

/// The number that SQLite converts a text to; `None` if the text is not entirely a number.
pub(crate) fn number(text: &str) -> Option<ValueRef<'static>> {
    let text = text.trim_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c']);
    // Rust also parses words such as `inf`.
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit() || b"+-.eE".contains(&b)) {
        return None;
    }
    if let Ok(integer) = text.parse::<i64>() {
        return Some(ValueRef::Int(integer));
    }
    text.parse::<f64>().ok().map(ValueRef::Float)
}

/// The integer that equals a float, if there is one.
pub(crate) fn whole(float: f64) -> Option<i64> {
    let fits = float >= i64::MIN as f64 && float < -(i64::MIN as f64);
    (fits && float.fract() == 0.0).then_some(float as i64)
}

/// The float that equals an integer, if there is one.
pub(crate) fn exact_float(integer: i64) -> Option<f64> {
    let float = integer as f64;
    (float as i128 == i128::from(integer)).then_some(float)
}

/// Converts a value for storage in a column, as SQLite does for its own tables.
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

    fn coerced(ty: Type, comparison: Comparison, value: ValueRef<'_>) -> Coercion {
        compare(0, &ColumnSchema::new("c", ty), comparison, value)
    }

    #[test]
    fn values_are_coerced_to_their_column_type() {
        use Comparison::{Equal, Greater, Less, LessOrEqual, NotEqual};
        let exact =
            |comparison, value: ValueRef<'_>| Coercion::Exact(compared(0, comparison, value));
        let int = ValueRef::Int;
        assert_eq!(coerced(Type::I64, Equal, ValueRef::Text(" 5.0 ")), exact(Equal, int(5)));
        assert_eq!(coerced(Type::I64, Equal, ValueRef::Text("5x")), Coercion::NoRows);
        assert_eq!(coerced(Type::I64, Equal, ValueRef::Float(5.5)), Coercion::NoRows);
        assert_eq!(coerced(Type::I64, Less, ValueRef::Float(5.5)), exact(Less, int(6)));
        assert_eq!(
            coerced(Type::I64, LessOrEqual, ValueRef::Float(-5.5)),
            exact(LessOrEqual, int(-6))
        );
        assert_eq!(coerced(Type::I64, Less, ValueRef::Text("inf")), Coercion::Exact(not_null(0)));
        assert_eq!(coerced(Type::I64, Greater, ValueRef::Float(1e300)), Coercion::NoRows);
        assert_eq!(coerced(Type::U8, Less, int(1000)), Coercion::Exact(not_null(0)));
        assert_eq!(coerced(Type::U8, NotEqual, int(-1)), Coercion::Exact(not_null(0)));
        assert_eq!(coerced(Type::Text, Equal, int(5)), Coercion::Undecided);
        assert_eq!(
            coerced(Type::Bytes, Greater, ValueRef::Text("x")),
            Coercion::Exact(not_null(0))
        );
        assert_eq!(coerced(Type::Any, Equal, int(1)), Coercion::Undecided);
        assert_eq!(coerced(Type::F64, Equal, int(1)), exact(Equal, ValueRef::Float(1.0)));
        let large = (1_i64 << 53) + 1;
        assert_eq!(coerced(Type::F64, Equal, int(large)), Coercion::NoRows);
        let below = ValueRef::Float((1_i64 << 53) as f64);
        assert_eq!(coerced(Type::F64, Greater, int(large)), exact(Greater, below));
        assert_eq!(coerced(Type::F64, Less, int(large)), exact(LessOrEqual, below));
    }

    #[test]
    fn glob_is_reduced_to_its_prefix() {
        let prefix = Condition::StartsWith { column: 0, prefix: "ab".into() };
        assert_eq!(glob(0, ValueRef::Text("ab*c?")), Coercion::Wider(prefix));
        assert_eq!(glob(0, ValueRef::Text("*x")), Coercion::Undecided);
        assert_eq!(like(0, ValueRef::Null), Coercion::NoRows);
    }
}
