//! Grants, and what they allow a caller together.

use super::line_parser::LineParser;
use super::permission::{Permission, PermissionSet};
use super::row_rule::{RowRule, Variables};
use bobak_core::change_log::is_change_log_table;
use bobak_core::search::is_search_name;
use bobak_core::{Condition, Error, ErrorKind, Result, TableSchema, Value};
use jiff::Timestamp;
use std::sync::Arc;

/// Permissions on some tables, or on some of their rows.
#[derive(Clone, Debug)]
pub(crate) struct Grant {
    pub permissions: PermissionSet,
    tables: Vec<TablePattern>,
    pub rule: Option<RowRule>,
}

/// Tables by name: `orders`, `shop.orders`, `shop.*`, `*`.
#[derive(Clone, Debug, PartialEq)]
struct TablePattern {
    /// `None` for any database.
    database: Option<String>,
    /// `None` for any table.
    table: Option<String>,
}

/// What one caller may do: the grants of all its roles.
#[derive(Clone, Debug)]
pub(crate) struct CallerPermissions {
    grants: Vec<Arc<Grant>>,
    variables: Vec<(String, Value<'static>)>,
    expires: Option<Timestamp>,
}

impl Grant {
    /// All permissions on everything.
    pub fn everything() -> Self {
        let any = TablePattern { database: None, table: None };
        Self { permissions: PermissionSet::ALL, tables: vec![any], rule: None }
    }

    /// The grant without permissions to change anything.
    pub fn read_only(&self) -> Self {
        let kept = [Permission::Read, Permission::Sql].into_iter();
        let kept = kept.filter(|permission| self.permissions.has(*permission));
        let permissions = kept.fold(PermissionSet::NONE, PermissionSet::with);
        Self { permissions, ..self.clone() }
    }

    /// The grant with no permission but to read rows.
    pub fn read_rows_only(self) -> Self {
        Self { permissions: PermissionSet::NONE.with(Permission::Read), ..self }
    }

    /// Parses `read, insert on orders, shop.lines where owner = :user`.
    ///
    /// # Errors
    /// `Config`.
    pub fn parse(text: &str) -> Result<Self> {
        let mut line = LineParser::new(text);
        let mut permissions = PermissionSet::from_word(&line.name("a permission")?)?;
        while line.take_symbol(',') {
            let word = line.name("a permission")?;
            permissions = permissions.union(PermissionSet::from_word(&word)?);
        }
        if !line.take_word("on") {
            return Err(line.expected("`on`, and tables"));
        }
        let mut tables = vec![TablePattern::parse(&mut line)?];
        while line.take_symbol(',') {
            tables.push(TablePattern::parse(&mut line)?);
        }
        let rule = match line.take_word("where") {
            true => Some(RowRule::new(line.rest())?),
            false => line.expect_end().map(|()| None)?,
        };
        let is_whole = permissions.has(Permission::Sql) || permissions.has(Permission::Schema);
        if rule.is_some() && is_whole {
            let message = "a row rule applies to read, insert, update and delete only: grant sql and \
                           schema on a line of their own";
            return Err(Error::new(ErrorKind::Config, message));
        }
        Ok(Self { permissions, tables, rule })
    }

    /// Whether it covers this table. `*` does not cover the engine's internal tables.
    fn covers(&self, database: &str, table: &str) -> bool {
        self.tables.iter().any(|pattern| {
            pattern.is_in(database)
                && match &pattern.table {
                    Some(name) => name.eq_ignore_ascii_case(table),
                    None => !is_internal(table),
                }
        })
    }

    /// Checks that its row rule names columns of a table that the grant names.
    ///
    /// # Errors
    /// `Config`.
    pub fn check_table(&self, database: &str, table: &TableSchema) -> Result<()> {
        let is_named = |pattern: &TablePattern| {
            let name = pattern.table.as_ref();
            pattern.is_in(database)
                && name.is_some_and(|name| name.eq_ignore_ascii_case(table.name()))
        };
        match &self.rule {
            Some(rule) if self.tables.iter().any(is_named) => rule.check_columns(table),
            _ => Ok(()),
        }
    }

    fn is_in(&self, database: &str) -> bool {
        self.tables.iter().any(|pattern| pattern.is_in(database))
    }
}

impl TablePattern {
    fn parse(line: &mut LineParser<'_>) -> Result<Self> {
        let all_of = |database| Ok(Self { database, table: None });
        if line.take_symbol('*') {
            return all_of(None);
        }
        if let Some(name) = line.quoted('"')? {
            return Ok(Self { database: None, table: Some(name) });
        }
        let word = line.name("a table")?;
        match word.split_once('.') {
            Some((database, "")) if !database.is_empty() => {
                let database = Some(database.to_owned());
                if line.take_symbol('*') {
                    return all_of(database);
                }
                Ok(Self { database, table: Some(line.name("a table")?) })
            }
            Some((database, table)) => {
                Ok(Self { database: Some(database.to_owned()), table: Some(table.to_owned()) })
            }
            None => Ok(Self { database: None, table: Some(word) }),
        }
    }

