//! One column: its type, and the rules that its values keep.

use crate::{Error, ErrorKind, Field, Result, Storage, Type, Uuid, Value, ValueRef, types};
use std::borrow::Cow;

/// A column of a table.
///
/// ```
/// use bobak_core::{Collation, ColumnSchema};
/// let email = ColumnSchema::of::<Option<String>>("email").max_chars(80).unique()
///     .collation(Collation::NoCase);
/// assert!(email.nullable && email.unique);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnSchema {
    /// The column's name in the database.
    pub name: Cow<'static, str>,
    /// What it holds.
    pub ty: Type,
    /// How it is stored: the type's own storage class, or text by [`ColumnSchema::as_text`].
    pub storage: Storage,
    /// Whether it may be NULL.
    pub nullable: bool,
    /// The most characters (Unicode scalar values, not bytes) that a text may have.
    pub max_chars: Option<u32>,
    /// Whether no two rows may have the same value. NULLs are never the same.
    pub unique: bool,
    /// How texts compare and sort.
    pub collation: Collation,
    /// What rows get that do not name the column, old rows of an added column included.
    pub default: Option<Value<'static>>,
    /// What makes the default where it is no constant, such as `CURRENT_TIMESTAMP`: an expression of
    /// the engine's, found in a table that others made. A new row with NULL there gets what it gives
    /// where the column may not be NULL; where it may, NULL is a value, and rows that lack the column
    /// are written by [`PartialInsert`](crate::PartialInsert). Bobak makes no such columns: tables that
    /// are made from this schema are without it.
    pub default_sql: Option<Cow<'static, str>>,
    /// A rule in SQL that each row keeps, such as `amount >= 0`.
    pub check: Option<Cow<'static, str>>,
    /// The row of another table that the value must name.
    pub reference: Option<Reference>,
    /// Whether Bobak fills it.
    pub role: Role,
}

/// How texts of a column compare and sort.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Collation {
    /// By their UTF-8 bytes, which is by Unicode scalar value.
    #[default]
    Binary,
    /// As `Binary`, with A–Z taken as a–z.
    NoCase,
    /// As `Binary`, with each character taken as its Unicode lower case (not full folding: `ß` is
    /// not `ss`).
    UnicodeNoCase,
}

impl Collation {
    /// Compares two texts.
    #[must_use]
    pub fn compare(self, a: &str, b: &str) -> std::cmp::Ordering {
        match self {
            Self::Binary => a.cmp(b),
            Self::NoCase => a
                .bytes()
                .map(|byte| byte.to_ascii_lowercase())
                .cmp(b.bytes().map(|byte| byte.to_ascii_lowercase())),
            Self::UnicodeNoCase => {
                a.chars().flat_map(char::to_lowercase).cmp(b.chars().flat_map(char::to_lowercase))
            }
        }
    }

    /// The text that all equal texts share: two texts are equal under the collation exactly where
    /// their folded forms are the same.
    #[must_use]
    pub fn fold(self, text: &str) -> Cow<'_, str> {
        match self {
            Self::Binary => Cow::Borrowed(text),
            Self::NoCase => Cow::Owned(text.to_ascii_lowercase()),
            Self::UnicodeNoCase => Cow::Owned(text.chars().flat_map(char::to_lowercase).collect()),
        }
    }
}

/// A foreign key of one column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The table referred to.
    pub table: Cow<'static, str>,
    /// Its key column, or a unique one.
    pub column: Cow<'static, str>,
    /// What happens to this row when that one is deleted.
    pub on_delete: OnDelete,
}

/// What happens to a row when the row that it refers to is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum OnDelete {
    /// The delete is refused with `Constraint`.
    #[default]
    Restrict,
    /// This row is deleted too.
    Cascade,
    /// The column becomes NULL.
    SetNull,
}

/// Whether, and how, Bobak fills a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Role {
    /// The user fills it.
    #[default]
    Plain,
    /// The time of the insert; later writes leave it.
    CreatedAt,
    /// The time of the last insert or update.
    ModifiedAt,
    /// A counter that each update raises by one, and checks first: see `ErrorKind::Conflict`.
    Version,
}

impl ColumnSchema {
    /// A column for fields of type `V`, with no rule but the type's.
    #[must_use]
    pub fn of<V: Field>(name: impl Into<Cow<'static, str>>) -> Self {
        Self::new(name, V::TYPE).nullable(V::NULLABLE)
    }

