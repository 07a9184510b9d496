//! Infers the narrowest type of each column that represents all its values exactly.
//!
//! Exact means: numbers keep their value, dates and times their instant, text every byte. The type is
//! the first of these that fits all values: `i64`, `f64` (see `bobak_text::number`), `bool` (`true`
//! and `false` in lower case), `date`, `datetime`, `timestamp` (see `bobak_text::time`), otherwise
//! `text`. NULL fits every type; a column with only NULLs is `text`.

use crate::import::csv_reader::{FieldKind, JSON_NULL, field_text};
use bobak::Value;
use bobak::schema::Type;
use bobak_text::csv::has_empty_value;
use bobak_text::{number, read, time};
use csv::ByteRecord;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

/// What is known about one column.
#[derive(Clone, Debug)]
pub struct InferredColumn {
    given: Option<Type>,
    required: bool,
    inferred: Option<Type>,
    nullable: bool,
    /// Whether there is a quoted empty field: an empty text in a column of text, NULL in others.
    has_empty: bool,
    /// The values so far, as long as they are unique, in a column that can become the key.
    unique: Option<UniqueValues>,
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
        Self {
            given,
            required,
            inferred: None,
            nullable: false,
            has_empty: false,
            unique: None,
            fits_float: true,
        }
    }

    /// Has the column watched for values that repeat: see [`is_unique`](Self::is_unique).
    #[must_use]
    pub fn watch_unique(mut self) -> Self {
        self.unique = Some(UniqueValues::default());
        self
    }

    /// Whether the column was watched, and has a different value in each line, and no NULL.
    #[must_use]
    pub fn is_unique(&self) -> bool {
        self.unique.as_ref().is_some_and(|values| values.lines > 0)
            && !self.nullable
            && !self.has_empty
    }

    /// Whether it was seen that a generated key would replace a value: 0 means that the engine generates it.
    #[must_use]
    pub fn has_zero(&self) -> bool {
        self.unique.as_ref().is_some_and(|values| values.has_zero)
    }

    /// The given type, or else the inferred one.
    #[must_use]
    pub fn ty(&self) -> Type {
        self.given.or(self.inferred).unwrap_or(Type::Text)
    }

    /// Whether the column contains NULL.
    #[must_use]
    pub fn nullable(&self) -> bool {
        self.nullable || (self.has_empty && !has_empty_value(self.ty()))
    }

    /// Adds a value to the inference.
    #[inline]
    pub fn observe(&mut self, field: &[u8], nulls: &NullTexts) {
        if nulls.contains(field) {
            self.nullable = true;
            return;
        }
        if self.unique.as_mut().is_some_and(|values| !values.add(field)) {
            self.unique = None;
        }
        let (field, kind) = field_text(field);
        if matches!(kind, FieldKind::Text | FieldKind::Cell) && field.is_empty() {
            self.has_empty = true;
        } else if kind != FieldKind::Plain {
            if self.given.is_none() && self.inferred != Some(Type::Text) {
                self.inferred = Some(self.narrow_json(field, kind));
            }
        } else if self.given.is_none() && self.inferred != Some(Type::Text) {
            self.inferred = Some(self.narrow(field));
        }
    }

    /// As [`narrow`](Self::narrow), for a string of JSON, which is no number, or a document.
    fn narrow_json(&mut self, field: &[u8], kind: FieldKind) -> Type {
        if kind == FieldKind::Document {
            let is_first = matches!(self.inferred, None | Some(Type::Json));
            return if is_first { Type::Json } else { Type::Text };
        }
        let ty = self.narrow(field);
        if matches!(ty, Type::Date | Type::DateTime | Type::Timestamp) { ty } else { Type::Text }
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

/// Values that are unique so far.
#[derive(Clone, Debug, Default)]
struct UniqueValues {
    lines: u64,
    has_zero: bool,
    /// The values, as long as all are integers in ascending order, as they mostly are.
    ascending: Vec<i64>,
    /// The hashes of all values otherwise. Two equal ones only cost the column its place as the key.
    hashes: Option<HashSet<u64>>,
}

impl UniqueValues {
    /// Adds a value; `false` if it was there.
    fn add(&mut self, field: &[u8]) -> bool {
        self.lines += 1;
        let integer = number::integer(field);
        self.has_zero |= integer == Some(0);
        match (&mut self.hashes, integer) {
            (None, Some(integer)) if self.ascending.last().is_none_or(|last| *last < integer) => {
                self.ascending.push(integer);
                true
            }
            (hashes, _) => {
                let before = std::mem::take(&mut self.ascending);
                let before = before.into_iter().map(|integer| hash(integer.to_string().as_bytes()));
                hashes.get_or_insert_with(|| before.collect()).insert(hash(field))
            }
        }
    }
}

fn hash(field: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    field.hash(&mut hasher);
    hasher.finish()
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
            // The document `null` of JSON.
            Some(Type::Json) if field == JSON_NULL => Ok(()),
            _ if nulls.contains(field) && column.required => Err("NULL is not allowed".to_owned()),
            _ if nulls.contains(field) => Ok(()),
            None if plain => return None,
            None => read::parse(Type::Text, field_text(field).0).map(drop),
            Some(ty) => value(ty, field).and_then(|value| match value {
                Value::Null if column.required => Err("NULL is not allowed".to_owned()),
                _ => Ok(()),
            }),
        };
        checked.err().map(|reason| format!("column {name}: {reason}"))
    })
}

