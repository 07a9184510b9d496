//! One column: its type and its rules.

use super::collation::{Collation, TextOrder};
use super::reference::{OnDelete, OnUpdate, Reference};
use crate::mark::{StoredForm, slot_for};
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
    /// The type of its values.
    pub ty: Type,
    /// The declared type of an [`Any`](Type::Any) column in an SQLite file of another program, such as
    /// `DECIMAL(10,2)`. Of a text column, `DECIMAL_TEXT`: a server's table has numbers there that no other type
    /// holds, and the texts are their digits. Otherwise engines ignore it.
    pub declared: Option<Cow<'static, str>>,
    /// How values are stored: in the type's own storage class, or as text ([`ColumnSchema::as_text`]).
    pub storage: Storage,
    /// Whether values may be NULL.
    pub nullable: bool,
    /// The maximum length of a text in characters (Unicode scalar values, not bytes).
    pub max_chars: Option<u32>,
    /// Whether values must be unique. NULLs are never equal.
    pub unique: bool,
    /// How texts compare and sort.
    pub collation: Collation,
    /// Whether the engine has rules of its own for the texts, in a table that another program made.
    pub text_order: TextOrder,
    /// The value for rows that do not set the column, including existing rows when the column is added.
    pub default: Option<Value<'static>>,
    /// The expression of a default that is not constant, such as `CURRENT_TIMESTAMP`, found in a table that
    /// another program created. A new row with NULL in this column gets its value if the column may not be
    /// NULL. If it may, NULL is an ordinary value, and rows that do not set the column are written with
    /// [`PartialInsert`](crate::PartialInsert). Tables created from this schema do not have the expression.
    pub default_sql: Option<Cow<'static, str>>,
    /// A CHECK rule in SQL, such as `amount >= 0`.
    pub check: Option<Cow<'static, str>>,
    /// The expression by which the engine computes the column from others of its row, such as `price * quantity`,
    /// in the [grammar](crate::check) of CHECK rules. The column is then only read: what a row has in it is
    /// ignored. See [`generated`](Self::generated).
    pub generated: Option<Cow<'static, str>>,
    /// The row of another table that the value must reference.
    pub reference: Option<Reference>,
    /// Whether Bobak fills the column.
    pub role: ColumnRole,
}

/// Whether, and with what, Bobak fills a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum ColumnRole {
    /// The user fills it.
    #[default]
    Plain,
    /// The time of the insert; later writes keep it.
    CreatedAt,
    /// The time of the last insert or update.
    ModifiedAt,
    /// A counter that each update checks and increments: see `ErrorKind::Conflict`.
    Version,
}

