//! What a caller may do with one table.

use super::foreign_key_check::ForeignKeyCheck;
use super::protected_database::ProtectedDatabase;
use crate::policy::{CallerPermissions, Permission, PermissionSet, RowRule};
use bobak_core::{
    ColumnSchema, Condition, Error, ErrorKind, IndexSchema, Result, Row, TableSchema, Value,
};

/// The permissions on a table, with their row rules bound to it.
pub(super) struct TablePermissions {
    set: PermissionSet,
    /// For each of [`WITH_RULES`]: the condition that rows must satisfy; `None` for all rows.
    rules: [Option<Condition>; 4],
    /// The columns that refer to rows that the caller may not read.
    pub(super) foreign_keys: Vec<ForeignKeyCheck>,
    /// The numbers of the unique indexes that the caller describes and the database does not have.
    pub(super) invented_indexes: Vec<u16>,
    /// The permissions to write whose rules name a column that the engine computes.
    computed: Vec<Permission>,
}

/// The permissions that may have row rules, in the order of [`TablePermissions::rules`].
const WITH_RULES: [Permission; 4] =
    [Permission::Read, Permission::Insert, Permission::Update, Permission::Delete];

impl TablePermissions {
    /// All permissions.
    pub const UNRESTRICTED: Self = Self {
        set: PermissionSet::ALL,
        rules: [None, None, None, None],
        foreign_keys: Vec::new(),
        invented_indexes: Vec::new(),
        computed: Vec::new(),
    };

    /// Combines the grants on a table. The flag says whether the result may be cached.
    ///
    /// # Errors
    /// `Schema` if there is no grant; `Denied` if a rule cannot be applied to the table as the caller
    /// describes it.
    pub fn of(
        permissions: &CallerPermissions,
        database: &ProtectedDatabase,
        table: &TableSchema,
        tables: &dyn Fn() -> Result<Vec<TableSchema>>,
    ) -> Result<(Self, bool)> {
        let set = permissions.on(database.name(), table.name());
        if set.is_empty() {
            return Err(no_such_table(table.name()));
        }
        let mut rules = [None, None, None, None];
        let mut columns = Vec::new();
        for (permission, slot) in WITH_RULES.into_iter().zip(&mut rules) {
            *slot = permissions.rule_on(database.name(), permission, table)?;
            if let Some(rule) = slot {
                RowRule::columns_of(rule, table, &mut columns);
            }
        }
        let mut combined = Self { set, rules, ..Self::UNRESTRICTED };
        let writes = set.has(Permission::Insert) || set.has(Permission::Update);
        let reads_all = permissions.reads_all(database.name(), table.name());
        if reads_all && columns.is_empty() && !writes {
            return Ok((combined, true));
        }
        let described: Vec<&str> = table.columns().iter().map(|column| &*column.name).collect();
        let Some(stored) = database.table(table.name(), &described, tables)? else {
            // The table does not exist yet: the engine reports that.
            return Ok((combined, false));
        };
        check_columns(table, &columns, &stored)?;
        if writes {
            combined.foreign_keys =
                ForeignKeyCheck::all(permissions, database, table, &stored, tables)?;
            combined.invented_indexes = invented_indexes(table, &stored);
            combined.computed = combined.computed_rules(table, &stored);
        }
        if !columns.is_empty() || !combined.foreign_keys.is_empty() {
            check_names(table, &stored)?;
        }
        if !columns.is_empty() || !reads_all {
            check_key(table, &stored)?;
        }
        Ok((combined, true))
    }

    /// The row rule of a permission; `None` if it covers all rows.
    ///
    /// # Errors
    /// `Denied` if the permission is not granted, or its rule names a generated column, whose value is known only when the
    /// row is written.
    #[inline]
    pub fn check(&self, permission: Permission, table: &TableSchema) -> Result<Option<&Condition>> {
        if !self.set.has(permission) {
            return Err(permission.denied(table.name()));
        }
        if self.computed.contains(&permission) {
            let message = "permission denied: a row rule for writes names a generated column: name the columns that it is \
                           computed from";
            return Err(Error::new(ErrorKind::Denied, message).in_table(table.name()));
        }
        let index = WITH_RULES.iter().position(|with_rule| *with_rule == permission);
        Ok(index.and_then(|index| self.rules.get(index)).and_then(Option::as_ref))
    }
}

