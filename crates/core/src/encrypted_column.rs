//! The typed column of an encrypted field.

use crate::{
    AnyColumn, Assignment, Column, Expr, Field, Filter, FromRow, Operand, Selection, SelectionPart,
};

/// The column of a field with `#[record(encrypted)]`: it can be read, set, and asked for NULL. Its values are compared only
/// if they are `SEARCHABLE`, and only for equality; nothing else compiles:
///
/// ```compile_fail
/// # use bobak_core::{Column, EncryptedColumn, Filter};
/// # struct Person;
/// # impl Person { const NOTE: EncryptedColumn<Person, String> = EncryptedColumn::new(1); }
/// let found: Filter<Person> = Person::NOTE.eq("a secret");
/// ```
///
/// ```
/// # use bobak_core::{Column, EncryptedColumn, Filter};
/// # struct Person;
/// # impl Person { const EMAIL: EncryptedColumn<Person, String, true> = EncryptedColumn::new(1); }
/// let found: Filter<Person> = Person::EMAIL.eq("ada@example.org");
/// let others: Filter<Person> = Person::EMAIL.ne("ada@example.org");
/// ```
#[derive(Debug)]
pub struct EncryptedColumn<T, V, const SEARCHABLE: bool = false> {
    column: Column<T, V>,
}

impl<T, V, const SEARCHABLE: bool> Clone for EncryptedColumn<T, V, SEARCHABLE> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, V, const SEARCHABLE: bool> Copy for EncryptedColumn<T, V, SEARCHABLE> {}

impl<T, V, const SEARCHABLE: bool> EncryptedColumn<T, V, SEARCHABLE> {
    /// The column at this index of the schema.
    #[must_use]
    pub const fn new(index: usize) -> Self {
        Self { column: Column::new(index) }
    }

    /// The column's index in the schema.
    #[must_use]
    pub const fn index(self) -> usize {
        self.column.index()
    }

    /// Rows in which the column is NULL, which is not encrypted.
    #[must_use]
    pub const fn is_null(self) -> Filter<T> {
        self.column.is_null()
    }

    /// Rows in which the column is not NULL.
    #[must_use]
    pub fn is_not_null(self) -> Filter<T> {
        self.column.is_not_null()
    }

    /// Sets the column, in an update.
    #[must_use]
    pub fn set(self, value: impl Operand<V>) -> Assignment<T> {
        self.column.set(value)
    }
}

/// The columns of encrypted fields whose values are found: of those with `encrypted(searchable)`.
#[diagnostic::on_unimplemented(
    message = "the values of an encrypted field are not compared",
    label = "equal values are stored as different bytes",
    note = "`#[record(encrypted(searchable))]` makes a field whose equal values are found"
)]
pub trait SearchableColumn {}

impl<T, V> SearchableColumn for EncryptedColumn<T, V, true> {}

impl<T, V, const SEARCHABLE: bool> EncryptedColumn<T, V, SEARCHABLE> {
    /// Equal, byte for byte. NULL (`None`) equals NULL here, as [`is_null`](Self::is_null) does.
    #[must_use]
    pub fn eq(self, value: impl Operand<V>) -> Filter<T>
    where
        Self: SearchableColumn,
    {
        self.column.eq(value)
    }

    /// Not equal, byte for byte. Does not match NULL, unless the value is NULL.
    #[must_use]
    pub fn ne(self, value: impl Operand<V>) -> Filter<T>
    where
        Self: SearchableColumn,
    {
        self.column.ne(value)
    }

    /// Equal to one of the values; a NULL among them matches nothing.
    #[must_use]
    pub fn is_in<O: Operand<V>>(self, values: impl IntoIterator<Item = O>) -> Filter<T>
    where
        Self: SearchableColumn,
    {
        self.column.is_in(values)
    }
}

impl<T, V, const SEARCHABLE: bool> From<EncryptedColumn<T, V, SEARCHABLE>> for AnyColumn<T> {
    fn from(encrypted: EncryptedColumn<T, V, SEARCHABLE>) -> Self {
        encrypted.column.into()
    }
}

impl<T, V: Field, const SEARCHABLE: bool> SelectionPart<T> for EncryptedColumn<T, V, SEARCHABLE> {
    type Value = V;

    fn expr(&self) -> Expr {
        self.column.expr()
    }
}

impl<T, V, const SEARCHABLE: bool> Selection<T> for EncryptedColumn<T, V, SEARCHABLE>
where
    V: Field + FromRow,
{
    type Row = V;

    fn exprs(&self) -> Vec<Expr> {
        vec![self.expr()]
    }
}
