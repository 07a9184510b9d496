//! What a copy will create, and what it will lose: known before anything is written.

use super::adapt::{adapt, without_keys};
use super::inferred::{TargetLimits, infer};
use super::lengths::reject_long_values;
use super::table_copy::count;
use super::{computed_indexes, key_counter, order};
use bobak_core::{
    BrokenForeignKey, ColumnSchema, Condition, Engine, Error, ErrorKind, ForeignKey, InvalidDates,
    KeyGeneration, Result, SchemaDetails, SchemaLoss, Select, TableSchema, Type,
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
    /// The foreign keys that name this table, or one that is copied later.
    pub circular: CircularKeys,
    /// The columns with dates that do not exist, which become NULL.
    pub invalid_dates: Vec<InvalidDates>,
    /// The largest key that the source ever made, if it never reuses keys and has made larger ones than it has.
    pub last_key: Option<i64>,
    /// The statements that create what its schema does not express.
    pub indexes: Vec<String>,
}

/// Foreign keys that can be added only after all rows.
#[derive(Default)]
pub(super) struct CircularKeys {
    /// The columns that have one.
    pub columns: Vec<usize>,
    /// The positions of those that are no column's own.
    pub foreign_keys: Vec<usize>,
}

impl CircularKeys {
    pub(super) const fn is_empty(&self) -> bool {
        self.columns.is_empty() && self.foreign_keys.is_empty()
    }
}