/// The value of a field in a column of this type.
///
/// # Errors
/// The reason, in words, why it has none.
pub fn value(ty: Type, field: &[u8]) -> Result<Value<'_>, String> {
    match field_text(field) {
        // A string is a document of JSON in quotes.
        (text, FieldKind::Text) if ty == Type::Json => {
            let text = std::str::from_utf8(text).map_err(|error| error.to_string())?;
            let mut quoted = String::new();
            bobak_text::json::write_string(&mut quoted, text);
            Ok(Value::from(quoted))
        }
        (b"", FieldKind::Text | FieldKind::Cell) if !has_empty_value(ty) => Ok(Value::Null),
        (text, FieldKind::Text | FieldKind::Document | FieldKind::Cell) if ty == Type::Any => {
            read::parse(Type::Text, text)
        }
        (text, _) => read::parse(ty, text),
    }
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
    fn unique_values_are_recognized() {
        let is_unique = |values: &[&str]| {
            let mut column = InferredColumn::new(None, false).watch_unique();
            values.iter().for_each(|value| column.observe(value.as_bytes(), &NullTexts::new([""])));
            column.is_unique()
        };
        for values in [&["1", "2", "30"][..], &["3", "1", "2"], &["b", "a", "1"], &["1", "5", "-2"]]
        {
            assert!(is_unique(values), "{values:?}");
        }
        for values in [&["1", "2", "2"][..], &["3", "1", "3"], &["b", "a", "b"], &["1", ""], &[]] {
            assert!(!is_unique(values), "{values:?}");
        }
    }

    #[test]
    fn quoted_empty_field_is_text_only_in_columns_of_text() {
        let infer = |values: &[&[u8]]| {
            let mut column = InferredColumn::new(None, false);
            values.iter().for_each(|value| column.observe(value, &NullTexts::new([""])));
            (column.ty(), column.nullable())
        };
        let empty = crate::import::csv_reader::EXPLICIT;
        assert_eq!(infer(&[b"a", empty]), (Type::Text, false));
        assert_eq!(infer(&[b"1", empty]), (Type::I64, true));
        assert_eq!(infer(&[b"1", &[empty, b"2"].concat()]), (Type::Text, false));
        assert_eq!(value(Type::Text, empty), Ok(Value::from("")));
        assert_eq!(value(Type::I64, empty), Ok(Value::Null));
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
