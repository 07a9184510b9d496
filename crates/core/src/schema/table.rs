//! The schema of a table, checked once and shared.

use super::SearchSchema;
use super::fit::AcceptedValues;
use super::{ColumnRole, ColumnSchema, ForeignKey, TableSchemaBuilder};
use crate::codec::{EncodedRow, RawValue};
use crate::{Error, ErrorKind, FieldSet, Result, Row, Storage, Type};
use std::borrow::Cow;

/// A table: its columns, its key, its indexes. Immutable; shared as `Arc<TableSchema>`.
///
/// Made by the derive, by [`TableSchema::builder`], or by an engine from an existing table.
#[derive(Clone, Debug)]
pub struct TableSchema {
    pub(super) id: u64,
    pub(super) name: Cow<'static, str>,
    pub(super) columns: Vec<ColumnSchema>,
    pub(super) key: Vec<usize>,
    pub(super) generation: KeyGeneration,
    pub(super) indexes: Vec<IndexSchema>,
    pub(super) roles: Roles,
    /// The columns whose values are checked before each write.
    pub(super) checked: Vec<CheckedColumn>,
    /// See [`is_stored_plainly`](TableSchema::is_stored_plainly).
    pub(super) plain: bool,
    /// What each column accepts.
    pub(super) fits: Vec<AcceptedValues>,
    /// See [`has_hidden_key`](TableSchema::has_hidden_key).
    pub(super) hidden_key: bool,
    pub(super) former: FormerNames,
    /// See [`never_reuses_keys`](TableSchema::never_reuses_keys).
    pub(super) never_reuses_keys: bool,
    /// See [`foreign_keys`](TableSchema::foreign_keys).
    pub(super) foreign_keys: Vec<ForeignKey>,
    /// See [`search`](TableSchema::search).
    pub(super) search: Option<SearchSchema>,
    /// See [`is_view`](TableSchema::is_view).
    pub(super) view: bool,
    /// See [`has_generated_columns`](TableSchema::has_generated_columns).
    pub(super) generated: bool,
}

/// A column whose values are checked before each write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CheckedColumn {
    pub place: usize,
    /// Texts with at most this number of bytes are short enough: they have no more characters.
    pub short: Option<u32>,
}

/// The columns that Bobak fills.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Roles {
    pub created: Option<usize>,
    pub modified: Option<usize>,
    pub version: Option<usize>,
    /// Whether a timestamp is stored as text.
    pub text_stamps: bool,
}

/// Who makes the keys of new rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyGeneration {
    /// The engine, for a single `i64` key that is 0 in the record: the largest key of the table plus one.
    Engine,
    /// Bobak, for a single [`Uuid`](crate::Uuid) key that is nil in the record: version 7, which sorts by
    /// time.
    Uuid,
    /// The user.
    Given,
}

/// An index over one or more columns.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IndexSchema {
    /// The index's name in the database.
    pub name: Cow<'static, str>,
    /// The columns' indexes in the schema, in index order.
    pub columns: Vec<usize>,
    /// Whether rows must be unique in these columns. Rows with a NULL in one of them are never equal.
    pub unique: bool,
}

/// Names that a table and its columns had before.
#[derive(Clone, Debug, Default)]
pub(super) struct FormerNames {
    pub table: Option<Cow<'static, str>>,
    /// The name of a column, and the one before it.
    pub columns: Vec<(Cow<'static, str>, Cow<'static, str>)>,
}

impl TableSchema {
    /// Starts building a schema.
    #[must_use]
    pub fn builder(name: impl Into<Cow<'static, str>>) -> TableSchemaBuilder {
        TableSchemaBuilder::new(name.into())
    }

    /// A number that is unique among the schemas of this process: part of the key of statement caches.
    #[inline]
    #[must_use]
    pub const fn id(&self) -> u64 {
        self.id
    }

    /// The table's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The columns, in order.
    #[must_use]
    pub fn columns(&self) -> &[ColumnSchema] {
        &self.columns
    }

    /// The indexes of the key's columns, in key order. Only a [view](Self::is_view) may have none.
    #[must_use]
    pub fn key(&self) -> &[usize] {
        &self.key
    }

    /// Who makes the keys of new rows.
    #[must_use]
    pub const fn key_generation(&self) -> KeyGeneration {
        self.generation
    }