/// The tables in the order in which they are copied, and what is lost.
///
/// # Errors
/// `Schema` for a table that does not exist; `TooLong`; those of both engines.
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
    let SchemaDetails { mut losses, broken_keys, invalid_dates, computed_indexes, .. } =
        from.session()?.schema_details()?;
    losses.retain(|loss| is_wanted(&loss.table) && !exists(&loss.table));
    let mut taken: Vec<String> = there.iter().flat_map(index_names).collect();
    taken.extend(wanted.iter().map(|table| table.name().to_owned()));
    let mut tables = Vec::with_capacity(wanted.len());
    let left: Vec<String> = wanted.iter().map(|table| table.name().to_owned()).collect();
    for (at, table) in wanted.into_iter().enumerate() {
        let later = left.get(at..).unwrap_or_default();
        let circular = circular(&table, later);
        let invalid_dates = list_invalid_dates(&table, &invalid_dates, &mut losses);
        let (mut casts, mut last_key) = (false, None);
        let (source, created) = if exists(table.name()) {
            (Arc::new(table), None)
        } else {
            let source = Arc::new(with_real_key(from, table, &mut losses)?);
            let has_invalid_dates = !invalid_dates.is_empty();
            let typed = typed((from, to), &source, types, has_invalid_dates, &mut losses)?;
            casts = typed.is_some();
            let base = typed.unwrap_or_else(|| TableSchema::clone(&source));
            let kept = without_broken_keys(base, &broken_keys, &mut losses)?;
            let adapted = adapt(&kept, to.capabilities(), &mut losses)?;
            if adapted.never_reuses_keys() {
                last_key = key_counter::last_key(from, &source, &mut losses)?;
            }
            (source, Some(Arc::new(with_free_index_names(&adapted, &mut taken))))
        };
        let indexes = Vec::new();
        tables.push(PlannedTable {
            source,
            created,
            casts,
            circular,
            invalid_dates,
            last_key,
            indexes,
        });
    }
    pass_on_types(&mut tables, &there)?;
    if !to.capabilities().weak_types && from.name() != to.name() {
        drop_mixed_keys(&mut tables, &there, &mut losses)?;
    }
    // The positions of a table that lost keys, or got one, are others than in the source.
    for (at, table) in tables.iter_mut().enumerate() {
        if let Some(created) = &table.created {
            table.circular = circular(created, left.get(at..).unwrap_or_default());
        }
    }
    computed_indexes::keep(to, &mut tables, &computed_indexes, &mut taken, &mut losses);
    losses.dedup();
    reject_long_values(from, to, &tables, &there)?;
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
    (from, to): (&dyn Engine, &dyn Engine),
    table: &Arc<TableSchema>,
    types: &[(&str, Type)],
    has_invalid_dates: bool,
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
    let has = |types: &[Type]| table.columns().iter().any(|column| types.contains(&column.ty));
    // A TINYINT(1) of MariaDB has every small integer, and a TIME up to 838 hours.
    let is_strict = !target.weak_types && source.weak_types
        || from.name() == "mysql" && has(&[Type::Bool, Type::Time])
        || !target.untyped_columns && has(&[Type::Any])
        || target.finite_floats && !source.finite_floats && has(&[Type::F32, Type::F64])
        || !target.nul_in_text && source.nul_in_text && has(&[Type::Text]);
    if !is_strict && given.iter().all(Option::is_none) {
        return Ok(None);
    }
    let limits = TargetLimits {
        nul_in_text: target.nul_in_text,
        finite_floats: target.finite_floats,
        untyped_columns: target.untyped_columns,
    };
    let mut decisions = infer(from, table, &given, limits, has_invalid_dates)?.into_iter();
    let mut changed = false;
    let typed = TableSchema::clone(table).map_columns(|column| {
        let Some(decision) = decisions.next() else { return column };
        if let Some(loss) = decision.loss {
            // Texts in a column of bytes become bytes: its type stays, its values do not.
            changed = true;
            losses.push(SchemaLoss::new(table.name().to_owned(), loss));
        }
        changed |= decision.column != column || decision.is_converted;
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
    let key = table.key().to_vec();
    let mut position = 0;
    let builder = TableSchema::clone(&table).into_builder().map_columns(|mut column| {
        column.nullable |= key.contains(&position);
        position += 1;
        column
    });
    let index = format!("{}_{}_unique", table.name(), names.join("_"));
    let builder = builder.first_column(ColumnSchema::new(row_number, Type::I64));
    builder.key([row_number]).hidden_key().unique_index(index, names).build()
}

/// The table without the foreign keys that its rows break.
fn without_broken_keys(
    table: TableSchema,
    broken_keys: &[BrokenForeignKey],
    losses: &mut Vec<SchemaLoss>,
) -> Result<TableSchema> {
    let name = table.name().to_owned();
    let breaks = |own: &str, parent: &str| {
        let is_broken = |broken: &&BrokenForeignKey| {
            broken.table.eq_ignore_ascii_case(&name)
                && broken.columns.eq_ignore_ascii_case(own)
                && broken.parent.eq_ignore_ascii_case(parent)
        };
        let Some(BrokenForeignKey { rows, .. }) = broken_keys.iter().find(is_broken) else {
            return false;
        };
        let verb = match rows {
            1 => "row refers to a missing row",
            _ => "rows refer to missing rows",
        };
        let what = format!("foreign key {own}: {rows} {verb} of {parent}");
        losses.push(SchemaLoss::new(name.clone(), what));
        true
    };
    without_keys(&table, breaks)
}

/// The dates of the table that do not exist, listed as lost.
fn list_invalid_dates(
    table: &TableSchema,
    invalid: &[InvalidDates],
    losses: &mut Vec<SchemaLoss>,
) -> Vec<InvalidDates> {
    let own: Vec<_> = invalid.iter().filter(|dates| dates.table == table.name()).cloned().collect();
    losses.extend(own.iter().map(|InvalidDates { column, rows, .. }| {
        let noun = if *rows == 1 { "row" } else { "rows" };
        let fate = match may_be_null(table, column) {
            true => "they become NULL",
            false => "it may not be NULL, so that it cannot be copied",
        };
        let what = format!(
            "dates of column {column} that do not exist, such as 0000-00-00, in {rows} {noun}: {fate}"
        );
        SchemaLoss::new(table.name().to_owned(), what)
    }));
    own
}

pub(super) fn may_be_null(table: &TableSchema, column: &str) -> bool {
    let column = table.column(column).ok().and_then(|at| table.columns().get(at));
    column.is_some_and(|column| column.nullable)
}

/// Gives all foreign keys the [types that they reference](with_referenced_types): from key to foreign key, along at most
/// as many tables as there are.
fn pass_on_types(tables: &mut [PlannedTable], there: &[TableSchema]) -> Result<()> {
    for _ in 0..tables.len() {
        let mut is_changed = false;
        for at in 0..tables.len() {
            let all = tables.iter().filter_map(|table| table.created.as_deref());
            let all: Vec<&TableSchema> = all.chain(there).collect();
            let created = tables.get(at).and_then(|table| table.created.as_deref());
            let changed = created.map(|table| with_referenced_types(table, &all)).transpose()?;
            if let (Some(Some(changed)), Some(table)) = (changed, tables.get_mut(at)) {
                table.created = Some(Arc::new(changed));
                is_changed = true;
            }
        }
        if !is_changed {
            break;
        }
    }
    Ok(())
}

/// The table with integers in foreign keys that have the types of those that they reference, as MariaDB wants it: keys
/// that the engine makes are wider here than in the databases of other programs. `None` if they have.
fn with_referenced_types(table: &TableSchema, all: &[&TableSchema]) -> Result<Option<TableSchema>> {
    let mut types = Vec::new();
    for key in table.all_foreign_keys() {
        let is_parent = |other: &&&TableSchema| other.name().eq_ignore_ascii_case(&key.table);
        let Some(parent) = all.iter().find(is_parent) else { continue };
        for (&place, referenced) in key.columns.iter().zip(&key.referenced) {
            let wanted = parent.column_at(parent.column(referenced)?)?.ty;
            let ty = table.column_at(place)?.ty;
            if wanted != ty && wanted.is_integer() && ty.is_integer() {
                types.push((place, wanted));
            }
        }
    }
    if types.is_empty() {
        return Ok(None);
    }
    let mut columns = 0..;
    let changed = table.clone().map_columns(|mut column| {
        let place = columns.next();
        if let Some((_, ty)) = types.iter().find(|(at, _)| Some(*at) == place) {
            column.ty = *ty;
        }
        column
    });
    changed.map(Some)
}

/// Drops the foreign keys whose columns have other types than those that they reference: PostgreSQL and SQLite compare
/// such values, other databases do not.
fn drop_mixed_keys(
    tables: &mut [PlannedTable],
    there: &[TableSchema],
    losses: &mut Vec<SchemaLoss>,
) -> Result<()> {
    for at in 0..tables.len() {
        let all: Vec<&TableSchema> =
            tables.iter().filter_map(|table| table.created.as_deref()).chain(there).collect();
        let Some(table) = tables.get(at).and_then(|table| table.created.clone()) else { continue };
        let mut mixed = Vec::new();
        for key in table.all_foreign_keys() {
            if let Some(types) = mixed_types(&table, &key, &all)? {
                let own = table.column_names(&key.columns);
                let what = format!("foreign key {own}: {types} of table {}", key.table);
                losses.push(SchemaLoss::new(table.name().to_owned(), what));
                mixed.push((own, key.table.to_string()));
            }
        }
        let is_mixed = |own: &str, parent: &str| mixed.iter().any(|(o, p)| o == own && p == parent);
        if let (false, Some(planned)) = (mixed.is_empty(), tables.get_mut(at)) {
            planned.created = Some(Arc::new(without_keys(&table, is_mixed)?));
        }
    }
    Ok(())
}

/// What is said of a foreign key if types differ.
fn mixed_types(
    table: &TableSchema,
    key: &ForeignKey,
    all: &[&TableSchema],
) -> Result<Option<String>> {
    let is_parent = |other: &&&TableSchema| other.name().eq_ignore_ascii_case(&key.table);
    let Some(parent) = all.iter().find(is_parent) else { return Ok(None) };
    for (&place, referenced) in key.columns.iter().zip(&key.referenced) {
        let wanted = parent.column_at(parent.column(referenced)?)?.ty;
        let ty = table.column_at(place)?.ty;
        if ty != wanted {
            let (own, its) = (ty.name(), wanted.name());
            return Ok(Some(format!("it is {own}, but refers to {its} in column {referenced}")));
        }
    }
    Ok(None)
}

/// The foreign keys that reference one of these tables.
fn circular(table: &TableSchema, later: &[String]) -> CircularKeys {
    let is_later = |parent: &str| later.iter().any(|name| name.eq_ignore_ascii_case(parent));
    let column =
        |column: &ColumnSchema| column.reference.as_ref().is_some_and(|r| is_later(&r.table));
    let keys = table.foreign_keys();
    CircularKeys {
        columns: positions(table.columns(), column),
        foreign_keys: positions(keys, |key| is_later(&key.table)),
    }
}

fn positions<T>(all: &[T], wanted: impl Fn(&T) -> bool) -> Vec<usize> {
    all.iter().enumerate().filter(|(_, one)| wanted(one)).map(|(position, _)| position).collect()
}

/// The table with index names that no table and no other index has: in some databases they are names of one table, in
/// others of all tables and indexes.
fn with_free_index_names(table: &TableSchema, taken: &mut Vec<String>) -> TableSchema {
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
    for index in table.indexes() {
        let is_of_column = matches!(index.columns[..], [position] if index.unique
            && table.columns().get(position).is_some_and(|column| column.unique));
        if !is_of_column {
            let name = free(&index.name, taken);
            taken.push(name.clone());
            names.push((index.name.to_string(), name));
        }
    }
    let name = |old: &str| names.iter().find(|(name, _)| name == old).map(|(_, new)| new.clone());
    table.clone().rename_indexes(name)
}

fn index_names(table: &TableSchema) -> Vec<String> {
    table.indexes().iter().map(|index| index.name.to_string()).collect()
}
