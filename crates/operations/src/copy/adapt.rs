//! The table with the rules that the target keeps: the others are listed as lost.

use bobak_core::check::CheckExpression;
use bobak_core::{
    Capabilities, ColumnSchema, OnUpdate, Result, SchemaLoss, TableSchema, TableSchemaBuilder,
    TextOrder,
};
use std::borrow::Cow;

/// The table with the rules that the target keeps.
pub(super) fn adapt(
    table: &TableSchema,
    target: Capabilities,
    losses: &mut Vec<SchemaLoss>,
) -> Result<TableSchema> {
    let mut lose = |what: String| losses.push(SchemaLoss::new(table.name().to_owned(), what));
    let kept = match target.foreign_keys {
        true => keep_actions(table, target, &mut lose)?,
        false => without_keys(table, |own, parent| {
            lose(format!("foreign key {own} to {parent}: the target has no foreign keys"));
            true
        })?,
    };
    let mut builder = kept.clone().into_builder().map_columns(|mut column| {
        // The engine reported it as a loss.
        column.default_sql = None;
        column.text_order = TextOrder::Collation;
        keep_column_rules(&mut column, table, target, &mut lose);
        column
    });
    if kept.never_reuses_keys() && !target.unreused_keys {
        builder = builder.reuse_keys();
        lose("AUTOINCREMENT: the target uses keys of deleted rows again".to_owned());
    }
    if kept.search().is_some() && !target.search {
        builder = builder.no_search();
        lose("full-text search, which the target does not have".to_owned());
    }
    builder.build()
}

/// The table with what the target's foreign keys can do.
fn keep_actions(
    table: &TableSchema,
    target: Capabilities,
    lose: &mut dyn FnMut(String),
) -> Result<TableSchema> {
    let mut keep = |own: &str, deferred: &mut bool, on_update: &mut OnUpdate| {
        if *deferred && !target.deferred_references {
            *deferred = false;
            lose(format!(
                "DEFERRABLE INITIALLY DEFERRED of the foreign key {own}, which the target checks after \
                 each statement"
            ));
        }
        if on_update.changes_rows() && !target.update_actions {
            *on_update = OnUpdate::NoAction;
            lose(format!("ON UPDATE action of the foreign key {own}"));
        }
    };
    let builder: TableSchemaBuilder = table.clone().into_builder().map_columns(|mut column| {
        if let Some(reference) = &mut column.reference {
            keep(&column.name, &mut reference.deferred, &mut reference.on_update);
        }
        column
    });
    let keep_key = |mut key: bobak_core::ForeignKey| {
        let own = table.column_names(&key.columns);
        keep(&own, &mut key.deferred, &mut key.on_update);
        Some(key)
    };
    builder.map_foreign_keys(keep_key).build()
}

/// Takes the CHECK and the expression of a column that the target does not keep.
fn keep_column_rules(
    column: &mut ColumnSchema,
    table: &TableSchema,
    target: Capabilities,
    lose: &mut dyn FnMut(String),
) {
    let is_unknown = |check: &mut Cow<'static, str>| {
        !target.any_check && CheckExpression::parse(check, table).is_err()
    };
    if let Some(check) = column.check.take_if(is_unknown) {
        lose(format!("CHECK ({check}), which the target does not have"));
    }
    if !target.generated_columns
        && let Some(expression) = column.generated.take()
    {
        lose(format!("expression {expression} of the generated column {}", column.name));
    }
}

/// The table without these foreign keys, each named by its columns and the table that it references.
pub(super) fn without_keys(
    table: &TableSchema,
    mut is_dropped: impl FnMut(&str, &str) -> bool,
) -> Result<TableSchema> {
    let builder = table.clone().into_builder().map_columns(|mut column| {
        column.reference = column.reference.filter(|to| !is_dropped(&column.name, &to.table));
        column
    });
    let own = |columns: &[usize]| table.column_names(columns);
    builder
        .map_foreign_keys(|key| (!is_dropped(&own(&key.columns), &key.table)).then_some(key))
        .build()
}