impl ColumnSchema {
    /// A column for fields of type `V`, without further rules.
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
            declared: None,
            storage: ty.storage(),
            nullable: false,
            max_chars: None,
            unique: false,
            collation: Collation::Binary,
            text_order: TextOrder::Collation,
            default: None,
            default_sql: None,
            check: None,
            generated: None,
            reference: None,
            role: ColumnRole::Plain,
        }
    }

    /// Sets whether values may be NULL.
    #[must_use]
    pub fn nullable(mut self, nullable: bool) -> Self {
        self.nullable = nullable;
        self
    }

    /// Sets the maximum length of texts in characters.
    #[must_use]
    pub fn max_chars(mut self, characters: u32) -> Self {
        self.max_chars = Some(characters);
        self
    }

    /// Requires unique values.
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

    /// Sets the CHECK rule, in SQL.
    #[must_use]
    pub fn check(mut self, expression: impl Into<Cow<'static, str>>) -> Self {
        self.check = Some(expression.into());
        self
    }

    /// Makes it a generated column, which the engine computes by this expression and stores.
    ///
    /// ```
    /// use bobak_core::{ColumnSchema, Currency, TableSchema};
    /// let line = TableSchema::builder("line")
    ///     .column(ColumnSchema::of::<i64>("id"))
    ///     .column(ColumnSchema::of::<Currency>("price"))
    ///     .column(ColumnSchema::of::<i64>("quantity"))
    ///     .column(ColumnSchema::of::<Currency>("total").generated("price * quantity"))
    ///     .key(["id"])
    ///     .build()?;
    /// assert_eq!(line.written_columns().collect::<Vec<_>>(), [0, 1, 2]);
    /// # Ok::<(), bobak_core::Error>(())
    /// ```
    #[must_use]
    pub fn generated(mut self, expression: impl Into<Cow<'static, str>>) -> Self {
        self.generated = Some(expression.into());
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
        self.reference = Some(Reference::new(table, column, on_delete));
        self
    }

    /// Sets what happens when the value that the column references changes. No effect without
    /// [`references`](Self::references).
    #[must_use]
    pub fn on_update(mut self, action: OnUpdate) -> Self {
        if let Some(reference) = &mut self.reference {
            reference.on_update = action;
        }
        self
    }

    /// Has the foreign key checked when a transaction commits. No effect without
    /// [`references`](Self::references).
    #[must_use]
    pub fn deferred(mut self) -> Self {
        if let Some(reference) = &mut self.reference {
            reference.deferred = true;
        }
        self
    }

    /// Sets what Bobak fills the column with.
    #[must_use]
    pub fn role(mut self, role: ColumnRole) -> Self {
        self.role = role;
        self
    }

    /// Stores dates, times and UUIDs as text that sorts like the values; no effect on other types.
    #[must_use]
    pub fn as_text(mut self) -> Self {
        if self.ty.has_text_form() {
            self.storage = Storage::Text;
        }
        self
    }

    /// Whether values have to be converted to text before they are stored.
    #[must_use]
    pub fn is_kept_as_text(&self) -> bool {
        self.storage == Storage::Text && self.ty.has_text_form()
    }

    /// The value of existing rows when the column is added to their table: its default; else NULL; or, if
    /// the column may not be NULL, the type's zero: 0, the empty text, no bytes, the nil UUID, 1970-01-01,
    /// midnight, JSON's `null`, or a vector of zeros.
    #[must_use]
    pub fn added_value(&self) -> Value<'static> {
        if let Some(value) = &self.default {
            // The engine rejects a default that does not fit the column.
            return self.accept(value.clone()).unwrap_or_else(|_| value.clone());
        }
        if self.nullable {
            return Value::Null;
        }
        let nothing = match (self.ty, self.ty.storage()) {
            (Type::Uuid, _) => Value::from(Uuid::nil().into_bytes().to_vec()),
            (Type::Vector(numbers), _) => Value::from(vec![0; usize::from(numbers) * 4]),
            (Type::Json, _) => Value::from("null"),
            (_, Storage::Int | Storage::Any) => Value::Int(0),
            (_, Storage::Float) => Value::Float(0.0),
            (_, Storage::Text) => Value::from(""),
            (_, Storage::Bytes) => Value::from(Vec::new()),
        };
        self.accept(nothing.clone()).unwrap_or(nothing)
    }

    /// Converts a value of the column's type to its stored form. Values of dynamic rows and conditions go
    /// through this.
    ///
    /// Accepts integers for float columns if they are exact, and dates, times and UUIDs in either form.
    ///
    /// # Errors
    /// `Mismatch`, `OutOfRange`, `TooLong`, or `Constraint` for NULL in a column that may not be NULL; with
    /// the column.
    pub fn accept(&self, value: Value<'_>) -> Result<Value<'static>> {
        self.accept_inner(value).map_err(|error| error.in_column(self.name.clone()))
    }

    fn accept_inner(&self, value: Value<'_>) -> Result<Value<'static>> {
        if value.is_null() && !self.nullable {
            return Err(Error::new(ErrorKind::Constraint, "a required value is NULL"));
        }
        if let Err(error) = Error::check_storable(value.as_ref()) {
            return slot_for(&value, self).ok_or(error);
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
            (Storage::Int, ValueRef::Int(i)) => {
                if let Some((low, high)) = self.ty.integer_range()
                    && !(low..=high).contains(&i)
                {
                    let message = format!("{i} does not fit {}", self.ty.name());
                    return Err(Error::new(ErrorKind::OutOfRange, message));
                }
            }
            (Storage::Float, ValueRef::Int(_)) => {
                return self.accept_float(f64::from_value(value.as_ref())?);
            }
            (Storage::Float, ValueRef::Float(float)) => return self.accept_float(float),
            (Storage::Text, ValueRef::Text(text)) => self.check_text(text)?,
            (Storage::Bytes, ValueRef::Bytes(bytes)) => self.check_bytes(bytes)?,
            (Storage::Any, _) => {}
            (_, other) => {
                let expected = format!("{} ({})", self.ty.name(), self.storage.name());
                return Err(crate::Error::mismatch(&expected, other));
            }
        }
        Ok(value)
    }

    /// The value of a float column. An `f32` column takes the nearest `f32`, so every engine stores the same value
    /// and finds it again.
    ///
    /// # Errors
    /// `OutOfRange` if the nearest `f32` is infinite or zero, and the value is not.
    fn accept_float(&self, float: f64) -> Result<Value<'static>> {
        if self.ty != Type::F32 {
            return Ok(Value::Float(float));
        }
        let stored = f64::from(float as f32);
        if stored.is_finite() == float.is_finite() && (stored == 0.0) == (float == 0.0) {
            return Ok(Value::Float(stored));
        }
        Err(self.reject_stored(ValueRef::Float(float)))
    }

    /// Whether the column can store the float as it is.
    #[inline]
    pub(crate) fn is_exact_float(&self, float: f64) -> bool {
        self.ty != Type::F32 || f64::from(float as f32) == float
    }

    /// Checks that a value is in the column's stored form: for values from outside, since engines trust
    /// what they get. Accepts NULL, which the engine checks.
    ///
    /// # Errors
    /// `Mismatch` for another storage class, `OutOfRange` for a number that does not fit, `TooLong`; with
    /// the column.
    pub fn check_stored(&self, value: ValueRef<'_>) -> Result<()> {
        let fits = match (self.storage, value) {
            (_, ValueRef::Null) => return Ok(()),
            (_, ValueRef::Float(f)) if f.is_nan() => Err(self.reject_stored(value)),
            (Storage::Int, ValueRef::Int(i)) if self.is_in_range(i) => Ok(()),
            (Storage::Text, ValueRef::Text(_)) if self.ty.has_text_form() => {
                types::to_text(self.ty, value).map(drop)
            }
            (Storage::Text, ValueRef::Text(text)) => self.check_text(text),
            (Storage::Float, ValueRef::Float(float)) if self.is_exact_float(float) => Ok(()),
            (Storage::Bytes, ValueRef::Bytes(bytes)) => self.check_bytes(bytes),
            (Storage::Any, _) => Ok(()),
            _ => Err(self.reject_stored(value)),
        };
        fits.map_err(|error| error.in_column(self.name.clone()))
    }

    /// Whether the integer is in the range of the column's type.
    #[inline]
    pub(crate) fn is_in_range(&self, integer: i64) -> bool {
        self.ty.integer_range().is_none_or(|(low, high)| (low..=high).contains(&integer))
    }

    #[cold]
    fn reject_stored(&self, value: ValueRef<'_>) -> Error {
        match (self.storage, value) {
            (Storage::Int, ValueRef::Int(i)) => {
                Error::new(ErrorKind::OutOfRange, format!("{i} does not fit {}", self.ty.name()))
            }
            (_, ValueRef::Float(f)) if f.is_nan() => Error::unstorable(),
            (Storage::Float, ValueRef::Float(f)) => {
                Error::new(ErrorKind::OutOfRange, format!("{f} does not fit {}", self.ty.name()))
            }
            _ => {
                let expected = format!("{} ({})", self.ty.name(), self.storage.name());
                crate::Error::mismatch(&expected, value)
            }
        }
    }

    /// Checks that a column of vectors gets one of its length.
    ///
    /// # Errors
    /// `Mismatch`; `OutOfRange` for NaN and infinities.
    fn check_bytes(&self, bytes: &[u8]) -> Result<()> {
        match self.ty {
            Type::Vector(numbers) => types::check_vector(bytes, numbers),
            _ => Ok(()),
        }
    }

    /// Checks a text: its length, and that a JSON column gets JSON, on every engine.
    ///
    /// # Errors
    /// `TooLong`, `Mismatch`.
    fn check_text(&self, text: &str) -> Result<()> {
        if self.ty == Type::Json && !types::is_json(text) {
            return Err(Error::new(ErrorKind::Mismatch, "the text is not a JSON document"));
        }
        self.check_length(text)
    }

    /// Checks the length of a text.
    ///
    /// # Errors
    /// `TooLong`.
    #[inline]
    pub(crate) fn check_length(&self, text: &str) -> Result<()> {
        match self.max_chars {
            // A text has at most as many characters as bytes, so most texts need not be counted.
            Some(max) if text.len() > max as usize => {
                let count = text.chars().count();
                if count <= max as usize {
                    return Ok(());
                }
                let message = format!("{count} characters, but at most {max} are allowed");
                Err(Error::new(ErrorKind::TooLong, message).in_column(self.name.clone()))
            }
            _ => Ok(()),
        }
    }
}

