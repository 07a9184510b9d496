//! A record under another name, so that a join can have it twice.

use crate::rules::Rules;
use crate::{Column, FieldSet, Record, Result, Row, TableSchema, ToMany, ToOne, ValueRef};
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

/// A record `T` in a join that has `T` already; `A` is any type that names it.
///
/// ```
/// # use bobak_core::{Column, Query, Record, ToOne, Field};
/// use bobak_core::join::Alias;
///
/// struct Boss;
///
/// # fn example<Employee: Record>(boss: ToOne<Employee, Employee>, name: Column<Employee, String>) {
/// let with_boss = Query::<Employee>::all()
///     .left_join(boss.to_alias::<Boss>())
///     .select((name, name.of_alias::<Boss>()));
/// # }
/// ```
///
/// Without `select` the rows have an `Alias`, whose record is its field or what it dereferences to.
pub struct Alias<T, A>(pub T, PhantomData<fn() -> A>);

impl<T: Clone, A> Clone for Alias<T, A> {
    fn clone(&self) -> Self {
        Self(self.0.clone(), PhantomData)
    }
}

impl<T: fmt::Debug, A> fmt::Debug for Alias<T, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T, A> Deref for Alias<T, A> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Record, A: 'static> Record for Alias<T, A> {
    type Key = T::Key;
    type Values<'a> = T::Values<'a>;
    const TABLE: &'static str = T::TABLE;
    const KEY_COLUMN: &'static str = T::KEY_COLUMN;
    const ON_REQUEST: FieldSet = T::ON_REQUEST;

    fn schema() -> &'static Arc<TableSchema> {
        T::schema()
    }

    fn rules() -> &'static Rules {
        T::rules()
    }

    fn key(&self) -> T::Key {
        self.0.key()
    }

    fn not_loaded(&self) -> FieldSet {
        self.0.not_loaded()
    }

    fn values(&self) -> Result<T::Values<'_>> {
        self.0.values()
    }

    fn read(row: &dyn Row) -> Result<Self> {
        T::read(row).map(|record| Self(record, PhantomData))
    }

    fn read_from(&mut self, row: &dyn Row) -> Result<()> {
        self.0.read_from(row)
    }

    fn set_written(&mut self, column: usize, value: ValueRef<'_>) -> Result<()> {
        self.0.set_written(column, value)
    }
}

impl<T, V> Column<T, V> {
    /// The same column of the record under the name `A`.
    #[must_use]
    pub const fn of_alias<A>(self) -> Column<Alias<T, A>, V> {
        Column::new(self.index())
    }
}

impl<T: Record, B: Record> ToOne<T, B> {
    /// The same relation to the records under the name `A`.
    #[must_use]
    pub const fn to_alias<A: 'static>(self) -> ToMany<T, Alias<B, A>> {
        self.as_many().to_alias()
    }

    /// The same relation from the records under the name `A`.
    #[must_use]
    pub const fn of_alias<A: 'static>(self) -> ToMany<Alias<T, A>, B> {
        self.as_many().of_alias()
    }
}

impl<T: Record, B: Record> ToMany<T, B> {
    /// The same relation to the records under the name `A`.
    #[must_use]
    pub const fn to_alias<A: 'static>(self) -> ToMany<T, Alias<B, A>> {
        self.retyped()
    }

    /// The same relation from the records under the name `A`.
    #[must_use]
    pub const fn of_alias<A: 'static>(self) -> ToMany<Alias<T, A>, B> {
        self.retyped()
    }
}
