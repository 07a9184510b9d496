//! What the steps of migrations do to the tables.

use super::sql_steps::syntax_of;
use super::statements::statements;
use super::step::{MigrationStep, find};
use super::table_parts::{TableParts, foreign_key_of};
use bobak_core::{
    CONVERTED, ColumnSchema, Error, ErrorKind, ForeignKey, Result, SchemaChange, TableAlteration,
    TableSchema, Value,
};
use std::sync::Arc;

/// What a step asks of a session.
#[derive(Debug)]
pub(super) enum Action {
    Change(SchemaChange),
    /// Sets the first column of each row to the value of the second one, converted.
    Convert {
        table: Arc<TableSchema>,
        from: usize,
        to: usize,
    },
    /// As [`Convert`](Self::Convert), of the change log of this table: values that do not convert become NULL.
    ConvertLog {
        table: Arc<TableSchema>,
        from: usize,
        to: usize,
    },
    /// Records for replicas that this tracked table is dropped.
    NoteDrop(String),
    /// Sets the column to this value in each row where it is NULL.
    Fill {
        table: Arc<TableSchema>,
        column: usize,
        value: Value<'static>,
    },
    Sql(String),
    Rust(String),
}

/// The step that drops the column of values that could not all be converted.
pub(super) fn drop_converted(table: &TableSchema) -> MigrationStep {
    MigrationStep::DropColumn { table: table.name().to_owned(), column: CONVERTED.to_owned() }
}

impl MigrationStep {
    /// What the step does to these tables, in order. A part that a killed process made already is left out.
    pub(super) fn actions(&self, tables: &[TableSchema], resumed: bool) -> Result<Vec<Action>> {
        if resumed && self.is_done(tables) {
            return Ok(Vec::new());
        }
        match self {
            Self::CreateTable(table) => change(SchemaChange::CreateTable(Arc::clone(table))),
            Self::DropTable(table) => {
                change(SchemaChange::DropTable(Arc::new(find(tables, table)?.clone())))
            }
            Self::Sql { engines, text } => {
                let syntax = syntax_of(engines.first().map_or("", String::as_str));
                Ok(statements(syntax, text).into_iter().map(Action::Sql).collect())
            }
            Self::Rust(name) => Ok(vec![Action::Rust(name.clone())]),
            Self::RenameTable { .. }
            | Self::RenameColumn { .. }
            | Self::AddColumn { .. }
            | Self::DropColumn { .. }
            | Self::ChangeColumn { .. } => self.column_actions(tables, resumed),
            Self::AddIndex { table, .. }
            | Self::DropIndex { table, .. }
            | Self::AddForeignKey { table, .. }
            | Self::DropForeignKey { table, .. }
            | Self::ChangeKeyReuse { table, .. }
            | Self::AddSearch { table, .. }
            | Self::DropSearch { table } => {
                let table = find(tables, table)?;
                alter(table, self.with_other_rules(table)?, &[], &[])
            }
        }
    }

    /// The actions of a step that changes the name of a table or its columns; none for other steps.
    fn column_actions(&self, tables: &[TableSchema], resumed: bool) -> Result<Vec<Action>> {
        match self {
            Self::RenameTable { from, to } => {
                let table = find(tables, from)?;
                alter(table, table.rename(to, |_| None)?, &[], &[])
            }
            Self::RenameColumn { table, from, to } => {
                let table = find(tables, table)?;
                table.column(from)?;
                let new = |name: &str| name.eq_ignore_ascii_case(from).then_some(to.as_str());
                alter(table, table.rename(table.name(), new)?, &[(from, to)], &[])
            }
            Self::DropColumn { table, column } => drop_column(find(tables, table)?, column),
            // Killed before the column lost the default that filled it.
            Self::AddColumn { table, column, .. }
                if resumed && find(tables, table)?.column(&column.name).is_ok() =>
            {
                change_column(find(tables, table)?, column, TableAlteration::keeps_values)
            }
            Self::AddColumn { table, column, after, fill } => {
                add_column(find(tables, table)?, column, after.as_deref(), fill.as_ref())
            }
            Self::ChangeColumn { table, column } => {
                change_column(find(tables, table)?, column, TableAlteration::keeps_values)
            }
            _ => Ok(Vec::new()),
        }
    }

    /// The table with the indexes, foreign keys, key or search that the step gives it; after other steps as it is.
    fn with_other_rules(&self, table: &TableSchema) -> Result<TableSchema> {
        let mut parts = TableParts::of(table);
        let builder = || table.clone().into_builder();
        match self {
            Self::AddIndex { name, columns, unique, .. } => {
                parts.indexes.push((name.clone(), columns.clone(), *unique));
                parts.build()
            }
            Self::DropIndex { name, .. } => parts.without_index(name)?.build(),
            Self::AddForeignKey { columns, key, .. } => {
                builder().foreign_key(columns.clone(), key.clone()).build()
            }
            Self::DropForeignKey { columns, .. } => {
                let dropped = foreign_key_of(table, columns)?;
                let keeps = |key: ForeignKey| Some(key).filter(|key| key != dropped);
                builder().map_foreign_keys(keeps).build()
            }
            Self::ChangeKeyReuse { never: true, .. } => builder().never_reuse_keys().build(),
            Self::ChangeKeyReuse { never: false, .. } => builder().reuse_keys().build(),
            Self::AddSearch { columns, language, .. } => {
                parts.search = Some((columns.clone(), *language));
                parts.build()
            }
            Self::DropSearch { .. } => parts.without_search()?.build(),
            _ => parts.build(),
        }
    }
}

