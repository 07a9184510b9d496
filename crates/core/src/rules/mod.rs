//! Rules: normalizers and validators that a record declares.
//!
//! [`Rules`] are data and functions, which [`Record::rules`](crate::Record::rules) returns. The facade's rule layer runs
//! them in front of the engine that keeps the record.

mod email;
mod functions;
#[cfg(feature = "pattern")]
mod pattern;
mod violations;

pub use crate::rule_violation::Violation;
pub use functions::{
    RangeLimits, catch_panic, check_range, check_with, normalize_with, range_limits,
};
#[cfg(feature = "pattern")]
pub use pattern::Pattern;
pub use violations::Violations;

use crate::{Error, Result, Row, TableSchema, Value, ValueRef};

/// The rules of a record. Default: [`NONE`](Self::NONE).
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// The rules of fields, each field once.
    pub fields: &'static [FieldRules],
    /// Checks the whole row, whose columns are those of the record's schema.
    pub record: Option<RecordValidator>,
    /// The index of the column with the time of the [deletion](crate::SoftDelete); `None` if deletes remove rows.
    pub deleted_at: Option<usize>,
    /// The index of the column that is true in live rows and NULL in deleted ones; `None` without such a column.
    pub live: Option<usize>,
    /// The fields whose values are stored encrypted, each field once.
    pub encrypted: &'static [EncryptedField],
}

/// A field whose values are stored encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EncryptedField {
    /// The column's index in the record's schema.
    pub column: usize,
    /// Whether equal values are stored as equal bytes, so that they can be found.
    pub searchable: bool,
    /// What binds a value to its column. `None` for `TABLE.COLUMN`, the names in the record's schema.
    pub context: Option<&'static str>,
}

/// The rules of one field, in the order in which they apply to its value.
#[derive(Clone, Copy, Debug)]
pub struct FieldRules {
    /// The column's index in the record's schema.
    pub column: usize,
    /// Normalizers first.
    pub rules: &'static [FieldRule],
}

/// Adds what is wrong with a row.
pub type RecordValidator = fn(&dyn Row, &mut Violations) -> Result<()>;

/// What a validator says about a value: an error is the message, such as `must be even`.
pub type Verdict = std::result::Result<(), String>;

