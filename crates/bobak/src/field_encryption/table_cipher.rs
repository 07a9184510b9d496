//! The encrypted columns of one table, as a caller describes it.

use super::keys::FieldKeys;
use super::sealed_value::{bind, open, seal};
use bobak_core::rules::EncryptedField;
use bobak_core::{
    Collation, ColumnSchema, Error, ErrorKind, FieldSet, KeyGeneration, Result, Row, Storage,
    TableSchema, Type, Value, ValueRef, Verb, Write,
};
use std::sync::Arc;

/// Encrypts and decrypts the values of one table.
pub(crate) struct TableCipher {
    keys: Arc<FieldKeys>,
    /// The table as the engine stores it: with the same columns, of which the encrypted ones are bytes.
    pub stored: Arc<TableSchema>,
    /// For each column, how it is encrypted.
    columns: Vec<Option<ColumnCipher>>,
    /// The columns whose values bind a value to its row; none if the engine makes the keys.
    bound_by: Vec<(usize, Collation)>,
}

/// How a column is encrypted.
pub(crate) struct ColumnCipher {
    pub searchable: bool,
    /// What binds a value to its column.
    context: Vec<u8>,
}

/// A column as the engine stores it: bytes, about which only the engine's own rules remain.
fn stored_column(column: ColumnSchema) -> ColumnSchema {
    let stored = ColumnSchema::new(column.name, Type::Bytes).nullable(column.nullable);
    if column.unique { stored.unique() } else { stored }
}

impl TableCipher {
    /// Matches the columns of the record and of the described table by name.
    ///
    /// # Errors
    /// `Schema` if the described table has other types than the record, or lacks its key.
    pub fn new(
        keys: &Arc<FieldKeys>,
        record: &TableSchema,
        fields: &[EncryptedField],
        table: &TableSchema,
    ) -> Result<Self> {
        let columns = column_ciphers(record, fields, table)?;
        let bound_by = binding_columns(record, fields, table)?;
        let is_encrypted: Vec<_> = columns.iter().map(Option::is_some).collect();
        let mut is_encrypted = is_encrypted.into_iter();
        let stored = table.clone().map_columns(|column| match is_encrypted.next() {
            Some(true) => stored_column(column),
            _ => column,
        })?;
        Ok(Self { keys: Arc::clone(keys), stored: Arc::new(stored), columns, bound_by })
    }

    /// How a column is encrypted, if it is.
    pub fn column(&self, column: usize) -> Option<&ColumnCipher> {
        self.columns.get(column).and_then(Option::as_ref)
    }

    /// The encrypted columns.
    pub fn encrypted(&self) -> impl Iterator<Item = (usize, &ColumnCipher)> {
        let columns = self.columns.iter().enumerate();
        columns.filter_map(|(place, column)| Some((place, column.as_ref()?)))
    }

    /// The columns that a row needs besides those to be decrypted.
    pub fn bound_by(&self) -> impl Iterator<Item = usize> {
        self.bound_by.iter().map(|(column, _)| *column)
    }

    /// The bytes of a value in a row whose key `of_row` returns.
    ///
    /// # Errors
    /// `Engine` if the system provides no random bytes.
    pub fn seal<'v>(
        &self,
        place: usize,
        cipher: &ColumnCipher,
        value: ValueRef<'_>,
        of_row: impl Fn(usize) -> ValueRef<'v>,
    ) -> Result<Value<'static>> {
        if value.is_null() {
            return Ok(Value::Null);
        }
        let key = self.keys.all().first().ok_or_else(no_key)?;
        let sealed = seal(key, cipher.searchable, &self.context(cipher, of_row), value);
        sealed.map(Value::from).map_err(|error| self.name(error, place))
    }

    /// All bytes that a searchable value may have: one for each key.
    pub fn search(
        &self,
        cipher: &ColumnCipher,
        value: ValueRef<'_>,
    ) -> Result<Vec<Value<'static>>> {
        let keys = self.keys.all().iter();
        keys.map(|key| seal(key, true, &cipher.context, value).map(Value::from)).collect()
    }

    /// The value in a row whose key `of_row` returns.
    ///
    /// # Errors
    /// `Denied` without its key; `Corrupt` if it is damaged; with table and column.
    pub fn open<'v>(
        &self,
        place: usize,
        cipher: &ColumnCipher,
        stored: ValueRef<'_>,
        of_row: impl Fn(usize) -> ValueRef<'v>,
    ) -> Result<Value<'static>> {
        let opened = match stored {
            ValueRef::Null => return Ok(Value::Null),
            ValueRef::Bytes(bytes) => open(&self.keys, &self.context(cipher, of_row), bytes),
            _ => open(&self.keys, &[], &[]),
        };
        opened.map_err(|error| self.name(error, place))
    }

    /// A whole row with its values decrypted.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_row<'r>(&self, row: &'r dyn Row) -> Result<Vec<Value<'r>>> {
        let value = |place: usize| match self.column(place) {
            Some(cipher) => self.open(place, cipher, row.get(place), |column| row.get(column)),
            None => Ok(row.get(place).into()),
        };
        (0..row.len()).map(value).collect()
    }

    /// The values of a write as they are stored. Those that it does not set are NULL.
    ///
    /// # Errors
    /// As [`seal`](Self::seal).
    pub fn seal_values<'v>(&self, write: &'v Write<'_>) -> Result<Vec<Value<'v>>> {
        let values = write.values;
        if write.verb == Verb::Delete {
            return Ok(values.iter().map(|value| value.as_ref().into()).collect());
        }
        let set = match write.verb {
            Verb::Update => write.fields,
            _ => FieldSet::first(values.len()),
        };
        let of_row = |column: usize| values.get(column).map_or(ValueRef::Null, Value::as_ref);
        let value = |(place, value): (usize, &'v Value<'_>)| match self.column(place) {
            None => Ok(value.as_ref().into()),
            Some(cipher) if set.contains(place) => self.seal(place, cipher, value.as_ref(), of_row),
            Some(_) => Ok(Value::Null),
        };
        values.iter().enumerate().map(value).collect()
    }

    /// Whether bytes are encrypted as new values are.
    pub(super) fn is_current(&self, cipher: &ColumnCipher, stored: ValueRef<'_>) -> bool {
        let key = self.keys.all().first();
        match (stored, key) {
            (ValueRef::Bytes(bytes), Some(key)) => {
                super::sealed_value::is_sealed_with(key, cipher.searchable, bytes)
            }
            _ => stored.is_null(),
        }
    }

    /// The error of an operation that needs plain values.
    #[cold]
    pub(super) fn rejected(&self, place: usize, what: &str) -> Error {
        let searchable = self.column(place).is_some_and(|column| column.searchable);
        let rest =
            if searchable { "it is compared only for equality" } else { "it is not compared" };
        let message = format!("the column is encrypted, so the engine cannot {what}: {rest}");
        self.name(Error::new(ErrorKind::Unsupported, message), place)
    }

    fn context<'v>(
        &self,
        cipher: &ColumnCipher,
        of_row: impl Fn(usize) -> ValueRef<'v>,
    ) -> Vec<u8> {
        let mut context = cipher.context.clone();
        if !cipher.searchable {
            for &(column, collation) in &self.bound_by {
                match of_row(column) {
                    ValueRef::Text(text) => {
                        bind(&mut context, ValueRef::Text(&collation.fold(text)))
                    }
                    value => bind(&mut context, value),
                }
            }
        }
        context
    }

    fn name(&self, error: Error, place: usize) -> Error {
        error.in_table(self.stored.name()).in_columns(&self.stored, &[place])
    }
}

