//! The steps of migrations, and what each does to the tables.

use super::table_parts::{foreign_key_of, search_of};
use bobak_core::search::SearchLanguage;
use bobak_core::{ColumnSchema, Error, ErrorKind, ForeignKey, Result, TableSchema, Value};
use bobak_engine_common::index_parts;
use std::sync::Arc;

/// One step of a migration: data, which every engine carries out in its own way.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum MigrationStep {
    /// Creates a table with its indexes.
    CreateTable(Arc<TableSchema>),
    /// Drops a table with its rows.
    DropTable(String),
    /// Renames a table; foreign keys to it follow.
    RenameTable {
        /// The present name.
        from: String,
        /// The new name.
        to: String,
    },
    /// Adds a column, and the index of a unique one.
    AddColumn {
        /// The table.
        table: String,
        /// The new column.
        column: ColumnSchema,
        /// The column before it, for engines that keep an order; without it the column is the last one.
        after: Option<String>,
        /// The value of existing rows; by default [`ColumnSchema::added_value`].
        fill: Option<Value<'static>>,
    },
    /// Drops a column with its values.
    DropColumn {
        /// The table.
        table: String,
        /// The column.
        column: String,
    },
    /// Renames a column; indexes, constraints and foreign keys follow.
    RenameColumn {
        /// The table.
        table: String,
        /// The present name.
        from: String,
        /// The new name.
        to: String,
    },
    /// Gives a column other rules or another type. Values are converted if the types differ.
    ChangeColumn {
        /// The table.
        table: String,
        /// The column as it will be, under its name.
        column: ColumnSchema,
    },
    /// Creates an index.
    AddIndex {
        /// The table.
        table: String,
        /// The index's name.
        name: String,
        /// Its columns.
        columns: Vec<String>,
        /// Whether no two rows may agree in all of them.
        unique: bool,
    },
    /// Drops an index.
    DropIndex {
        /// The table.
        table: String,
        /// The index's name.
        name: String,
    },
    /// Adds a foreign key of several columns.
    AddForeignKey {
        /// The table.
        table: String,
        /// Its columns.
        columns: Vec<String>,
        /// The foreign key.
        key: ForeignKey,
    },
    /// Drops a foreign key of several columns.
    DropForeignKey {
        /// The table.
        table: String,
        /// Its columns.
        columns: Vec<String>,
    },
    /// Changes whether generated keys of deleted rows are [never reused](TableSchema::never_reuses_keys).
    ChangeKeyReuse {
        /// The table.
        table: String,
        /// Whether no key is generated twice.
        never: bool,
    },
    /// Makes a table [searchable](bobak_core::search).
    AddSearch {
        /// The table.
        table: String,
        /// The columns that are searched together.
        columns: Vec<String>,
        /// The language of their texts.
        language: SearchLanguage,
    },
    /// Removes a table's search.
    DropSearch {
        /// The table.
        table: String,
    },
    /// Runs SQL statements, each ended by a semicolon at the end of a line.
    Sql {
        /// The engines that run it, by [name](bobak_core::Engine::name); all with SQL if empty.
        engines: Vec<String>,
        /// The statements.
        text: String,
    },
    /// Runs a function of the program: see [`Migrations::with_function`](super::Migrations::with_function).
    Rust(String),
}

impl MigrationStep {
    /// Whether rows or values are lost.
    #[must_use]
    pub const fn loses_data(&self) -> bool {
        matches!(self, Self::DropTable(_) | Self::DropColumn { .. })
    }

    /// Whether the step drops a generated column, whose values can be computed again.
    pub(super) fn drops_computed(&self, table: &TableSchema) -> bool {
        let Self::DropColumn { column, .. } = self else { return false };
        table.column(column).is_ok_and(|column| table.is_generated(column))
    }

    /// The step without its JSON and SQL, for messages.
    pub(super) fn summary(&self) -> String {
        match self {
            Self::CreateTable(table) => format!("create table {}", table.name()),
            Self::AddColumn { table, column, .. } => format!("add column {table}.{}", column.name),
            Self::ChangeColumn { table, column } => {
                format!("change column {table}.{}", column.name)
            }
            Self::AddIndex { table, name, .. } => format!("add index {table}.{name}"),
            Self::AddForeignKey { table, columns, .. } => {
                format!("add foreign key {table}.{}", columns.join(", "))
            }
            Self::AddSearch { table, .. } => format!("add search {table}"),
            other => other.to_string().lines().take(1).collect(),
        }
    }

    /// Whether the step renames this table, or this `table.column`.
    pub(super) fn is_rename(&self, name: &str, new: &str) -> bool {
        let (full, to) = match self {
            Self::RenameTable { from, to } => (from.clone(), to),
            Self::RenameColumn { table, from, to } => (format!("{table}.{from}"), to),
            _ => return false,
        };
        full.eq_ignore_ascii_case(name) && to.eq_ignore_ascii_case(new)
    }

    /// The table that the step changes, under its name before it.
    #[must_use]
    pub fn table(&self) -> Option<&str> {
        match self {
            Self::CreateTable(table) => Some(table.name()),
            Self::DropTable(table)
            | Self::RenameTable { from: table, .. }
            | Self::AddColumn { table, .. }
            | Self::DropColumn { table, .. }
            | Self::RenameColumn { table, .. }
            | Self::ChangeColumn { table, .. }
            | Self::AddIndex { table, .. }
            | Self::DropIndex { table, .. }
            | Self::AddForeignKey { table, .. }
            | Self::DropForeignKey { table, .. }
            | Self::ChangeKeyReuse { table, .. }
            | Self::AddSearch { table, .. }
            | Self::DropSearch { table } => Some(table),
            Self::Sql { .. } | Self::Rust(_) => None,
        }
    }

