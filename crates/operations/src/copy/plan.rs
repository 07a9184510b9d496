//! What a copy will create, and what it will lose: known before anything is written.

use super::inferred::{TargetLimits, infer};
use super::order;
use super::table_copy::count;
use bobak_core::check::CheckExpression;
use bobak_core::{
    Capabilities, ColumnSchema, Condition, Engine, Error, ErrorKind, IndexSchema, KeyGeneration,
    Result, SchemaLoss, Select, Source, TableSchema, TableSchemaBuilder, Type, ValueRef,
};
use std::sync::Arc;

/// A table to copy.
pub(super) struct PlannedTable {
    /// The table in the source.
    pub source: Arc<TableSchema>,
    /// The table to create in the target; `None` if it exists there.
    pub created: Option<Arc<TableSchema>>,
    /// Whether columns get other types, which all of their values have.
    pub casts: bool,
    /// The columns whose references name this table, or one that is copied later.
    pub circular: Vec<usize>,
}

/// The tables in the order in which they are copied, and what is lost.
///
/// # Errors
/// `Schema` for a table that does not exist; those of both engines.
pub(super) fn plan(
    from: &dyn Engine,
    to: &dyn Engine,
    names: &[&str],
    types: &[(&str, Type)],
) -> Result<(Vec<PlannedTable>, Vec<SchemaLoss>)> {
    let wanted = order::by_reference(choose(from.tables()?, names)?);
    let there = to.tables()?;
    let exists = |name: &str| there.iter().any(|table| table.name().eq_ignore_ascii_case(name));
    let is_wanted =
        |name: &str| names.is_empty() || names.iter().any(|n| name.eq_ignore_ascii_case(n));
    let mut losses = from.session()?.schema_details()?.losses;
    losses.retain(|loss| is_wanted(&loss.table) && !exists(&loss.table));
    let mut taken: Vec<String> = there.iter().flat_map(index_names).collect();
    let mut tables = Vec::with_capacity(wanted.len());
    let orphans = if from.capabilities().weak_types { orphans(from)? } else { Vec::new() };
    let left: Vec<String> = wanted.iter().map(|table| table.name().to_owned()).collect();
    for (at, table) in wanted.into_iter().enumerate() {
        let later = left.get(at..).unwrap_or_default();
        let circular = circular(&table, later);
        let mut casts = false;
        let (source, created) = if exists(table.name()) {
            (Arc::new(table), None)
        } else {
            let source = Arc::new(with_real_key(from, table, &mut losses)?);
            let typed = typed(from, to, &source, types, &mut losses)?;
            casts = typed.is_some();
            let base = typed.unwrap_or_else(|| TableSchema::clone(&source));
            let kept = without_orphans(base, &orphans, &mut losses)?;
            let adapted = adapt(&kept, to.capabilities(), &mut losses)?;
            (source, Some(Arc::new(with_free_index_names(&adapted, &mut taken)?)))
        };
        tables.push(PlannedTable { source, created, casts, circular });
    }
    losses.dedup();
    Ok((tables, losses))
}

/// The tables with these names, all if there is none.
fn choose(stored: Vec<TableSchema>, names: &[&str]) -> Result<Vec<TableSchema>> {
    if names.is_empty() {
        return Ok(stored);
    }
    for name in names {
        TableSchema::find_in(stored.clone(), name)?;
    }
    let is_wanted =
        |table: &TableSchema| names.iter().any(|n| table.name().eq_ignore_ascii_case(n));
    Ok(stored.into_iter().filter(is_wanted).collect())
}

/// The table with the types that its values have; `None` if they are those of its columns.
fn typed(
    from: &dyn Engine,
    to: &dyn Engine,
    table: &Arc<TableSchema>,
    types: &[(&str, Type)],
    losses: &mut Vec<SchemaLoss>,
) -> Result<Option<TableSchema>> {
    let given = |column: &ColumnSchema| {
        let name = format!("{}.{}", table.name(), column.name);
        let is = |(wanted, _): &&(&str, Type)| {
            wanted.eq_ignore_ascii_case(&column.name) || wanted.eq_ignore_ascii_case(&name)
        };
        types.iter().rev().find(is).map(|(_, ty)| *ty)
    };
    let given: Vec<Option<Type>> = table.columns().iter().map(given).collect();
    let (source, target) = (from.capabilities(), to.capabilities());
    let is_strict = !target.weak_types && source.weak_types;
    if !is_strict && given.iter().all(Option::is_none) {
        return Ok(None);
    }
    let limits = TargetLimits {
        nul_in_text: target.nul_in_text,
        finite_floats: target.finite_floats,
        untyped_columns: target.untyped_columns,
    };
    let mut decisions = infer(from, table, &given, limits)?.into_iter();
    let mut changed = false;
    let typed = TableSchema::clone(table).map_columns(|column| {
        let Some(decision) = decisions.next() else { return column };
        if let Some(loss) = decision.loss {
            losses.push(SchemaLoss::new(table.name().to_owned(), loss));
        }
        changed |= decision.column != column;
        decision.column
    })?;
    Ok(changed.then_some(typed))
}