    /// A NOT NULL column of `ty`.
    #[must_use]
    pub fn new(name: impl Into<Cow<'static, str>>, ty: Type) -> Self {
        Self {
            name: name.into(),
            ty,
            storage: ty.storage(),
            nullable: false,
            max_chars: None,
            unique: false,
            collation: Collation::Binary,
            default: None,
            default_sql: None,
            check: None,
            reference: None,
            role: Role::Plain,
        }
    }

    /// Says whether it may be NULL.
    #[must_use]
    pub fn nullable(mut self, nullable: bool) -> Self {
        self.nullable = nullable;
        self
    }

    /// Limits a text's length, in characters.
    #[must_use]
    pub fn max_chars(mut self, characters: u32) -> Self {
        self.max_chars = Some(characters);
        self
    }

    /// Forbids the same value in two rows.
    #[must_use]
    pub fn unique(mut self) -> Self {
        self.unique = true;
        self
    }

    /// Sets how texts compare and sort.
    #[must_use]
    pub fn collation(mut self, collation: Collation) -> Self {
        self.collation = collation;
        self
    }

    /// Sets the default.
    #[must_use]
    pub fn default(mut self, value: impl Into<Value<'static>>) -> Self {
        self.default = Some(value.into());
        self
    }

    /// Sets the rule that each row keeps, in SQL.
    #[must_use]
    pub fn check(mut self, expression: impl Into<Cow<'static, str>>) -> Self {
        self.check = Some(expression.into());
        self
    }

    /// Makes it a foreign key.
    #[must_use]
    pub fn references(
        mut self,
        table: impl Into<Cow<'static, str>>,
        column: impl Into<Cow<'static, str>>,
        on_delete: OnDelete,
    ) -> Self {
        self.reference = Some(Reference { table: table.into(), column: column.into(), on_delete });
        self
    }

    /// Has Bobak fill it.
    #[must_use]
    pub fn role(mut self, role: Role) -> Self {
        self.role = role;
        self
    }

    /// Keeps dates, times and UUIDs as text, sorted as the values are; no effect on other types.
    #[must_use]
    pub fn as_text(mut self) -> Self {
        if self.ty.has_text_form() {
            self.storage = Storage::Text;
        }
        self
    }

    /// Whether values in the type's own form must be turned into text before they are stored.
    #[must_use]
    pub fn is_kept_as_text(&self) -> bool {
        self.storage == Storage::Text && self.ty.has_text_form()
    }

