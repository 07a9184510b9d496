//! The names of constraints and indexes in a database.

use bobak_core::sql_token::{SqlSyntax, SqlTokenizer};
use bobak_core::{ColumnSchema, Error, ErrorKind, Result, TableSchema};

/// The names of a table's constraints and indexes in the database, which an engine looks up before it
/// alters the table.
#[derive(Clone, Debug, Default)]
pub struct ConstraintNames {
    /// The CHECKs: the columns that each names, and its own name.
    pub checks: Vec<(Vec<String>, String)>,
    /// The foreign keys of one column: the column, and the constraint's name.
    pub references: Vec<(String, String)>,
    /// The foreign keys of several columns: the columns in the order of their names, and the constraint's name.
    pub foreign_keys: Vec<(Vec<String>, String)>,
    /// The indexes: the name in the schema, and the one in the database.
    pub indexes: Vec<(String, String)>,
    /// The indexes of constraints, which no statement drops.
    pub constraints: Vec<String>,
    /// The index that stands for the key.
    pub key_index: Option<String>,
}

impl ConstraintNames {
    /// The names that the database gives by itself: for a plan, which no database has seen.
    #[must_use]
    pub fn expected(table: &TableSchema) -> Self {
        let mut names = Self::default();
        for column in table.columns() {
            if column.check.is_some() {
                let name = format!("{}_{}_check", table.name(), column.name);
                names.checks.push((check_columns(table, column), name));
            }
            if column.reference.is_some() {
                let name = format!("{}_{}_fkey", table.name(), column.name);
                names.references.push((column.name.to_string(), name));
            }
        }
        for key in table.foreign_keys() {
            let columns = key.columns.iter().filter_map(|place| table.columns().get(*place));
            let mut columns: Vec<_> = columns.map(|column| column.name.to_string()).collect();
            let name = format!("{}_{}_fkey", table.name(), columns.join("_"));
            columns.sort();
            names.foreign_keys.push((columns, name));
        }
        names
    }

    /// The names of the foreign keys of these columns.
    pub(crate) fn foreign_keys_of(&self, table: &TableSchema, columns: &[usize]) -> Vec<&str> {
        let columns = columns.iter().filter_map(|place| table.columns().get(*place));
        let mut columns: Vec<_> = columns.map(|column| column.name.to_string()).collect();
        columns.sort();
        let own = self.foreign_keys.iter().filter(|(names, _)| *names == columns);
        own.map(|(_, name)| name.as_str()).collect()
    }

    /// An index's name in the database.
    pub(crate) fn index<'n>(&'n self, own: &'n str) -> &'n str {
        self.indexes.iter().find(|(name, _)| name == own).map_or(own, |(_, stored)| stored)
    }

    /// The names of the foreign keys of a column.
    pub(crate) fn references_of<'n>(&'n self, column: &'n str) -> impl Iterator<Item = &'n str> {
        let own = self.references.iter().filter(move |(name, _)| name == column);
        own.map(|(_, name)| name.as_str())
    }

    /// The CHECKs that a column declares.
    pub(crate) fn checks_of(
        &self,
        table: &TableSchema,
        column: &ColumnSchema,
    ) -> Result<Vec<&str>> {
        let columns = check_columns(table, column);
        let same =
            |other: &&ColumnSchema| other.check.is_some() && check_columns(table, other) == columns;
        let declared = table.columns().iter().filter(same).count();
        let found: Vec<_> = self.checks.iter().filter(|(names, _)| *names == columns).collect();
        if found.len() == 1 && declared == 1 {
            return Ok(found.into_iter().map(|(_, name)| name.as_str()).collect());
        }
        let message = "the database has several CHECKs of these columns, or none, so that Bobak does \
                       not know which one to replace: change it in SQL";
        let error = Error::new(ErrorKind::Unsupported, message);
        Err(error.in_table(table.name()).in_column(column.name.clone()))
    }
}

/// The columns that a column's CHECK names, in order of their names.
fn check_columns(table: &TableSchema, column: &ColumnSchema) -> Vec<String> {
    let text = column.check.as_deref().unwrap_or_default();
    let named = SqlTokenizer::new(SqlSyntax::Sqlite, text);
    let named = named.filter_map(|token| token.name().map(std::borrow::Cow::into_owned));
    let named: Vec<String> = named.collect();
    let columns = table.columns().iter().map(|column| column.name.to_string());
    let is_named = |column: &String| named.iter().any(|name| name.eq_ignore_ascii_case(column));
    let mut columns: Vec<_> = columns.filter(is_named).collect();
    columns.sort();
    columns
}
