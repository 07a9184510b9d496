//! Steps that change what a table is searched by.

use super::step::{Action, MigrationStep, alter, find};
use super::table_parts::TableParts;
use bobak_core::search::SearchLanguage;
use bobak_core::{Error, ErrorKind, Result, TableSchema};

/// The names of the columns and the language of a table's search.
pub(super) fn search_of(table: &TableSchema) -> Option<(Vec<String>, SearchLanguage)> {
    let search = table.search()?;
    let columns = search.columns.iter().filter_map(|place| table.columns().get(*place));
    Some((columns.map(|column| column.name.to_string()).collect(), search.language))
}

/// The step that makes a table searchable as this one is.
pub(super) fn search_step(table: &TableSchema) -> Option<MigrationStep> {
    let (columns, language) = search_of(table)?;
    Some(MigrationStep::AddSearch { table: table.name().to_owned(), columns, language })
}

/// Whether two tables are searched by the same columns in the same language.
pub(super) fn is_same_search(a: &TableSchema, b: &TableSchema) -> bool {
    let lower = |table: &TableSchema| {
        let (columns, language) = search_of(table)?;
        let columns = columns.into_iter().map(|name| name.to_ascii_lowercase());
        Some((columns.collect::<Vec<_>>(), language))
    };
    lower(a) == lower(b)
}

/// What a step does that adds or drops a search.
pub(super) fn actions(step: &MigrationStep, tables: &[TableSchema]) -> Result<Vec<Action>> {
    let table = find(tables, step.table().unwrap_or_default())?;
    let mut parts = TableParts::of(table);
    if let MigrationStep::AddSearch { columns, language, .. } = step {
        parts.search = Some((columns.clone(), *language));
    } else if parts.search.take().is_none() {
        let message = "the table is not searched";
        return Err(Error::new(ErrorKind::Schema, message).in_table(table.name().to_owned()));
    }
    alter(table, parts.build()?, &[], &[])
}

/// Whether the tables are as after such a step.
pub(super) fn is_done(step: &MigrationStep, tables: &[TableSchema]) -> bool {
    let wanted = match step {
        MigrationStep::AddSearch { columns, language, .. } => Some((columns.clone(), *language)),
        _ => None,
    };
    find(tables, step.table().unwrap_or_default()).is_ok_and(|table| search_of(table) == wanted)
}

/// Without a column that is dropped.
pub(super) fn without_column(parts: &mut TableParts<'_>, column: &str) {
    if let Some((columns, _)) = &mut parts.search {
        columns.retain(|name| !name.eq_ignore_ascii_case(column));
    }
    parts.search.take_if(|(columns, _)| columns.is_empty());
}