    /// Whether the table declares no primary key, and the key is SQLite's row number, which SQLite may
    /// change.
    #[must_use]
    pub const fn has_hidden_key(&self) -> bool {
        self.hidden_key
    }

    /// The indexes, including those of unique columns, but not the key's own.
    #[must_use]
    pub fn indexes(&self) -> &[IndexSchema] {
        &self.indexes
    }

    /// Whether the key is a single 64-bit integer: SQLite's rowid.
    #[must_use]
    pub fn has_integer_key(&self) -> bool {
        matches!(self.key[..], [column] if self.columns.get(column).is_some_and(|c| c.ty == Type::I64))
    }

    /// Whether all columns are in the key, as in a table of links, and SQLite's rowid is not the key.
    #[must_use]
    pub fn is_key_only(&self) -> bool {
        !self.has_integer_key() && self.key.len() == self.columns.len()
    }

    /// The column with the time of the insert, if any.
    #[must_use]
    pub const fn created_at(&self) -> Option<usize> {
        self.roles.created
    }

    /// The column with the time of the last write, if any.
    #[must_use]
    pub const fn modified_at(&self) -> Option<usize> {
        self.roles.modified
    }

    /// The version column, if any.
    #[must_use]
    pub const fn version(&self) -> Option<usize> {
        self.roles.version
    }

    /// The columns whose values are checked or converted before each write: length limits and text forms.
    #[must_use]
    pub(crate) fn checked(&self) -> &[CheckedColumn] {
        &self.checked
    }

    /// Whether a record's values are stored as they are, except for keys made by the engine and timestamps:
    /// no UUID is made, and nothing is converted to text.
    #[inline]
    pub(crate) const fn is_stored_plainly(&self) -> bool {
        self.plain
    }

    /// Whether its timestamps, if any, are stored as integers.
    #[inline]
    pub(crate) const fn stamps_are_integers(&self) -> bool {
        !self.roles.text_stamps
    }

    /// The schema with each column changed by `change`, and a new [`id`](TableSchema::id).
    ///
    /// # Errors
    /// As [`TableSchemaBuilder::build`].
    pub fn map_columns(self, change: impl FnMut(ColumnSchema) -> ColumnSchema) -> Result<Self> {
        self.into_builder().map_columns(change).build()
    }

    /// A builder with all that the table has, to change it.
    #[must_use]
    pub fn into_builder(self) -> TableSchemaBuilder {
        let name = |place: &usize| self.columns.get(*place).map(|column| column.name.clone());
        let mut builder = Self::builder(self.name.clone()).key(self.key.iter().filter_map(name));
        if self.generation == KeyGeneration::Given {
            builder = builder.given_key();
        }
        if self.hidden_key {
            builder = builder.hidden_key();
        }
        if self.never_reuses_keys {
            builder = builder.never_reuse_keys();
        }
        if self.view {
            builder = builder.view();
        }
        if let Some(search) = &self.search {
            builder = builder.search(search.columns.iter().filter_map(name), search.language);
        }
        builder = builder.former_names(self.former);
        for index in &self.indexes {
            let columns = index.columns.iter().filter_map(name);
            let is_of_column = matches!(index.columns[..], [place] if index.unique
                && self.columns.get(place).is_some_and(|column| column.unique));
            builder = match index.unique {
                _ if is_of_column => builder,
                true => builder.unique_index(index.name.clone(), columns),
                false => builder.index(index.name.clone(), columns),
            };
        }
        for key in &self.foreign_keys {
            builder = builder.foreign_key(key.columns.iter().filter_map(name), key.clone());
        }
        self.columns.into_iter().fold(builder, TableSchemaBuilder::column)
    }

    /// The foreign keys that are no column's own [`reference`](ColumnSchema::reference): those of several columns.
    #[must_use]
    pub fn foreign_keys(&self) -> &[ForeignKey] {
        &self.foreign_keys
    }

    /// All foreign keys: those of single columns, in their order, then the [others](Self::foreign_keys).
    #[must_use]
    pub fn all_foreign_keys(&self) -> Vec<ForeignKey> {
        let columns = self.columns.iter().enumerate();
        let own = columns.filter_map(|(place, column)| {
            column.reference.as_ref().map(|reference| ForeignKey::of_column(place, reference))
        });
        own.chain(self.foreign_keys.iter().cloned()).collect()
    }