/// The table with the row number as its key if the declared key has NULLs, which SQLite permits.
fn with_real_key(
    from: &dyn Engine,
    table: TableSchema,
    losses: &mut Vec<SchemaLoss>,
) -> Result<TableSchema> {
    let is_row_number = table.has_integer_key() && table.key_generation() == KeyGeneration::Engine;
    if is_row_number || table.has_hidden_key() || !from.capabilities().weak_types {
        return Ok(table);
    }
    let table = Arc::new(table);
    let session = from.session()?;
    let mut nulls = 0;
    for &column in table.key() {
        let mut select = Select::all(&table);
        select.condition = Some(Condition::IsNull { column });
        nulls += count(&*session, select)?;
    }
    if nulls == 0 {
        return Ok(TableSchema::clone(&table));
    }
    let names: Vec<String> = table
        .key()
        .iter()
        .filter_map(|&at| table.columns().get(at))
        .map(|c| c.name.to_string())
        .collect();
    let is_free = |name: &&str| table.column(name).is_err();
    let Some(row_number) = ["rowid", "_rowid_", "oid"].into_iter().find(is_free) else {
        let message = "rows have NULL as their key, and no name is left for the row number";
        return Err(Error::new(ErrorKind::Unsupported, message).in_table(table.name().to_owned()));
    };
    let noun = if nulls == 1 { "row" } else { "rows" };
    losses.push(SchemaLoss::new(
        table.name().to_owned(),
        format!(
            "PRIMARY KEY ({}), which is NULL in {nulls} {noun}: the copy has the row number as its key, and a \
             unique index",
            names.join(", ")
        ),
    ));
    let mut builder = TableSchema::builder(table.name().to_owned())
        .column(ColumnSchema::new(row_number, Type::I64))
        .key([row_number])
        .hidden_key();
    for (position, column) in table.columns().iter().enumerate() {
        let mut column = column.clone();
        column.nullable |= table.key().contains(&position);
        builder = builder.column(column);
    }
    builder = builder.unique_index(format!("{}_{}_unique", table.name(), names.join("_")), names);
    for (name, columns, unique) in own_indexes(&table) {
        builder =
            if unique { builder.unique_index(name, columns) } else { builder.index(name, columns) };
    }
    builder.build()
}

/// The columns whose foreign keys are broken, with the number of rows: SQLite checks them only if a program turns that on.
fn orphans(from: &dyn Engine) -> Result<Vec<(String, String, i64)>> {
    let mut found = Vec::new();
    let text = "SELECT k.\"table\", l.\"from\", count(*) FROM pragma_foreign_key_check AS k \
                JOIN pragma_foreign_key_list(k.\"table\") AS l ON l.id = k.fkid GROUP BY 1, 2";
    let listed = from.session()?.query(&Source::Sql { text, parameters: &[] }, &mut |row| {
        if let (ValueRef::Text(table), ValueRef::Text(column), ValueRef::Int(rows)) =
            (row.get(0), row.get(1), row.get(2))
        {
            found.push((table.to_owned(), column.to_owned(), rows));
        }
        Ok(true)
    });
    match listed {
        // A foreign key to what is not unique can't be checked, and is none that a schema has.
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::Syntax | ErrorKind::Schema | ErrorKind::Engine
            ) =>
        {
            Ok(Vec::new())
        }
        listed => listed.map(|()| found),
    }
}

/// The table without the foreign keys that its rows break.
fn without_orphans(
    table: TableSchema,
    orphans: &[(String, String, i64)],
    losses: &mut Vec<SchemaLoss>,
) -> Result<TableSchema> {
    let name = table.name().to_owned();
    table.map_columns(|mut column| {
        let is_broken = |(table, broken, _): &&(String, String, i64)| {
            table.eq_ignore_ascii_case(&name) && broken.eq_ignore_ascii_case(&column.name)
        };
        let Some((.., rows)) = orphans.iter().find(is_broken) else { return column };
        if let Some(reference) = column.reference.take() {
            let verb = if *rows == 1 {
                "row refers to a missing row"
            } else {
                "rows refer to missing rows"
            };
            let what = format!("foreign key {}: {rows} {verb} of {}", column.name, reference.table);
            losses.push(SchemaLoss::new(name.clone(), what));
        }
        column
    })
}