impl TablePermissions {
    /// The permissions to insert and update whose rules name a column that the database computes: what a caller gives for
    /// it is not what is stored.
    fn computed_rules(&self, table: &TableSchema, stored: &TableSchema) -> Vec<Permission> {
        let is_computed = |position: &usize| {
            let name = table.columns().get(*position).map(|column| &column.name);
            let found = name.and_then(|name| stored.column(name).ok());
            found.is_some_and(|column| stored.is_generated(column))
        };
        let names_computed = |rule: &Condition| {
            let mut columns = Vec::new();
            RowRule::columns_of(rule, table, &mut columns);
            columns.iter().any(is_computed)
        };
        let rules = WITH_RULES.into_iter().zip(&self.rules);
        let writes =
            |permission: &Permission| matches!(permission, Permission::Insert | Permission::Update);
        let named = rules.filter(|(_, rule)| rule.as_ref().is_some_and(names_computed));
        named.map(|(permission, _)| permission).filter(writes).collect()
    }
}

/// Whether a row satisfies a rule.
#[inline]
pub(super) fn satisfies(rule: Option<&Condition>, table: &TableSchema, row: &dyn Row) -> bool {
    rule.is_none_or(|rule| rule.evaluate(table, row) == Some(true))
}

/// Checks that a value has its column's form: another one might be stored otherwise than it compares.
pub(super) fn check_value(table: &TableSchema, position: usize, value: &Value<'_>) -> Result<()> {
    let Some(column) = table.columns().get(position) else { return Ok(()) };
    column.check_stored(value.as_ref()).map_err(|error| error.in_table(table.name()))
}

/// The error for a table that does not exist, and for one without any permission.
pub(super) fn no_such_table(name: &str) -> Error {
    Error::new(ErrorKind::Schema, "there is no such table").in_table(name)
}

/// The error for a write that a row rule forbids.
pub(super) fn row_denied(table: &TableSchema, verb: &str) -> Error {
    let message = format!("permission denied: you may not {verb} this row");
    Error::new(ErrorKind::Denied, message).in_table(table.name())
}

/// Checks that the columns of a rule are described as the database has them. Callers describe tables
/// themselves; with another type or collation, values would compare otherwise than they are stored.
fn check_columns(table: &TableSchema, positions: &[usize], stored: &TableSchema) -> Result<()> {
    for described in positions.iter().filter_map(|position| table.columns().get(*position)) {
        let mut columns = stored.columns().iter();
        let found = columns.find(|c| c.name.eq_ignore_ascii_case(&described.name));
        let is_same = found.is_some_and(|stored| {
            (stored.ty, stored.storage, stored.collation)
                == (described.ty, described.storage, described.collation)
        });
        if !is_same {
            let message = "a row rule uses this column, whose type differs in the database";
            let error = Error::new(ErrorKind::Denied, message).in_table(table.name());
            return Err(error.in_column(described.name.to_string()));
        }
    }
    Ok(())
}

/// Checks that the key is described as the database has it: by another one, a write would find rows by what they hold,
/// and change others than the rules allow.
fn check_key(table: &TableSchema, stored: &TableSchema) -> Result<()> {
    let names = |table: &TableSchema| -> Vec<String> {
        let columns = table.key().iter().filter_map(|&position| table.columns().get(position));
        columns.map(|column| column.name.to_ascii_lowercase()).collect()
    };
    if names(table) == names(stored) {
        return Ok(());
    }
    let message = "permission denied: the key differs in the database";
    Err(Error::new(ErrorKind::Denied, message).in_table(table.name()))
}

/// The numbers of the described unique indexes that the database does not have, or has over columns that compare otherwise.
/// By such an index, an upsert would find rows by what they hold, and its result would show that.
fn invented_indexes(table: &TableSchema, stored: &TableSchema) -> Vec<u16> {
    let columns = |table: &TableSchema, index: &IndexSchema| {
        let columns = index.columns.iter().filter_map(|&position| table.columns().get(position));
        let named = |column: &ColumnSchema| {
            (column.name.to_ascii_lowercase(), column.ty, column.storage, column.collation)
        };
        let mut columns: Vec<_> = columns.map(named).collect();
        columns.sort_by(|a, b| a.0.cmp(&b.0));
        columns
    };
    let unique = |table: &TableSchema| -> Vec<_> {
        let indexes = table.indexes().iter();
        indexes.map(|index| index.unique.then(|| columns(table, index))).collect()
    };
    let known = unique(stored);
    let is_invented = |index: &Option<_>| index.is_some() && !known.contains(index);
    let described = unique(table);
    let numbered = described.iter().zip(0u16..);
    numbered.filter(|(index, _)| is_invented(index)).map(|(_, number)| number).collect()
}

/// Rejects unknown column names: a checked column could be written under another name, as SQLite also
/// knows an integer key as `rowid`.
fn check_names(table: &TableSchema, stored: &TableSchema) -> Result<()> {
    let exists = |name: &str| stored.columns().iter().any(|c| c.name.eq_ignore_ascii_case(name));
    match table.columns().iter().find(|described| !exists(&described.name)) {
        Some(column) => {
            let error = Error::new(ErrorKind::Schema, "there is no such column");
            Err(error.in_table(table.name()).in_column(column.name.to_string()))
        }
        None => Ok(()),
    }
}
