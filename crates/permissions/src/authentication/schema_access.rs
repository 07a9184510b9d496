//! Who may change the tables of a database by a migration.

use super::caller::Caller;
use crate::policy::{CallerPermissions, Permission};
use bobak_core::check::CheckExpression;
use bobak_core::{Error, ErrorKind, Result, TableSchema};

/// What a migration does with a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaAccess {
    /// A new foreign key refers to it.
    Refer,
    /// It is created, renamed, or gets a column, an index or another name of a column.
    Change,
    /// Values are lost or converted.
    Rewrite,
}

impl Caller {
    /// Whether it may do everything on every database, so that it may administrate the server.
    #[must_use]
    pub fn is_administrator(&self) -> bool {
        match self.permissions() {
            Ok(Some(permissions)) => permissions.is_unrestricted_everywhere(),
            Ok(None) => true,
            Err(_) => false,
        }
    }

    /// Whether it may do everything on a database.
    #[must_use]
    pub fn is_unrestricted(&self, database: &str) -> bool {
        match self.permissions() {
            Ok(Some(permissions)) => permissions.is_unrestricted(database),
            Ok(None) => true,
            Err(_) => false,
        }
    }

    /// Checks that it may migrate these tables of a database. It needs `schema` and `read` on each without a row rule, because
    /// the database checks the rows that are there, and `update` and `delete` where values are lost or converted. `before` and
    /// `after` are all tables.
    ///
    /// # Errors
    /// `Denied`, naming the table; `Syntax` and others for a CHECK that is no expression over the columns of its table.
    pub fn check_migration(
        &self,
        database: &str,
        uses: &[(String, SchemaAccess)],
        before: &[TableSchema],
        after: &[TableSchema],
    ) -> Result<()> {
        let permissions = match self.permissions()? {
            Some(permissions) if !permissions.is_unrestricted(database) => permissions,
            _ => return Ok(()),
        };
        for (table, access) in uses {
            check_table(&permissions, database, table, *access)?;
        }
        let changed = |name: &str| {
            let mut uses = uses.iter().filter(|(_, access)| *access != SchemaAccess::Refer);
            uses.any(|(table, _)| table.eq_ignore_ascii_case(name))
        };
        // A table that refers to a changed one would change too, or keep it from changing.
        let refers = |table: &&TableSchema| {
            permissions.on(database, table.name()).is_empty()
                && table.all_foreign_keys().iter().any(|key| changed(&key.table))
        };
        if before.iter().any(|table| refers(&table)) {
            let message = "permission denied: a table that you may not see refers to this one";
            return Err(Error::new(ErrorKind::Denied, message));
        }
        let columns = after.iter().filter(|table| changed(table.name()));
        let columns = columns.flat_map(|table| table.columns().iter().map(move |one| (table, one)));
        for (table, column) in columns {
            if let Some(check) = &column.check {
                CheckExpression::parse(check, table)
                    .map_err(|error| error.in_column(column.name.clone()))?;
            }
        }
        Ok(())
    }
}

fn check_table(
    permissions: &CallerPermissions,
    database: &str,
    table: &str,
    access: SchemaAccess,
) -> Result<()> {
    let needed: &[Permission] = match access {
        SchemaAccess::Refer => &[Permission::Read],
        SchemaAccess::Change => &[Permission::Schema, Permission::Read],
        SchemaAccess::Rewrite => {
            &[Permission::Schema, Permission::Read, Permission::Update, Permission::Delete]
        }
    };
    for permission in needed {
        let mut grants = permissions.grants_on(database, table);
        if !grants.any(|grant| grant.rule.is_none() && grant.permissions.has(*permission)) {
            return Err(permission.denied(table));
        }
    }
    Ok(())
}