    /// Whether the tables are as after the step.
    pub(super) fn is_done(&self, tables: &[TableSchema]) -> bool {
        let column = |table: &str, name: &str| {
            find(tables, table).is_ok_and(|table| table.column(name).is_ok())
        };
        let index = |table: &str, name: &str| {
            let has = |table: &TableSchema| table.indexes().iter().any(|index| index.name == name);
            find(tables, table).is_ok_and(has)
        };
        match self {
            Self::CreateTable(table) => find(tables, table.name()).is_ok(),
            Self::DropTable(table) => find(tables, table).is_err(),
            Self::RenameTable { from, to } => {
                find(tables, from).is_err() && find(tables, to).is_ok()
            }
            Self::AddColumn { table, column: added, fill, .. } => {
                fill.is_none() && column(table, &added.name)
            }
            Self::DropColumn { table, column: dropped } => !column(table, dropped),
            Self::RenameColumn { table, from, to } => !column(table, from) && column(table, to),
            Self::AddIndex { table, name, columns, unique } => {
                let wanted = (name.clone(), columns.clone(), *unique);
                let is_it = |table: &TableSchema| {
                    table.indexes().iter().any(|index| index_parts(table, index) == wanted)
                };
                find(tables, table).is_ok_and(is_it)
            }
            Self::DropIndex { table, name } => !index(table, name),
            Self::AddForeignKey { table, columns, .. } => {
                find(tables, table).is_ok_and(|table| foreign_key_of(table, columns).is_ok())
            }
            Self::DropForeignKey { table, columns } => {
                find(tables, table).is_ok_and(|table| foreign_key_of(table, columns).is_err())
            }
            Self::ChangeKeyReuse { table, never } => {
                find(tables, table).is_ok_and(|table| table.never_reuses_keys() == *never)
            }
            Self::AddSearch { table, columns, language } => {
                let wanted = Some((columns.clone(), *language));
                find(tables, table).is_ok_and(|table| search_of(table) == wanted)
            }
            Self::DropSearch { table } => {
                find(tables, table).is_ok_and(|table| table.search().is_none())
            }
            // Carried out again from where it stopped.
            Self::ChangeColumn { .. } | Self::Sql { .. } | Self::Rust(_) => false,
        }
    }

    /// The step that undoes this one, for the tables before it; `None` if nothing does.
    #[must_use]
    pub fn inverse(&self, before: &[TableSchema]) -> Option<Self> {
        let (table, swapped) = (self.table()?.to_owned(), find(before, self.table()?).ok());
        Some(match self {
            Self::CreateTable(created) => Self::DropTable(created.name().to_owned()),
            Self::DropTable(_) => Self::CreateTable(Arc::new(swapped?.clone())),
            Self::RenameTable { from, to } => {
                Self::RenameTable { from: to.clone(), to: from.clone() }
            }
            Self::AddColumn { column, .. } => {
                Self::DropColumn { table, column: column.name.to_string() }
            }
            Self::DropColumn { column, .. } => {
                let place = swapped?.column(column).ok()?;
                let before = place.checked_sub(1).and_then(|place| swapped?.columns().get(place));
                let after = before.map(|column| column.name.to_string());
                let column = swapped?.columns().get(place)?.clone();
                Self::AddColumn { table, column, after, fill: None }
            }
            Self::RenameColumn { from, to, .. } => {
                Self::RenameColumn { table, from: to.clone(), to: from.clone() }
            }
            Self::ChangeColumn { column, .. } => {
                let place = swapped?.column(&column.name).ok()?;
                Self::ChangeColumn { table, column: swapped?.columns().get(place)?.clone() }
            }
            Self::AddIndex { name, .. } => Self::DropIndex { table, name: name.clone() },
            Self::DropIndex { name, .. } => {
                let index = swapped?.indexes().iter().find(|index| index.name == *name)?;
                let (name, columns, unique) = index_parts(swapped?, index);
                Self::AddIndex { table, name, columns, unique }
            }
            Self::AddForeignKey { columns, .. } => {
                Self::DropForeignKey { table, columns: columns.clone() }
            }
            Self::DropForeignKey { columns, .. } => {
                let key = foreign_key_of(swapped?, columns).ok()?.clone();
                let names = key.columns.iter().filter_map(|at| swapped?.columns().get(*at));
                let columns = names.map(|column| column.name.to_string()).collect();
                Self::AddForeignKey { table, columns, key }
            }
            Self::ChangeKeyReuse { never, .. } => Self::ChangeKeyReuse { table, never: !never },
            Self::AddSearch { .. } => Self::DropSearch { table },
            Self::DropSearch { .. } => {
                let (columns, language) = search_of(swapped?)?;
                Self::AddSearch { table, columns, language }
            }
            Self::Sql { .. } | Self::Rust(_) => return None,
        })
    }
}

/// The table with this name.
pub(super) fn find<'t>(tables: &'t [TableSchema], name: &str) -> Result<&'t TableSchema> {
    tables.iter().find(|table| table.name().eq_ignore_ascii_case(name)).ok_or_else(|| {
        Error::new(ErrorKind::Schema, "there is no such table").in_table(name.to_owned())
    })
}