fn change(change: SchemaChange) -> Result<Vec<Action>> {
    Ok(vec![Action::Change(change)])
}

fn drop_column(table: &TableSchema, column: &str) -> Result<Vec<Action>> {
    let place = table.column(column)?;
    let mut parts = TableParts::of(table);
    parts.columns.remove(place);
    parts.indexes.retain(|(_, columns, _)| !has(columns, column));
    parts.drop_from_search(column);
    alter(table, parts.build()?, &[], &[column])
}

fn has(names: &[String], name: &str) -> bool {
    names.iter().any(|other| other.eq_ignore_ascii_case(name))
}

pub(super) fn alter(
    from: &TableSchema,
    to: TableSchema,
    renamed: &[(&str, &str)],
    dropped: &[&str],
) -> Result<Vec<Action>> {
    let change = TableAlteration::new(Arc::new(from.clone()), Arc::new(to), renamed, dropped)?;
    Ok(vec![Action::Change(SchemaChange::AlterTable(Arc::new(change)))])
}

fn add_column(
    table: &TableSchema,
    column: &ColumnSchema,
    after: Option<&str>,
    fill: Option<&Value<'static>>,
) -> Result<Vec<Action>> {
    let mut parts = TableParts::of(table);
    let place = match after {
        Some(after) => table.column(after)? + 1,
        None => parts.columns.len(),
    };
    let Some(fill) = fill else {
        parts.columns.insert(place, column.clone());
        return alter(table, parts.build()?, &[], &[]);
    };
    // Existing rows get a default, which the column then loses.
    let filled = ColumnSchema { default: Some(column.accept(fill.clone())?), ..column.clone() };
    parts.columns.insert(place, filled);
    let between = parts.build()?;
    let mut actions = alter(table, between.clone(), &[], &[])?;
    let mut parts = TableParts::of(&between);
    if let Some(slot) = parts.columns.get_mut(place) {
        *slot = column.clone();
    }
    actions.append(&mut alter(&between, parts.build()?, &[], &[])?);
    Ok(actions)
}

/// The column with the default of the former one if that is an expression, which the text of a step does not have.
fn with_computed_default(old: &ColumnSchema, column: &ColumnSchema) -> ColumnSchema {
    let mut column = column.clone();
    let has_none = column.default.is_none() && column.default_sql.is_none();
    if has_none && column.generated.is_none() && column.ty == old.ty {
        column.default_sql.clone_from(&old.default_sql);
    }
    column
}

/// The actions that change a column: values are converted into another column unless `keeps` says that they stay.
pub(super) fn change_column(
    table: &TableSchema,
    column: &ColumnSchema,
    keeps: impl Fn(&ColumnSchema, &ColumnSchema) -> bool,
) -> Result<Vec<Action>> {
    let place = table.column(&column.name)?;
    let mut parts = TableParts::of(table);
    let old = table.column_at(place)?;
    let column = &with_computed_default(old, column);
    let replace = |parts: &mut TableParts<'_>, column: &ColumnSchema| {
        if let Some(slot) = parts.columns.get_mut(place) {
            *slot = column.clone();
        }
    };
    replace(&mut parts, column);
    parts.columns.retain(|column| column.name != CONVERTED);
    let to = parts.build()?;
    if keeps(old, column) {
        return alter(table, to, &[], &[]);
    }
    if table.key().contains(&place) {
        let message = "the type of a key cannot change: create another table and copy the rows";
        let error = Error::new(ErrorKind::Unsupported, message);
        return Err(error.in_table(table.name().to_owned()).in_column(column.name.to_string()));
    }
    let mut actions = Vec::new();
    // A killed process may have added the column.
    let between = match table.column(CONVERTED) {
        Ok(_) => Arc::new(table.clone()),
        Err(_) => {
            let mut converted = ColumnSchema::new(CONVERTED, column.ty).nullable(true);
            converted.storage = column.storage;
            converted.declared.clone_from(&column.declared);
            converted.max_chars = column.max_chars;
            let mut parts = TableParts::of(table);
            parts.columns.push(converted);
            let between = parts.build()?;
            actions.append(&mut alter(table, between.clone(), &[], &[])?);
            Arc::new(between)
        }
    };
    let converted = between.column(CONVERTED)?;
    actions.push(Action::Convert { table: Arc::clone(&between), from: place, to: converted });
    let name = &*column.name;
    let swap = TableAlteration::new(between, Arc::new(to), &[(CONVERTED, name)], &[name])?;
    actions.push(Action::Change(SchemaChange::AlterTable(Arc::new(swap))));
    Ok(actions)
}
