//! Indexes over expressions and partial indexes, which schemas do not express: those that the target has too.

use super::plan::PlannedTable;
use bobak_core::sql_token::{SqlSyntax, SqlTokenizer};
use bobak_core::{ComputedIndex, Engine, SchemaLoss, TableSchema};
use bobak_sql::Dialect;

/// Notes how to create the indexes of tables that are created, and removes them from the losses.
pub(super) fn keep(
    to: &dyn Engine,
    tables: &mut [PlannedTable],
    indexes: &[ComputedIndex],
    taken: &mut Vec<String>,
    losses: &mut Vec<SchemaLoss>,
) {
    let dialect = match to.name() {
        "sqlite" => Dialect::Sqlite,
        "postgres" => Dialect::Postgres,
        _ => return,
    };
    for index in indexes {
        let is_its = |table: &&mut PlannedTable| table.source.name() == index.loss.table;
        let Some(table) = tables.iter_mut().find(is_its) else { continue };
        let Some(created) = &table.created else { continue };
        let name = free_name(&index.name, taken);
        let sql = bobak_sql::create_computed_index(dialect, created, index, &name);
        // Literals are those of the source's types.
        if let Some(sql) = sql.ok().filter(|_| has_same_types(index, &table.source, created)) {
            taken.push(name);
            table.indexes.push(sql);
            losses.retain(|loss| *loss != index.loss);
        }
    }
}

/// Whether the columns that the index names have the types of the source.
fn has_same_types(index: &ComputedIndex, source: &TableSchema, created: &TableSchema) -> bool {
    let is_named = |text: &String, name: &str| {
        SqlTokenizer::new(SqlSyntax::Sqlite, text)
            .any(|token| token.name().is_some_and(|other| other.eq_ignore_ascii_case(name)))
    };
    let mut columns = source.columns().iter().filter(|column| {
        index.parts.iter().chain(&index.condition).any(|text| is_named(text, &column.name))
    });
    columns.all(|column| {
        let other = created.column(&column.name).and_then(|place| created.column_at(place));
        other.is_ok_and(|other| (other.ty, other.storage) == (column.ty, column.storage))
    })
}

fn free_name(name: &str, taken: &[String]) -> String {
    let mut name = name.to_owned();
    while taken.iter().any(|other| other.eq_ignore_ascii_case(&name)) {
        name.push('_');
    }
    name
}