    /// The names of the columns at these positions, for a message: `shop, number`.
    #[must_use]
    pub fn column_names(&self, positions: &[usize]) -> String {
        let names = positions.iter().filter_map(|&place| self.columns.get(place));
        names.map(|column| &*column.name).collect::<Vec<_>>().join(", ")
    }

    /// Whether the engine never makes a key again that a deleted row had: see
    /// [`TableSchemaBuilder::never_reuse_keys`].
    #[must_use]
    pub const fn never_reuses_keys(&self) -> bool {
        self.never_reuses_keys
    }

    /// The columns that are searched together, if the table can be [searched](crate::search).
    #[must_use]
    pub const fn search(&self) -> Option<&SearchSchema> {
        self.search.as_ref()
    }

    /// Whether it is a view, whose rows can only be read: see [`TableSchemaBuilder::view`].
    #[must_use]
    pub const fn is_view(&self) -> bool {
        self.view
    }

    /// Checks that rows can be written, which a view's can't.
    ///
    /// # Errors
    /// `Unsupported` for a view.
    #[inline]
    pub fn check_writable(&self) -> Result<()> {
        if self.view { Err(self.reject_view("it can only be read")) } else { Ok(()) }
    }

    /// Checks that rows can be looked up by a key, which a view may lack.
    ///
    /// # Errors
    /// `Unsupported` if there is no key.
    #[inline]
    pub fn check_has_key(&self) -> Result<()> {
        if self.key.is_empty() {
            return Err(self.reject_view("it has no key to find a row by: read it with a query"));
        }
        Ok(())
    }

    #[cold]
    fn reject_view(&self, reason: &str) -> Error {
        let message = format!("'{}' is a view: {reason}", self.name);
        Error::new(ErrorKind::Unsupported, message).in_table(self.name.clone())
    }

    /// The schema with other names of its indexes: for engines that had to choose them.
    #[must_use]
    pub fn rename_indexes(mut self, name: impl Fn(&str) -> Option<String>) -> Self {
        for index in &mut self.indexes {
            if let Some(name) = name(&index.name) {
                index.name = name.into();
            }
        }
        self
    }

    /// The name that the table had before, by which a migration finds it: see
    /// [`TableSchemaBuilder::renamed_from`].
    #[must_use]
    pub fn former_name(&self) -> Option<&str> {
        self.former.table.as_deref()
    }

    /// The name that the column at this index had before.
    #[must_use]
    pub fn former_column_name(&self, column: usize) -> Option<&str> {
        let name = &self.columns.get(column)?.name;
        self.former.columns.iter().find(|(new, _)| new == name).map(|(_, former)| &**former)
    }

    /// The index of the column with this name. Names are compared without ASCII case, as engines do.
    ///
    /// # Errors
    /// `Schema` if there is none.
    pub fn column(&self, name: &str) -> Result<usize> {
        self.columns.iter().position(|c| c.name.eq_ignore_ascii_case(name)).ok_or_else(|| {
            Error::new(ErrorKind::Schema, format!("there is no column '{name}'"))
                .in_table(self.name.clone())
        })
    }

    /// The column at this index.
    ///
    /// # Errors
    /// `Schema` if the table has fewer columns.
    pub fn column_at(&self, index: usize) -> Result<&ColumnSchema> {
        self.columns.get(index).ok_or_else(|| {
            let message = format!("there is no column number {index}");
            Error::new(ErrorKind::Schema, message).in_table(self.name.clone())
        })
    }

    /// Whether the engine computes columns of the table: see [`ColumnSchema::generated`].
    #[inline]
    #[must_use]
    pub const fn has_generated_columns(&self) -> bool {
        self.generated
    }

    /// Whether the engine computes the column at this position.
    #[must_use]
    pub fn is_generated(&self, column: usize) -> bool {
        self.generated && self.columns.get(column).is_some_and(|c| c.generated.is_some())
    }