/// A rule of a field. NULL satisfies every rule, and no normalizer changes it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum FieldRule {
    /// Removes white space from both ends of a text.
    Trim,
    /// Converts a text to lower case.
    Lowercase,
    /// Converts a text to upper case.
    Uppercase,
    /// Replaces the value.
    Normalize(fn(ValueRef<'_>) -> Result<Value<'static>>),
    /// Accepts texts with `min` to `max` characters, and binary values with so many bytes.
    Length {
        /// The least number.
        min: usize,
        /// The largest number; `None` for any.
        max: Option<usize>,
    },
    /// Accepts e-mail addresses, as the HTML standard defines them for `<input type=email>`.
    Email,
    /// Accepts texts that a regular expression matches as a whole.
    #[cfg(feature = "pattern")]
    Pattern(&'static Pattern),
    /// Accepts values within a range.
    Range {
        /// Checks a value.
        check: fn(ValueRef<'_>) -> Result<Verdict>,
        /// Returns the ends of the range.
        limits: fn() -> RangeLimits,
    },
    /// Accepts what a function accepts.
    Validate(fn(ValueRef<'_>) -> Result<Verdict>),
}

impl Rules {
    /// No rules.
    pub const NONE: Self =
        Self { fields: &[], record: None, deleted_at: None, live: None, encrypted: &[] };

    /// Whether there are no rules, and no encrypted fields.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.fields.is_empty()
            && self.record.is_none()
            && self.deleted_at.is_none()
            && self.encrypted.is_empty()
    }

    /// Checks the rules themselves, when the record is registered.
    ///
    /// # Errors
    /// `Config` for a pattern that is not a regular expression, with table and column.
    pub fn check(&self, table: &TableSchema) -> Result<()> {
        for field in self.fields {
            field.rules.iter().try_for_each(FieldRule::check_rule).map_err(|error| {
                error.in_table(table.name().to_owned()).in_columns(table, &[field.column])
            })?;
        }
        Ok(())
    }
}

impl FieldRule {
    /// The value that replaces this one; `None` if it stays as it is.
    ///
    /// # Errors
    /// Those of a function, and `Engine` if it panics.
    pub fn normalize(&self, value: ValueRef<'_>) -> Result<Option<Value<'static>>> {
        let new = match (self, value) {
            (_, ValueRef::Null) => return Ok(None),
            (Self::Trim, ValueRef::Text(text)) => Value::from(text.trim().to_owned()),
            (Self::Lowercase, ValueRef::Text(text)) => Value::from(text.to_lowercase()),
            (Self::Uppercase, ValueRef::Text(text)) => Value::from(text.to_uppercase()),
            (Self::Normalize(function), _) => catch_panic("a normalizer", || function(value))?,
            _ => return Ok(None),
        };
        Ok((new.as_ref() != value).then_some(new))
    }

    /// What is wrong with a value; `Ok(Ok(()))` for a normalizer.
    ///
    /// # Errors
    /// Those of a function, and `Engine` if it panics.
    pub fn validate(&self, value: ValueRef<'_>) -> Result<Verdict> {
        match (self, value) {
            (_, ValueRef::Null) => Ok(Ok(())),
            (Self::Length { min, max }, ValueRef::Text(text)) => {
                Ok(check_length(*min, *max, text.chars().count(), "character"))
            }
            (Self::Length { min, max }, ValueRef::Bytes(bytes)) => {
                Ok(check_length(*min, *max, bytes.len(), "byte"))
            }
            (Self::Email, ValueRef::Text(text)) => Ok(match email::is_email(text) {
                true => Ok(()),
                false => Err("must be an e-mail address".to_owned()),
            }),
            #[cfg(feature = "pattern")]
            (Self::Pattern(pattern), ValueRef::Text(text)) => pattern.validate(text),
            (Self::Range { check, .. }, _) => check(value),
            (Self::Validate(function), _) => catch_panic("a validator", || function(value)),
            _ => Ok(Ok(())),
        }
    }

    /// Whether it may replace a value.
    #[must_use]
    pub const fn is_normalizer(&self) -> bool {
        matches!(self, Self::Trim | Self::Lowercase | Self::Uppercase | Self::Normalize(_))
    }

    /// The regular expression that must match a whole text.
    #[must_use]
    pub const fn pattern(&self) -> Option<&'static str> {
        match self {
            #[cfg(feature = "pattern")]
            Self::Pattern(pattern) => Some(pattern.text()),
            _ => None,
        }
    }

    fn check_rule(&self) -> Result<()> {
        match self {
            #[cfg(feature = "pattern")]
            Self::Pattern(pattern) => pattern.check(),
            _ => Ok(()),
        }
    }
}

fn check_length(min: usize, max: Option<usize>, found: usize, unit: &str) -> Verdict {
    if found >= min && max.is_none_or(|max| found <= max) {
        return Ok(());
    }
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    let wanted = match max {
        Some(max) if max == min => format!("{min} {unit}{}", plural(min)),
        Some(max) if min == 0 => format!("at most {max} {unit}{}", plural(max)),
        Some(max) => format!("{min} to {max} {unit}s"),
        None => format!("at least {min} {unit}{}", plural(min)),
    };
    Err(format!("must have {wanted}, not {found}"))
}

/// The rule of `pattern = "…"`; called by the derive.
#[doc(hidden)]
#[cfg(feature = "pattern")]
#[macro_export]
macro_rules! pattern_rule {
    ($text:literal) => {{
        static PATTERN: $crate::rules::Pattern = $crate::rules::Pattern::new($text);
        $crate::rules::FieldRule::Pattern(&PATTERN)
    }};
}

/// The rule of `pattern = "…"`; called by the derive.
#[doc(hidden)]
#[cfg(not(feature = "pattern"))]
#[macro_export]
macro_rules! pattern_rule {
    ($text:literal) => {
        compile_error!(
            "`pattern` needs the feature `pattern` of the crate `bobak`: add it in Cargo.toml"
        )
    };
}

/// The fields of `encrypted`; called by the derive.
#[doc(hidden)]
#[cfg(feature = "field-encryption")]
#[macro_export]
macro_rules! encrypted_fields {
    ($($field:expr),*) => { &[$($field),*] };
}

/// The fields of `encrypted`; called by the derive.
#[doc(hidden)]
#[cfg(not(feature = "field-encryption"))]
#[macro_export]
macro_rules! encrypted_fields {
    ($($field:expr),*) => {
        compile_error!(
            "`encrypted` needs the feature `field-encryption` of the crate `bobak`: add it in Cargo.toml"
        )
    };
}

impl Error {
    /// The error of a row that rules reject, with what is wrong with it. `violations` are not empty.
    #[cold]
    #[must_use]
    pub fn invalid(table: &str, violations: Vec<Violation>) -> Self {
        let sentences: Vec<_> = violations.iter().map(ToString::to_string).collect();
        let mut columns: Vec<&str> = violations.iter().filter_map(Violation::column).collect();
        columns.dedup();
        let columns = columns.join(", ");
        let error = Self::new(crate::ErrorKind::Invalid, sentences.join("; ")).in_table(table);
        let error = if columns.is_empty() { error } else { error.in_column(columns) };
        error.with_violations(violations)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    fn message(rule: FieldRule, text: &str) -> Option<String> {
        rule.validate(ValueRef::Text(text)).unwrap().err()
    }

    #[test]
    fn lengths_count_characters() {
        let rule = |min, max| FieldRule::Length { min, max };
        assert_eq!(message(rule(1, Some(3)), "äöü"), None);
        let too_long = "must have 1 to 3 characters, not 4";
        assert_eq!(message(rule(1, Some(3)), "äöüß").as_deref(), Some(too_long));
        assert_eq!(
            message(rule(0, Some(1)), "ab").unwrap(),
            "must have at most 1 character, not 2"
        );
        assert_eq!(message(rule(2, None), "a").unwrap(), "must have at least 2 characters, not 1");
        assert_eq!(message(rule(2, Some(2)), "").unwrap(), "must have 2 characters, not 0");
        let bytes = rule(1, Some(2)).validate(ValueRef::Bytes(&[0; 3])).unwrap();
        assert_eq!(bytes, Err("must have 1 to 2 bytes, not 3".to_owned()));
    }

    #[test]
    fn normalizers_change_texts_and_leave_null() {
        let normalized = |rule: FieldRule, text| rule.normalize(ValueRef::Text(text)).unwrap();
        assert_eq!(normalized(FieldRule::Trim, " a\t").unwrap(), Value::from("a"));
        assert_eq!(normalized(FieldRule::Trim, "a"), None);
        assert_eq!(normalized(FieldRule::Lowercase, "ÄB").unwrap(), Value::from("äb"));
        assert_eq!(normalized(FieldRule::Uppercase, "äb").unwrap(), Value::from("ÄB"));
        assert_eq!(FieldRule::Trim.normalize(ValueRef::Null).unwrap(), None);
        assert_eq!(FieldRule::Trim.normalize(ValueRef::Int(3)).unwrap(), None);
    }

    #[test]
    fn functions_that_panic_are_errors() {
        let rule = FieldRule::Validate(|_| panic!("seven"));
        let error = rule.validate(ValueRef::Int(7)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Engine);
        assert_eq!(error.message(), "a validator panicked: seven");
        let rule = FieldRule::Normalize(|_| panic!("{}", 8));
        let error = rule.normalize(ValueRef::Int(7)).unwrap_err();
        assert_eq!(error.message(), "a normalizer panicked: 8");
    }

    #[test]
    fn an_invalid_row_names_its_columns_and_messages() {
        let violations = vec![
            Violation::new(Some("name"), "must not be blank"),
            Violation::new(Some("email"), "must be an e-mail address"),
            Violation::new(None, "has no owner"),
        ];
        let error = Error::invalid("person", violations.clone()).at_row(3);
        assert_eq!(
            error.to_string(),
            "name must not be blank; email must be an e-mail address; the row has no owner \
             (table person, column name, email, row 3)"
        );
        assert_eq!((error.kind(), error.violations()), (ErrorKind::Invalid, &violations[..]));
    }
}