/// The column of a described table with this name.
fn place_of(table: &TableSchema, name: &str) -> Option<usize> {
    table.columns().iter().position(|column| column.name.eq_ignore_ascii_case(name))
}

/// How each column of a described table is encrypted.
fn column_ciphers(
    record: &TableSchema,
    fields: &[EncryptedField],
    table: &TableSchema,
) -> Result<Vec<Option<ColumnCipher>>> {
    let mut columns: Vec<Option<ColumnCipher>> = table.columns().iter().map(|_| None).collect();
    for field in fields {
        let own = record.column_at(field.column)?;
        let Some(place) = place_of(table, &own.name) else { continue };
        if table.column_at(place)?.storage != own.storage {
            let message = format!(
                "the column is encrypted: describe it with the type {} of its plain values",
                own.ty.name()
            );
            let error = Error::new(ErrorKind::Schema, message).in_table(table.name());
            return Err(error.in_column(own.name.clone()));
        }
        let names = || format!("{}.{}", record.name(), own.name);
        let context = field.context.map_or_else(names, str::to_owned);
        let mut bound = Vec::new();
        bind(&mut bound, ValueRef::Text(&context));
        let cipher = ColumnCipher { searchable: field.searchable, context: bound };
        columns.get_mut(place).map(|slot| slot.replace(cipher));
    }
    Ok(columns)
}

/// The columns of a described table whose values bind encrypted ones to their row.
fn binding_columns(
    record: &TableSchema,
    fields: &[EncryptedField],
    table: &TableSchema,
) -> Result<Vec<(usize, Collation)>> {
    let mut bound_by = Vec::new();
    let binds = fields.iter().any(|field| !field.searchable);
    if binds && record.key_generation() != KeyGeneration::Engine {
        for &part in record.key() {
            let column = record.column_at(part)?;
            let place = place_of(table, &column.name).ok_or_else(|| {
                let message = "encrypted values are bound to this column: describe it too";
                let error = Error::new(ErrorKind::Schema, message).in_table(table.name());
                error.in_column(column.name.clone())
            })?;
            bound_by.push((place, column.collation));
        }
    }
    Ok(bound_by)
}

fn no_key() -> Error {
    Error::new(ErrorKind::Config, "there is no key of encrypted fields")
}

/// A table of the engine as callers see it: encrypted columns have the types of the record.
///
/// # Errors
/// `Schema` for an encrypted column that does not store bytes.
pub(super) fn described(
    stored: TableSchema,
    record: &TableSchema,
    fields: &[EncryptedField],
) -> Result<TableSchema> {
    let own = |name: &str| {
        let columns = fields.iter().filter_map(|field| record.columns().get(field.column));
        columns.into_iter().find(|column| column.name.eq_ignore_ascii_case(name))
    };
    let is_plain =
        |column: &&ColumnSchema| own(&column.name).is_some() && column.storage != Storage::Bytes;
    if let Some(column) = stored.columns().iter().find(is_plain) {
        let message = format!(
            "the record's field is encrypted, but the column stores plain values of type {}: add another column for \
             the encrypted ones, and copy them",
            column.ty.name()
        );
        let error = Error::new(ErrorKind::Schema, message).in_table(stored.name());
        return Err(error.in_column(column.name.clone()));
    }
    stored.map_columns(|column| match own(&column.name) {
        Some(own) => {
            let (ty, storage, max_chars) = (own.ty, own.storage, own.max_chars);
            ColumnSchema { ty, storage, max_chars, declared: None, ..column }
        }
        None => column,
    })
}