    /// What rows that are there get when the column is added to their table: its default; where it
    /// has none NULL or, where it may not be NULL, the type's nothing: 0, the empty text, no
    /// bytes, the nil UUID, 1970-01-01, midnight, or JSON's `null`.
    #[must_use]
    pub fn added_value(&self) -> Value<'static> {
        if let Some(value) = &self.default {
            // One that the column does not take is given as it is: the engine refuses it.
            return self.accept(value.clone()).unwrap_or_else(|_| value.clone());
        }
        if self.nullable {
            return Value::Null;
        }
        let nothing = match (self.ty, self.ty.storage()) {
            (Type::Uuid, _) => Value::from(Uuid::nil().into_bytes().to_vec()),
            (Type::Json, _) => Value::from("null"),
            (_, Storage::Int | Storage::Any) => Value::Int(0),
            (_, Storage::Float) => Value::Float(0.0),
            (_, Storage::Text) => Value::from(""),
            (_, Storage::Bytes) => Value::from(Vec::new()),
        };
        self.accept(nothing.clone()).unwrap_or(nothing)
    }

    /// The value in the column's stored form, where it is one of the column's type: what dynamic
    /// rows, and the values of conditions, go through.
    ///
    /// Integers pass into float columns where they are exact; dates, times and UUIDs pass in
    /// either form.
    ///
    /// # Errors
    /// `Mismatch`, `OutOfRange`, `TooLong`, or `Constraint` for NULL where none may be; each names
    /// the column.
    pub fn accept(&self, value: Value<'_>) -> Result<Value<'static>> {
        self.accept_inner(value).map_err(|error| error.in_column(self.name.clone()))
    }

    fn accept_inner(&self, value: Value<'_>) -> Result<Value<'static>> {
        if value.is_null() && !self.nullable {
            return Err(Error::new(ErrorKind::Constraint, "NULL where none may be"));
        }
        let value = if self.ty.has_text_form() {
            match self.storage {
                Storage::Text => types::to_text(self.ty, value.as_ref())?,
                _ => types::to_storage(self.ty, value.as_ref())?,
            }
        } else {
            value.into_owned()
        };
        match (self.storage, value.as_ref()) {
            (_, ValueRef::Null) => {}
            (_, ValueRef::Float(f)) if f.is_nan() => {
                return Err(Error::new(ErrorKind::OutOfRange, "NaN can't be stored"));
            }
            (Storage::Int, ValueRef::Int(i)) => {
                if let Some((low, high)) = self.ty.integer_range()
                    && !(low..=high).contains(&i)
                {
                    let message = format!("{i} does not fit {}", self.ty.name());
                    return Err(Error::new(ErrorKind::OutOfRange, message));
                }
            }
            (Storage::Float, ValueRef::Int(_)) => {
                return f64::from_value(value.as_ref()).map(Value::Float);
            }
            (Storage::Text, ValueRef::Text(text)) => self.check_length(text)?,
            (Storage::Float, ValueRef::Float(_))
            | (Storage::Bytes, ValueRef::Bytes(_))
            | (Storage::Any, _) => {}
            (_, other) => {
                let expected = format!("{} ({})", self.ty.name(), self.storage.name());
                return Err(crate::Error::mismatch(&expected, other));
            }
        }
        Ok(value)
    }

    /// Refuses a value that is not in the column's stored form: what engines trust, of values that
    /// come from outside. NULL passes: the engine has a word about it.
    ///
    /// # Errors
    /// `Mismatch` for another storage class, `OutOfRange` for a number that does not fit,
    /// `TooLong`; each names the column.
    pub fn check_stored(&self, value: ValueRef<'_>) -> Result<()> {
        let fits = match (self.storage, value) {
            (_, ValueRef::Null) => return Ok(()),
            (_, ValueRef::Float(f)) if f.is_nan() => Err(self.refuse_stored(value)),
            (Storage::Int, ValueRef::Int(i)) if self.is_in_range(i) => Ok(()),
            (Storage::Text, ValueRef::Text(text)) => self.check_length(text),
            (Storage::Float, ValueRef::Float(_))
            | (Storage::Bytes, ValueRef::Bytes(_))
            | (Storage::Any, _) => Ok(()),
            _ => Err(self.refuse_stored(value)),
        };
        fits.map_err(|error| error.in_column(self.name.clone()))
    }

    /// Whether the column's type holds the integer.
    #[inline]
    pub(crate) fn is_in_range(&self, integer: i64) -> bool {
        self.ty.integer_range().is_none_or(|(low, high)| (low..=high).contains(&integer))
    }

    #[cold]
    fn refuse_stored(&self, value: ValueRef<'_>) -> Error {
        match (self.storage, value) {
            (Storage::Int, ValueRef::Int(i)) => {
                Error::new(ErrorKind::OutOfRange, format!("{i} does not fit {}", self.ty.name()))
            }
            (_, ValueRef::Float(f)) if f.is_nan() => {
                Error::new(ErrorKind::OutOfRange, "NaN can't be stored")
            }
            _ => {
                let expected = format!("{} ({})", self.ty.name(), self.storage.name());
                crate::Error::mismatch(&expected, value)
            }
        }
    }

    /// Refuses a text with too many characters.
    ///
    /// # Errors
    /// `TooLong`.
    #[inline]
    pub(crate) fn check_length(&self, text: &str) -> Result<()> {
        match self.max_chars {
            // A text has no more characters than bytes: most are not counted.
            Some(max) if text.len() > max as usize => {
                let count = text.chars().count();
                if count <= max as usize {
                    return Ok(());
                }
                let message = format!("{count} characters where {max} are allowed");
                Err(Error::new(ErrorKind::TooLong, message).in_column(self.name.clone()))
            }
            _ => Ok(()),
        }
    }
}

impl Storage {
    /// The storage class in words: `integer`, `float`, `text`, `bytes`, `any`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Int => "integer",
            Self::Float => "float",
            Self::Text => "text",
            Self::Bytes => "bytes",
            Self::Any => "any",
        }
    }
}