    fn is_in(&self, database: &str) -> bool {
        self.database.as_ref().is_none_or(|name| name == database)
    }
}

impl CallerPermissions {
    pub const fn new(
        grants: Vec<Arc<Grant>>,
        variables: Vec<(String, Value<'static>)>,
        expires: Option<Timestamp>,
    ) -> Self {
        Self { grants, variables, expires }
    }

    /// The grants that cover a table.
    pub fn grants_on(&self, database: &str, table: &str) -> impl Iterator<Item = &Grant> {
        self.grants.iter().map(|grant| &**grant).filter(move |g| g.covers(database, table))
    }

    /// Whether it allows to read all rows of a table.
    pub fn reads_all(&self, database: &str, table: &str) -> bool {
        self.grants_on(database, table)
            .any(|grant| grant.permissions.has(Permission::Read) && grant.rule.is_none())
    }

    /// All permissions on a table, those with row rules included.
    pub fn on(&self, database: &str, table: &str) -> PermissionSet {
        let grants = self.grants_on(database, table);
        grants.fold(PermissionSet::NONE, |set, grant| set.union(grant.permissions))
    }

    /// The row rule that restricts a permission on a table, bound to it: grants are alternatives.
    /// `None` if a grant has no rule, or if there is no grant.
    ///
    /// # Errors
    /// `Denied` if a rule cannot be applied to the table.
    pub fn rule_on(
        &self,
        database: &str,
        permission: Permission,
        table: &TableSchema,
    ) -> Result<Option<Condition>> {
        let grants = self.grants_on(database, table.name());
        let grants: Vec<_> = grants.filter(|grant| grant.permissions.has(permission)).collect();
        if grants.is_empty() || grants.iter().any(|grant| grant.rule.is_none()) {
            return Ok(None);
        }
        let rules = grants.iter().filter_map(|grant| grant.rule.as_ref());
        let variables: &Variables = &self.variables;
        let mut alternatives =
            rules.map(|rule| rule.bind(table, variables)).collect::<Result<Vec<Condition>>>()?;
        Ok(match alternatives.len() {
            1 => alternatives.pop(),
            _ => Some(Condition::Or(alternatives)),
        })
    }

    /// Whether there is any permission in the database.
    pub fn can_see(&self, database: &str) -> bool {
        self.grants.iter().any(|grant| grant.is_in(database))
    }

    /// Whether anything may be written in the database.
    pub fn can_write(&self, database: &str) -> bool {
        const WRITES: [Permission; 4] =
            [Permission::Insert, Permission::Update, Permission::Delete, Permission::Schema];
        WRITES.into_iter().any(|permission| self.has_anywhere(permission, database))
    }

    /// Whether SQL is allowed on any of the database's tables.
    pub fn can_use_sql(&self, database: &str) -> bool {
        self.has_anywhere(Permission::Sql, database)
    }

    fn has_anywhere(&self, permission: Permission, database: &str) -> bool {
        let mut grants = self.grants.iter().filter(|grant| grant.permissions.has(permission));
        grants.any(|grant| grant.is_in(database))
    }

    /// Whether everything in the database is allowed.
    pub fn is_unrestricted(&self, database: &str) -> bool {
        let covers_all =
            |pattern: &TablePattern| pattern.is_in(database) && pattern.table.is_none();
        let grants = self.grants.iter().filter(|grant| grant.rule.is_none());
        let grants = grants.filter(|grant| grant.tables.iter().any(covers_all));
        let set = grants.fold(PermissionSet::NONE, |set, grant| set.union(grant.permissions));
        set == PermissionSet::ALL
    }

    /// Whether everything in every database is allowed, also in attached engines.
    pub fn is_unrestricted_everywhere(&self) -> bool {
        // No database has an empty name, so only patterns for all databases match it.
        self.is_unrestricted("")
    }

    pub const fn expires(&self) -> Option<Timestamp> {
        self.expires
    }
}

/// Whether a table belongs to the engine or to change capture: catalogs, statistics, users, logs.
fn is_internal(table: &str) -> bool {
    let begins = |prefix: &&str| {
        table.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
    };
    ["sqlite_", "pragma_", "pg_", "dbstat"].iter().any(begins)
        || is_change_log_table(table)
        || is_search_name(table)
}