    /// The positions of the columns that are written: all but the [generated](ColumnSchema::generated) ones.
    pub fn written_columns(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.columns.len()).filter(|column| !self.is_generated(*column))
    }

    /// The positions of the [generated](ColumnSchema::generated) columns.
    pub fn generated_columns(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.columns.len()).filter(|column| self.is_generated(*column))
    }

    /// Whether an index has generated columns, whose values are not known before a row is written.
    #[must_use]
    pub fn is_computed_index(&self, index: &IndexSchema) -> bool {
        self.has_generated_columns()
            && index.columns.iter().any(|column| self.is_generated(*column))
    }

    /// Rejects an assignment to a column that the engine computes.
    ///
    /// # Errors
    /// `Misuse` for a [generated](ColumnSchema::generated) column.
    #[inline]
    pub fn check_assigned(&self, column: usize) -> Result<()> {
        if self.is_generated(column) { Err(self.reject_assigned(column)) } else { Ok(()) }
    }

    #[cold]
    fn reject_assigned(&self, column: usize) -> Error {
        let message =
            "the engine computes this column: assign the columns that it is computed from";
        let error = Error::new(ErrorKind::Misuse, message).in_table(self.name.clone());
        match self.columns.get(column) {
            Some(column) => error.in_column(column.name.clone()),
            None => error,
        }
    }

    /// The columns that an update or upsert of a whole record sets: all except the key, the creation time,
    /// generated columns, and the version, which the engine increments.
    #[must_use]
    pub fn updated_fields(&self) -> FieldSet {
        (0..self.columns.len())
            .filter(|column| {
                !self.key.contains(column)
                    && !self.is_generated(*column)
                    && !matches!(
                        self.columns.get(*column).map(|c| c.role),
                        Some(ColumnRole::CreatedAt | ColumnRole::Version)
                    )
            })
            .collect()
    }

    /// Checks that a row has one value in stored form for each column, or for each key column if `key_only`
    /// is set: for rows from outside whose bytes were [checked](EncodedRow::check).
    ///
    /// # Errors
    /// `Mismatch` for a wrong number of values; as [`ColumnSchema::check_stored`].
    pub fn check_stored(&self, key_only: bool, row: &EncodedRow<'_>) -> Result<()> {
        let wanted = if key_only { self.key.len() } else { self.columns.len() };
        if row.len() != wanted {
            let noun = if key_only { "key column" } else { "column" };
            let error = Error::wrong_number(ErrorKind::Mismatch, row.len(), wanted, noun);
            return Err(error.in_table(self.name.clone()));
        }
        for (place, value) in row.raw_values().enumerate() {
            let column = match self.key.get(place) {
                Some(column) if key_only => *column,
                _ => place,
            };
            let Some(column) = self.columns.get(column) else { continue };
            // The characters of a text are counted only if it may be too long.
            let fits = match (column.storage, value) {
                (_, RawValue::Null) => true,
                (Storage::Bytes, RawValue::Bytes(_)) => !matches!(column.ty, Type::Vector(_)),
                (Storage::Int, RawValue::Int(i)) => column.is_in_range(i),
                (Storage::Text, RawValue::Text(text)) if column.ty == Type::Text => {
                    column.max_chars.is_none_or(|max| text.len() <= max as usize)
                }
                _ => false,
            };
            if !fits {
                let checked = column.check_stored(row.value(place));
                checked.map_err(|error| error.in_table(self.name.clone()))?;
            }
        }
        Ok(())
    }

    /// Whether `other` describes the same table: ignores only the [`id`](TableSchema::id), and what
    /// [`OnDelete::compared`](crate::OnDelete::compared) does.
    #[must_use]
    pub fn same_as(&self, other: &Self) -> bool {
        self.name == other.name
            && self.key == other.key
            && self.generation == other.generation
            && self.indexes == other.indexes
            && self.never_reuses_keys == other.never_reuses_keys
            && (self.columns == other.columns && self.foreign_keys == other.foreign_keys
                || self.with_compared_actions() == other.with_compared_actions())
            && self.search == other.search
            && self.view == other.view
    }

    /// The table or view with this name among the given ones; case of ASCII letters is ignored.
    ///
    /// # Errors
    /// `Schema` if there is none; the message names the existing tables.
    pub fn find_in(tables: Vec<Self>, name: &str) -> Result<Self> {
        let mut names: Vec<_> = tables.iter().map(|table| table.name().to_owned()).collect();
        let found = tables.into_iter().find(|table| table.name().eq_ignore_ascii_case(name));
        found.ok_or_else(|| {
            names.sort();
            let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            let message = format!("there is no table '{name}'; there are: {known}");
            Error::new(ErrorKind::Schema, message).in_table(name.to_owned())
        })
    }

    /// The columns, to be changed before the table is shared.
    pub(crate) fn columns_mut(&mut self) -> &mut [ColumnSchema] {
        &mut self.columns
    }
}
