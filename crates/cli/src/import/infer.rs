//! Infers the narrowest type of each column that represents all its values exactly.
//!
//! Exact means: numbers keep their value, dates and times their instant, text every byte. The type is
//! the first of these that fits all values: `i64`, `f64` (see `bobak_text::number`), `bool` (`true`
//! and `false` in lower case), `date`, `datetime`, `timestamp` (see `bobak_text::time`), otherwise
//! `text`. NULL fits every type; a column with only NULLs is `text`.

use bobak::schema::Type;
use bobak_text::{number, read, time};
use csv::ByteRecord;

/// What is known about one column.
#[derive(Clone, Debug)]
pub struct InferredColumn {
    given: Option<Type>,
    required: bool,
    inferred: Option<Type>,
    nullable: bool,
    /// Whether all integers so far convert to floats exactly.
    fits_float: bool,
}

/// The texts that mean NULL.
#[derive(Clone, Debug)]
pub struct NullTexts {
    texts: Vec<Vec<u8>>,
    max_len: usize,
}

impl InferredColumn {
    /// A column with an optional given type; `required` forbids NULL.
    #[must_use]
    pub const fn new(given: Option<Type>, required: bool) -> Self {
        Self { given, required, inferred: None, nullable: false, fits_float: true }
    }

    /// The given type, or else the inferred one.
    #[must_use]
    pub fn ty(&self) -> Type {
        self.given.or(self.inferred).unwrap_or(Type::Text)
    }

    /// Whether the column contains NULL.
    #[must_use]
    pub const fn nullable(&self) -> bool {
        self.nullable
    }

    /// Adds a value to the inference.
    #[inline]
    pub fn observe(&mut self, field: &[u8], nulls: &NullTexts) {
        if nulls.contains(field) {
            self.nullable = true;
        } else if self.given.is_none() && self.inferred != Some(Type::Text) {
            self.inferred = Some(self.narrow(field));
        }
    }

    /// The narrowest type for this value and all previous ones.
    fn narrow(&mut self, field: &[u8]) -> Type {
        match self.inferred {
            None => self.narrowest(field),
            Some(Type::I64) => match number::integer(field) {
                Some(integer) => {
                    self.fits_float = self.fits_float && number::fits_float(integer);
                    Type::I64
                }
                None if self.fits_float && number::is_float(field) => Type::F64,
                None => Type::Text,
            },
            Some(Type::F64) if number::is_float(field) => Type::F64,
            Some(Type::Bool) if is_bool(field) => Type::Bool,
            Some(Type::Date) if time::date(field).is_some() => Type::Date,
            Some(Type::DateTime) if time::date_time(field).is_some() => Type::DateTime,
            Some(Type::Timestamp) if time::timestamp(field).is_some() => Type::Timestamp,
            Some(_) => Type::Text,
        }
    }

    fn narrowest(&mut self, field: &[u8]) -> Type {
        if let Some(integer) = number::integer(field) {
            self.fits_float = number::fits_float(integer);
            Type::I64
        } else if number::is_float(field) {
            Type::F64
        } else if is_bool(field) {
            Type::Bool
        } else if time::date(field).is_some() {
            Type::Date
        } else if time::date_time(field).is_some() {
            Type::DateTime
        } else if time::timestamp(field).is_some() {
            Type::Timestamp
        } else {
            Type::Text
        }
    }
}

impl NullTexts {
    /// Creates the set. Texts are compared byte for byte.
    pub fn new<T: Into<Vec<u8>>>(texts: impl IntoIterator<Item = T>) -> Self {
        let texts: Vec<Vec<u8>> = texts.into_iter().map(Into::into).collect();
        let max_len = texts.iter().map(Vec::len).max().unwrap_or(0);
        Self { texts, max_len }
    }

    /// Whether the field means NULL.
    #[inline]
    #[must_use]
    pub fn contains(&self, field: &[u8]) -> bool {
        field.len() <= self.max_len && self.texts.iter().any(|text| text == field)
    }
}

