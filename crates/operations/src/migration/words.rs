//! Steps in words, for their readers.

use super::step::MigrationStep;
use bobak_core::{ColumnSchema, OnDelete, TableSchema};
use bobak_engine_common::value_to_json;

impl MigrationStep {
    /// What the step does, as a sentence.
    ///
    /// ```
    /// use bobak_operations::migration::MigrationStep;
    /// let (table, from, to) = ("member".into(), "bio".into(), "about".into());
    /// let step = MigrationStep::RenameColumn { table, from, to };
    /// assert_eq!(step.in_words(), "Rename the column bio of member to about.");
    /// ```
    #[must_use]
    pub fn in_words(&self) -> String {
        match self {
            Self::CreateTable(table) => created(table),
            Self::DropTable(table) => format!("Drop the table {table} with all of its rows."),
            Self::RenameTable { from, to } => format!("Rename the table {from} to {to}."),
            Self::AddColumn { table, column, fill, .. } => {
                let filled = fill.as_ref().map_or_else(String::new, |fill| {
                    format!(" Existing rows get {}.", value_to_json(fill.as_ref()))
                });
                format!("Add the column {} to {table}.{filled}", described(column))
            }
            Self::DropColumn { table, column } => {
                format!("Drop the column {column} of {table} with all of its values.")
            }
            Self::RenameColumn { table, from, to } => {
                format!("Rename the column {from} of {table} to {to}.")
            }
            Self::ChangeColumn { table, column } => {
                format!("Change the column of {table} to {}.", described(column))
            }
            Self::AddIndex { table, name, columns, unique } => {
                let kind = if *unique { "unique index" } else { "index" };
                format!("Create the {kind} {name} on {} of {table}.", columns.join(", "))
            }
            Self::DropIndex { table, name } => format!("Drop the index {name} of {table}."),
            Self::AddForeignKey { table, columns, key } => {
                let (columns, referenced) = (columns.join(", "), key.referenced.join(", "));
                format!(
                    "Add the foreign key ({columns}) of {table} to {} ({referenced}).",
                    key.table
                )
            }
            Self::DropForeignKey { table, columns } => {
                format!("Drop the foreign key ({}) of {table}.", columns.join(", "))
            }
            Self::ChangeKeyReuse { table, never } => {
                let how = if *never { "Never reuse" } else { "Reuse" };
                format!("{how} the keys of deleted rows of {table}.")
            }
            Self::AddSearch { table, columns, language } => {
                let columns = columns.join(", ");
                format!("Make {columns} of {table} searchable; language: {}.", language.name())
            }
            Self::DropSearch { table } => format!("Remove the full-text search of {table}."),
            Self::Sql { engines, .. } if engines.is_empty() => "Run SQL.".to_owned(),
            Self::Sql { engines, .. } => format!("Run SQL, on {} only.", engines.join(", ")),
            Self::Rust(name) => format!("Run the program's function {name}."),
        }
    }
}

fn created(table: &TableSchema) -> String {
    let columns: Vec<_> = table.columns().iter().map(described).collect();
    let key = table.key().iter().filter_map(|place| table.columns().get(*place));
    let key: Vec<_> = key.map(|column| &*column.name).collect();
    let key =
        if key.is_empty() { String::new() } else { format!(" Its key is {}.", key.join(", ")) };
    format!("Create the table {}: {}.{key}", table.name(), columns.join("; "))
}

fn described(column: &ColumnSchema) -> String {
    let mut text = format!("{} ({}", column.name, column.ty);
    if let Some(max) = column.max_chars {
        text.push_str(&format!(" of at most {max} characters"));
    }
    text.push_str(if column.nullable { ", may be NULL" } else { ", never NULL" });
    if column.unique {
        text.push_str(", unique");
    }
    if let Some(default) = &column.default {
        text.push_str(&format!(", {} by default", value_to_json(default.as_ref())));
    }
    if let Some(expression) = &column.generated {
        text.push_str(&format!(", computed as {expression}"));
    }
    if let Some(check) = &column.check {
        text.push_str(&format!(", only if {check}"));
    }
    if let Some(reference) = &column.reference {
        text.push_str(&format!(", refers to {}.{}", reference.table, reference.column));
        text.push_str(match reference.on_delete {
            OnDelete::Cascade => " and is deleted with it",
            OnDelete::SetNull => " and becomes NULL when that is deleted",
            _ => "",
        });
    }
    text.push(')');
    text
}
