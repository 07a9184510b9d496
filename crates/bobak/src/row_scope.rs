//! A database confined to some tables and rows, such as those of one tenant.

use crate::Db;
use bobak_core::{Result, Value};
use bobak_permissions::{Caller, ProtectedDatabase};
use std::sync::Arc;

/// What a [confined](Db::scoped) database may do: grants on tables, some of them on the rows that satisfy a condition.
///
/// Grants are those of the [access file](https://github.com/bobak-db/bobak/blob/main/docs/permissions.md) of a server:
/// `read, write on orders where tenant = :tenant`. Permissions are `read`, `insert`, `update`, `delete`, and `write` for
/// the last three. They add up; what no grant allows is rejected.
#[derive(Clone, Debug, Default)]
pub struct RowScope {
    name: String,
    grants: Vec<String>,
    variables: Vec<(String, Value<'static>)>,
}

impl RowScope {
    /// A scope without grants. Its name is recorded as the actor of changes to tracked tables, and is the variable
    /// `:user` of conditions.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Adds a grant.
    #[must_use]
    pub fn grant(mut self, grant: impl Into<String>) -> Self {
        self.grants.push(grant.into());
        self
    }

    /// Sets a variable of conditions: a text or an integer.
    #[must_use]
    pub fn variable(mut self, name: impl Into<String>, value: impl Into<Value<'static>>) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }
}

impl Db {
    /// The same database, confined to what a scope grants: a handle for one tenant, which no call bypasses.
    ///
    /// Rows outside of the scope look as if they did not exist, and tables without a grant as well: for tables,
    /// transactions, batches, joins, shapes, dynamic rows, pipelines, iterators, and for a server of
    /// [`engine`](Self::engine). Writing a row that the scope does not include fails with `Denied`. So do SQL text, schema
    /// changes, backups and other operations on the whole database.
    ///
    /// ```
    /// use bobak::{RowScope, prelude::*};
    /// #[derive(Record)]
    /// struct Order { id: i64, tenant: i64, text: String }
    ///
    /// let db = Db::builder().record::<Order>().open("memory:")?;
    /// db.create_missing_tables()?;
    /// for tenant in [7, 8] {
    ///     db.table()?.insert(&Order { id: 0, tenant, text: "tea".into() })?;
    /// }
    ///
    /// let scope = RowScope::new("acme").grant("read, write on order where tenant = :tenant");
    /// let acme = db.scoped(&scope.variable("tenant", 7))?;
    /// let orders = acme.table::<Order>()?;
    /// assert_eq!(orders.count(Query::all())?, 1);
    /// assert!(orders.get(2)?.is_none());
    /// assert_eq!(orders.delete_all()?, 1);
    /// let other = orders.insert(&Order { id: 0, tenant: 8, text: "tea".into() });
    /// assert_eq!(other.unwrap_err().kind(), ErrorKind::Denied);
    /// assert_eq!(db.table::<Order>()?.count(Query::all())?, 1);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// `Config` for a grant that is invalid for any table, and for a grant of `sql`, `schema` or `all`.
    pub fn scoped(&self, scope: &RowScope) -> Result<Self> {
        let caller = Caller::with_grants(&scope.name, &scope.grants, scope.variables.clone())?;
        let catalog = self.catalog().scoped(|(name, engine)| {
            Ok(ProtectedDatabase::new(name, Arc::clone(engine)).engine_for(&caller))
        })?;
        Ok(Self::new(Arc::new(catalog)))
    }
}