/// Validates a line. Returns the reason why it can't be imported whatever types are inferred: too few
/// or too many fields, text that is not UTF-8, a value that does not fit a given type, or NULL in a
/// required column. Returns `None` for a valid line.
///
/// `names` and `columns` are in the file's order.
#[must_use]
pub fn validate(
    record: &ByteRecord,
    names: &[String],
    columns: &[InferredColumn],
    nulls: &NullTexts,
) -> Option<String> {
    if record.len() != columns.len() {
        return Some(wrong_count(record.len(), columns.len()));
    }
    let plain = record.as_slice().is_ascii();
    let mut fields = record.iter().zip(names).zip(columns);
    fields.find_map(|((field, name), column)| {
        let checked = match column.given {
            None if plain && !column.required => return None,
            _ if nulls.contains(field) => {
                if column.required {
                    Err("NULL is not allowed".to_owned())
                } else {
                    Ok(())
                }
            }
            None if plain => return None,
            None => read::parse(Type::Text, field).map(drop),
            Some(ty) => read::parse(ty, field).map(drop),
        };
        checked.err().map(|reason| format!("column {name}: {reason}"))
    })
}

/// The message for a line with the wrong number of fields.
#[must_use]
pub fn wrong_count(fields: usize, columns: usize) -> String {
    let found = if fields == 1 { "field" } else { "fields" };
    let expected = if columns == 1 { "column" } else { "columns" };
    format!("{fields} {found}, expected {columns} {expected}")
}

fn is_bool(field: &[u8]) -> bool {
    matches!(field, b"true" | b"false")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn infer(values: &[&str]) -> (Type, bool) {
        let nulls = NullTexts::new(["", "NA"]);
        let mut column = InferredColumn::new(None, false);
        for value in values {
            column.observe(value.as_bytes(), &nulls);
        }
        (column.ty(), column.nullable())
    }

    #[test]
    fn narrowest_exact_type_is_inferred() {
        for (values, ty) in [
            (&["1", "-2", "9223372036854775807"][..], Type::I64),
            (&["1", "2.5"], Type::F64),
            (&["2.5", "1"], Type::F64),
            (&["1e5"], Type::F64),
            (&["true", "false"], Type::Bool),
            (&["2013-01-31", "1900-01-01"], Type::Date),
            (&["2013-01-31T00:00:00"], Type::DateTime),
            (&["2013-01-31T00:00:00Z", "2013-01-31T00:00:00.5Z"], Type::Timestamp),
            (&["a", "1"], Type::Text),
            (&[], Type::Text),
            // Values that a number type would change make the column text.
            (&["1", "007"], Type::Text),
            (&["+1"], Type::Text),
            (&["1", "-0"], Type::Text),
            (&["1.5", "-0.0"], Type::Text),
            (&["9223372036854775808"], Type::Text),
            (&["9007199254740993", "1.5"], Type::Text),
            (&["1.5", "9007199254740993"], Type::Text),
            (&["1.5", "1e400"], Type::Text),
            (&["1", "true"], Type::Text),
            (&["true", "TRUE"], Type::Text),
            (&["2013-01-31", "2013-01-31T00:00:00"], Type::Text),
            (&["2013-01-31T00:00:00", "2013-01-31T00:00:00Z"], Type::Text),
            (&["2013-01-31", "2013-02-31"], Type::Text),
        ] {
            assert_eq!(infer(values), (ty, false), "{values:?}");
        }
    }

    #[test]
    fn null_fits_every_type() {
        assert_eq!(infer(&["NA", "1", ""]), (Type::I64, true));
        assert_eq!(infer(&["NA"]), (Type::Text, true));
        assert_eq!(infer(&["na", "1"]), (Type::Text, false));
    }

    #[test]
    fn validation_reports_first_problem() {
        let names = ["id".to_owned(), "name".to_owned()];
        let columns =
            [InferredColumn::new(Some(Type::I64), false), InferredColumn::new(None, false)];
        let nulls = NullTexts::new([""]);
        let validate = |fields: &[&[u8]]| {
            super::validate(&ByteRecord::from(fields.to_vec()), &names, &columns, &nulls)
        };
        assert_eq!(validate(&[b"1", "Namé".as_bytes()]), None);
        assert_eq!(validate(&[b"", b""]), None);
        let required = [InferredColumn::new(None, true), InferredColumn::new(None, true)];
        let empty = ByteRecord::from(vec!["1", ""]);
        let reason = super::validate(&empty, &names, &required, &nulls);
        assert_eq!(reason.as_deref(), Some("column name: NULL is not allowed"));
        assert_eq!(validate(&[b"1"]).as_deref(), Some("1 field, expected 2 columns"));
        assert_eq!(validate(&[b"x", b""]).as_deref(), Some("column id: \"x\" is not an i64"));
        let latin = validate(&[b"1", b"caf\xe9"]).expect("not UTF-8");
        assert!(latin.starts_with("column name: ") && latin.contains("not UTF-8"), "{latin}");
    }
}