/// The columns that reference one of these tables.
fn circular(table: &TableSchema, later: &[String]) -> Vec<usize> {
    let is_later = |column: &ColumnSchema| {
        let reference = column.reference.as_ref();
        reference.is_some_and(|r| later.iter().any(|name| name.eq_ignore_ascii_case(&r.table)))
    };
    let columns = table.columns().iter().enumerate();
    columns.filter(|(_, column)| is_later(column)).map(|(position, _)| position).collect()
}

/// The table with the rules that the target keeps.
fn adapt(
    table: &TableSchema,
    target: Capabilities,
    losses: &mut Vec<SchemaLoss>,
) -> Result<TableSchema> {
    let mut lose = |what: String| losses.push(SchemaLoss::new(table.name().to_owned(), what));
    table.clone().map_columns(|mut column| {
        if let Some(check) = column
            .check
            .take_if(|check| !target.any_check && CheckExpression::parse(check, table).is_err())
        {
            lose(format!("CHECK ({check}), which the target does not have"));
        }
        // The engine reported it as a loss.
        column.default_sql = None;
        if let Some(reference) = &mut column.reference {
            if reference.deferred && !target.deferred_references {
                reference.deferred = false;
                let what = format!(
                    "DEFERRABLE INITIALLY DEFERRED of the foreign key {}, which the target checks \
                     after each statement",
                    column.name
                );
                lose(what);
            }
            if reference.on_update.changes_rows() && !target.update_actions {
                reference.on_update = bobak_core::OnUpdate::NoAction;
                lose(format!("ON UPDATE action of the foreign key {}", column.name));
            }
        }
        column
    })
}

/// The table with index names that no other table has: in some databases they are names of one table, in
/// others of all tables.
fn with_free_index_names(table: &TableSchema, taken: &mut Vec<String>) -> Result<TableSchema> {
    let free = |name: &str, taken: &[String]| {
        let mut name = name.to_owned();
        let is_taken = |name: &str| taken.iter().any(|other| other.eq_ignore_ascii_case(name));
        if is_taken(&name) {
            name = format!("{}_{name}", table.name());
        }
        while is_taken(&name) {
            name.push('_');
        }
        name
    };
    let mut names = Vec::new();
    for (index, ..) in own_indexes(table) {
        let name = free(&index, taken);
        taken.push(name.clone());
        names.push((index, name));
    }
    let renamed = names.iter().any(|(old, new)| old != new);
    if renamed { with_index_names(table, &names) } else { Ok(table.clone()) }
}

fn index_names(table: &TableSchema) -> Vec<String> {
    table.indexes().iter().map(|index| index.name.to_string()).collect()
}

fn with_index_names(table: &TableSchema, names: &[(String, String)]) -> Result<TableSchema> {
    let mut builder = columns_of(table);
    for (index, columns, unique) in own_indexes(table) {
        let name =
            names.iter().find(|(old, _)| *old == index).map_or(index.clone(), |n| n.1.clone());
        builder =
            if unique { builder.unique_index(name, columns) } else { builder.index(name, columns) };
    }
    builder.build()
}

/// The indexes that are not those of unique columns: name, columns, and whether rows are unique in them.
fn own_indexes(table: &TableSchema) -> Vec<(String, Vec<String>, bool)> {
    let is_of_column = |index: &&IndexSchema| {
        matches!(index.columns[..], [position] if index.unique
            && table.columns().get(position).is_some_and(|column| column.unique))
    };
    let parts = |index: &IndexSchema| {
        let columns = index.columns.iter().filter_map(|position| table.columns().get(*position));
        let columns = columns.map(|column| column.name.to_string()).collect();
        (index.name.to_string(), columns, index.unique)
    };
    table.indexes().iter().filter(|index| !is_of_column(index)).map(parts).collect()
}

/// A builder with the columns and the key of a table.
fn columns_of(table: &TableSchema) -> TableSchemaBuilder {
    let columns = table.columns().iter().cloned();
    let builder = TableSchema::builder(table.name().to_owned());
    let builder = columns.fold(builder, TableSchemaBuilder::column);
    let key = table.key().iter().filter_map(|position| table.columns().get(*position));
    let mut builder = builder.key(key.map(|column| column.name.to_string()));
    if table.key_generation() == KeyGeneration::Given {
        builder = builder.given_key();
    }
    builder
}
