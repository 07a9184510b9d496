//! The narrowest type of each column that holds every value of the whole file, and gives it back.
//!
//! The rule: numbers come back by their value, dates and times by their instant, texts byte for
//! byte. A column is, of the first that fits all its values: `i64`, `f64` (both as `number.rs`
//! says), `bool` (`true` and `false`, in lower case), `date`, `datetime`, `timestamp` (as `time.rs`
//! says), and `text` otherwise. NULL fits every type; a column that holds nothing else is `text`.

use bobak::schema::Type;
use bobak_text::{number, read, time};
use csv::ByteRecord;

/// What is known of one column.
#[derive(Clone, Debug)]
pub struct ColumnGuess {
    given: Option<Type>,
    required: bool,
    seen: Option<Type>,
    nullable: bool,
    /// Whether all integers so far are the same numbers as floats.
    fits_float: bool,
}

/// The texts that mean NULL.
#[derive(Clone, Debug)]
pub struct Nulls {
    texts: Vec<Vec<u8>>,
    longest: usize,
}

impl ColumnGuess {
    /// A column of which nothing is known but, perhaps, its type, and whether NULL is forbidden.
    #[must_use]
    pub const fn new(given: Option<Type>, required: bool) -> Self {
        Self { given, required, seen: None, nullable: false, fits_float: true }
    }

    /// The type that was given, or else the narrowest for all that was seen.
    #[must_use]
    pub fn ty(&self) -> Type {
        self.given.or(self.seen).unwrap_or(Type::Text)
    }

    /// Whether a NULL was seen.
    #[must_use]
    pub const fn nullable(&self) -> bool {
        self.nullable
    }

    /// Takes one value into account.
    #[inline]
    pub fn see(&mut self, field: &[u8], nulls: &Nulls) {
        if nulls.contains(field) {
            self.nullable = true;
        } else if self.given.is_none() && self.seen != Some(Type::Text) {
            self.seen = Some(self.narrow(field));
        }
    }

    /// The narrowest type for this value and all before it.
    fn narrow(&mut self, field: &[u8]) -> Type {
        match self.seen {
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

impl Nulls {
    /// The given texts, compared byte for byte.
    pub fn new<T: Into<Vec<u8>>>(texts: impl IntoIterator<Item = T>) -> Self {
        let texts: Vec<Vec<u8>> = texts.into_iter().map(Into::into).collect();
        let longest = texts.iter().map(Vec::len).max().unwrap_or(0);
        Self { texts, longest }
    }

    /// Whether the field means NULL.
    #[inline]
    #[must_use]
    pub fn contains(&self, field: &[u8]) -> bool {
        field.len() <= self.longest && self.texts.iter().any(|text| text == field)
    }
}

/// Why a line can't be stored, whatever is guessed: it has too few or too many fields, a text that
/// is not UTF-8, a value that is not of the type given, or NULL where none may be. `None` for a good
/// line.
///
/// `names` and `columns` are in the order of the file.
#[must_use]
pub fn fault(
    record: &ByteRecord,
    names: &[String],
    columns: &[ColumnGuess],
    nulls: &Nulls,
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
                    Err("NULL where none may be".to_owned())
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

/// The reason why a line of another number of fields is bad.
#[must_use]
pub fn wrong_count(fields: usize, columns: usize) -> String {
    let found = if fields == 1 { "field" } else { "fields" };
    let expected =
        if columns == 1 { "is 1 column".to_owned() } else { format!("are {columns} columns") };
    format!("{fields} {found} where there {expected}")
}

fn is_bool(field: &[u8]) -> bool {
    matches!(field, b"true" | b"false")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guess(values: &[&str]) -> (Type, bool) {
        let nulls = Nulls::new(["", "NA"]);
        let mut column = ColumnGuess::new(None, false);
        for value in values {
            column.see(value.as_bytes(), &nulls);
        }
        (column.ty(), column.nullable())
    }

    #[test]
    fn the_narrowest_type_that_gives_every_value_back() {
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
            // What would be changed stays text.
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
            assert_eq!(guess(values), (ty, false), "{values:?}");
        }
    }

    #[test]
    fn nulls_fit_every_type() {
        assert_eq!(guess(&["NA", "1", ""]), (Type::I64, true));
        assert_eq!(guess(&["NA"]), (Type::Text, true));
        assert_eq!(guess(&["na", "1"]), (Type::Text, false));
    }

    #[test]
    fn a_bad_line_is_bad_for_one_reason_in_words() {
        let names = ["id".to_owned(), "name".to_owned()];
        let columns = [ColumnGuess::new(Some(Type::I64), false), ColumnGuess::new(None, false)];
        let nulls = Nulls::new([""]);
        let fault = |fields: &[&[u8]]| {
            super::fault(&ByteRecord::from(fields.to_vec()), &names, &columns, &nulls)
        };
        assert_eq!(fault(&[b"1", "Namé".as_bytes()]), None);
        assert_eq!(fault(&[b"", b""]), None);
        let required = [ColumnGuess::new(None, true), ColumnGuess::new(None, true)];
        let empty = ByteRecord::from(vec!["1", ""]);
        let reason = super::fault(&empty, &names, &required, &nulls);
        assert_eq!(reason.as_deref(), Some("column name: NULL where none may be"));
        assert_eq!(fault(&[b"1"]).as_deref(), Some("1 field where there are 2 columns"));
        assert_eq!(fault(&[b"x", b""]).as_deref(), Some("column id: \"x\" is not an i64"));
        let latin = fault(&[b"1", b"caf\xe9"]).expect("not UTF-8");
        assert!(latin.starts_with("column name: ") && latin.contains("not UTF-8"), "{latin}");
    }
}