impl Storage {
    /// The storage class in messages: `integer`, `float`, `text`, `bytes`, `any`.
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

impl StoredForm for ColumnSchema {
    fn is_stored(&self, value: ValueRef<'_>) -> bool {
        !self.ty.has_text_form() && self.check_stored(value).is_ok()
    }

    fn stored<'v>(&self, value: ValueRef<'v>) -> Option<Value<'v>> {
        self.accept(value.into()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f32_columns_take_the_nearest_f32() {
        let column = ColumnSchema::of::<f32>("ratio");
        let nearest = Value::Float(f64::from(0.1_f32));
        assert_eq!(column.accept(Value::Float(0.1)).unwrap(), nearest);
        assert_eq!(column.accept(Value::Int(16_777_217)).unwrap(), Value::Float(16_777_216.0));
        let infinite = Value::Float(f64::INFINITY);
        assert_eq!(column.accept(infinite.clone()).unwrap(), infinite);
        for outside in [1e300, -1e39, 1e-60] {
            let error = column.accept(Value::Float(outside)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::OutOfRange, "{error}");
        }
        column.check_stored(nearest.as_ref()).unwrap();
        let error = column.check_stored(ValueRef::Float(0.1)).unwrap_err();
        assert_eq!(error.to_string(), "0.1 does not fit f32 (column ratio)");
    }

    #[test]
    fn json_columns_take_json_only() {
        let column = ColumnSchema::of::<crate::Json<Vec<i64>>>("list");
        for text in ["null", "[1, 2.50]", r#"{"a":"\u00e9"}"#] {
            column.accept(text.into()).unwrap();
            column.check_stored(ValueRef::Text(text)).unwrap();
        }
        for text in ["", "{", "[1] 2", "{a: 1}"] {
            assert_eq!(column.accept(text.into()).unwrap_err().kind(), ErrorKind::Mismatch);
            let error = column.check_stored(ValueRef::Text(text)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Mismatch);
        }
    }
}
