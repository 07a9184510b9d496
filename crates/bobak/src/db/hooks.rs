//! Hooks of a [`Db`](super::Db), which its builder registers.

use super::DbBuilder;
use crate::catalog::{Catalog, RegisteredRecord};
use crate::rules::{HookPoint, HookRows, RowHook};
use crate::transaction::Transaction;
use bobak_core::{Record, Result, Session, Value, check_loaded};
use std::any::TypeId;
use std::sync::{Arc, OnceLock};

/// Hooks: functions that run before and after a record is written, in the same transaction.
///
/// They run on every way to write that [rules](crate::rules) apply to. An error of a hook fails the write and undoes what
/// the write and its hooks did; a panic becomes an `Engine` error. Several hooks of one kind run in the order in which they
/// are registered. The record type is added to the main engine, unless it is registered with another.
///
/// ```
/// use bobak::prelude::*;
///
/// #[derive(Record)]
/// struct Order { id: i64, total: Currency, number: String }
/// #[derive(Record)]
/// struct Audit { id: i64, text: String }
///
/// let db = Db::builder()
///     .record::<Audit>()
///     .before_insert(|_, order: &mut Order| {
///         order.number = format!("N{}", order.number);
///         Ok(())
///     })
///     .after_insert(|transaction, order: &Order| {
///         let text = format!("order {} is {}", order.id, order.number);
///         transaction.table()?.insert(&Audit { id: 0, text }).map(drop)
///     })
///     .open("memory:")?;
/// db.create_missing_tables()?;
/// db.table()?.insert(&Order { id: 0, total: Currency::ZERO, number: "7".into() })?;
/// assert_eq!(db.table::<Audit>()?.require(1)?.text, "order 1 is N7");
/// # Ok::<(), Error>(())
/// ```
impl DbBuilder {
    /// Runs `hook` before a record is inserted. It may change the record, whose key is 0 or nil if it will be generated. The
    /// insert returns a key that it changes, which must be one integer or UUID: another is `Misuse`.
    #[must_use]
    pub fn before_insert<T: Record>(
        self,
        hook: impl Fn(&Transaction<'_>, &mut T) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        let hook = move |t: &Transaction<'_>, _: Option<&T>, new: &mut T| hook(t, new);
        self.hook::<T>(Hook::before(HookPoint::BeforeInsert, hook))
    }

    /// Runs `hook` after a record was inserted, with the record as it is stored.
    #[must_use]
    pub fn after_insert<T: Record>(
        self,
        hook: impl Fn(&Transaction<'_>, &T) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        let hook = move |t: &Transaction<'_>, _: Option<&T>, new: &T| hook(t, new);
        self.hook::<T>(Hook::after(HookPoint::AfterInsert, hook))
    }

    /// Runs `hook` before a record is updated, with the stored record and the new one, which it may change except its key
    /// and version.
    #[must_use]
    pub fn before_update<T: Record>(
        self,
        hook: impl Fn(&Transaction<'_>, &T, &mut T) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        let hook = move |t: &Transaction<'_>, old: Option<&T>, new: &mut T| {
            old.map_or(Ok(()), |old| hook(t, old, new))
        };
        self.hook::<T>(Hook::before(HookPoint::BeforeUpdate, hook))
    }

    /// Runs `hook` after a record was updated, with the record as it was and as it is stored now.
    #[must_use]
    pub fn after_update<T: Record>(
        self,
        hook: impl Fn(&Transaction<'_>, &T, &T) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        let hook = move |t: &Transaction<'_>, old: Option<&T>, new: &T| {
            old.map_or(Ok(()), |old| hook(t, old, new))
        };
        self.hook::<T>(Hook::after(HookPoint::AfterUpdate, hook))
    }

    /// Runs `hook` before a record is deleted.
    #[must_use]
    pub fn before_delete<T: Record>(
        self,
        hook: impl Fn(&Transaction<'_>, &T) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        let hook = move |t: &Transaction<'_>, _: Option<&T>, record: &T| hook(t, record);
        self.hook::<T>(Hook::after(HookPoint::BeforeDelete, hook))
    }

    /// Runs `hook` after a record was deleted.
    #[must_use]
    pub fn after_delete<T: Record>(
        self,
        hook: impl Fn(&Transaction<'_>, &T) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        let hook = move |t: &Transaction<'_>, _: Option<&T>, record: &T| hook(t, record);
        self.hook::<T>(Hook::after(HookPoint::AfterDelete, hook))
    }

    fn hook<T: Record>(mut self, hook: Hook) -> Self {
        self.named.push(RegisteredRecord::new::<T>(None));
        self.hooks.push(hook);
        self
    }
}

/// A hook for rows. One that may change the new row returns it.
type TypedHook =
    dyn Fn(&Transaction<'_>, HookRows<'_>) -> Result<Option<Vec<Value<'static>>>> + Send + Sync;

/// A hook of a record type.
#[derive(Clone)]
pub(crate) struct Hook {
    /// The record type.
    pub id: TypeId,
    point: HookPoint,
    run: Arc<TypedHook>,
}

impl Hook {
    /// A hook that may change the new record.
    fn before<T: Record>(
        point: HookPoint,
        hook: impl Fn(&Transaction<'_>, Option<&T>, &mut T) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        Self::new::<T>(point, move |transaction, rows| {
            let old = read_old::<T>(&rows)?;
            let mut new = T::read(&rows.new)?;
            hook(transaction, old.as_ref(), &mut new)?;
            check_loaded(&new, T::ON_REQUEST)?;
            let values = new.values()?.as_ref().iter().map(|v| v.clone().into_owned()).collect();
            Ok(Some(values))
        })
    }

    /// A hook that sees the old record, if there is one, and the new one.
    fn after<T: Record>(
        point: HookPoint,
        hook: impl Fn(&Transaction<'_>, Option<&T>, &T) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        Self::new::<T>(point, move |transaction, rows| {
            let old = read_old::<T>(&rows)?;
            hook(transaction, old.as_ref(), &T::read(&rows.new)?).map(|()| None)
        })
    }

    fn new<T: Record>(
        point: HookPoint,
        run: impl Fn(&Transaction<'_>, HookRows<'_>) -> Result<Option<Vec<Value<'static>>>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        Self { id: TypeId::of::<T>(), point, run: Arc::new(run) }
    }
}

fn read_old<T: Record>(rows: &HookRows<'_>) -> Result<Option<T>> {
    if rows.old.is_empty() { Ok(None) } else { T::read(&rows.old).map(Some) }
}

/// A hook of an opened database.
struct BoundHook {
    hook: Hook,
    /// The database without the layers of rules, and the index of the record's engine.
    catalog: Arc<Catalog>,
    engine: usize,
    /// The same database for writes of scopes, once there was one.
    confined: OnceLock<Arc<Catalog>>,
}

impl BoundHook {
    fn catalog(&self, confined: bool) -> Result<&Arc<Catalog>> {
        if !confined {
            return Ok(&self.catalog);
        }
        if self.confined.get().is_none() {
            let catalog = Arc::new(self.catalog.without_sql()?);
            return Ok(self.confined.get_or_init(|| catalog));
        }
        Ok(self.confined.get().unwrap_or(&self.catalog))
    }
}

impl Hook {
    /// The hook of an opened database, whose catalog is without the layers of rules.
    pub(super) fn bind(&self, catalog: &Arc<Catalog>, engine: usize) -> Arc<dyn RowHook> {
        let (hook, catalog) = (self.clone(), Arc::clone(catalog));
        Arc::new(BoundHook { hook, catalog, engine, confined: OnceLock::new() })
    }
}

impl RowHook for BoundHook {
    fn point(&self) -> HookPoint {
        self.hook.point
    }

    fn run(
        &self,
        session: Box<dyn Session + '_>,
        rows: HookRows<'_>,
        confined: bool,
    ) -> Result<Option<Vec<Value<'static>>>> {
        let transaction = Transaction::within(self.catalog(confined)?, self.engine, session);
        (self.hook.run)(&transaction, rows)
    }
}
