//! Rows that new rules forbid. Firebird does not compare them with a new CHECK, and a rule that it rejects at the commit of
//! the last transaction would be too late.

use super::kept_column::{KeptColumn, new_values, with_added_columns};
use super::table_change::TableChange;
use crate::columns::{exact, length_limit};
use crate::connection::Connection;
use crate::names::Names;
use crate::table_rules::{RuleKind, TableRule, check_error};
use crate::values::is_text;
use bobak_core::{ColumnSchema, Error, ErrorKind, LengthLimit, Result, TableSchema};
use bobak_engine_common::{StatementDialect, check_condition};

/// A query, and the error if it has a row.
type RowCheck = (String, Error);

/// Fails if rows do not fit the new form.
///
/// # Errors
/// `Constraint`, `TooLong`, `Duplicate`.
pub(super) fn run(connection: &mut Connection, change: &TableChange) -> Result<()> {
    for (sql, error) in all(change)? {
        if connection.has_row(change.alteration.from(), &sql)? {
            return Err(error);
        }
    }
    Ok(())
}

/// Fails if the values that old rows get in new columns break the CHECKs of these.
///
/// # Errors
/// `Constraint`.
pub(super) fn run_added(
    connection: &mut Connection,
    table: &TableSchema,
    whole: &TableSchema,
) -> Result<()> {
    let (names, rows) = (connection.names, with_added_columns(connection.names, table, whole)?);
    for (place, column) in whole.columns().iter().enumerate() {
        if table.column(&column.name).is_err()
            && let Some((sql, error)) = broken_check(names, whole, place, &rows)?
            && connection.has_row(table, &sql)?
        {
            return Err(error);
        }
    }
    Ok(())
}

fn all(change: &TableChange) -> Result<Vec<RowCheck>> {
    let (names, to) = (change.names, change.alteration.to());
    let mut checks = lengths(change);
    let rows = new_rows(change)?;
    checks.extend(change.kept.iter().filter_map(|column| required(change, column)));
    let old = &change.old_rules;
    for rule in change.new_rules.iter().filter(|rule| !rule.is_one_of(old)) {
        match rule.kind {
            RuleKind::Check(place) => checks.extend(broken_check(names, to, place, &rows)?),
            RuleKind::Index(place) => checks.extend(duplicates(names, to, place, &rows)),
            RuleKind::Reference(_) => checks.extend(orphans(change, rule, &rows)),
            RuleKind::Key => {}
        }
    }
    Ok(checks)
}

/// The rows as they will be, as a table of a query.
fn new_rows(change: &TableChange) -> Result<String> {
    let to = change.alteration.to();
    let values = new_values(change)?.into_iter().enumerate();
    let values = values.map(|(at, value)| format!("{value} AS {}", change.names.column(to, at)));
    let from = change.names.quoted(change.alteration.from().name());
    Ok(format!("(SELECT {} FROM {from})", values.collect::<Vec<_>>().join(", ")))
}

/// A query for rows of which the CHECK of a column is not true.
///
/// # Errors
/// As [`condition`].
pub(crate) fn broken_check(
    names: Names,
    table: &TableSchema,
    place: usize,
    rows: &str,
) -> Result<Option<RowCheck>> {
    let column = table.column_at(place)?;
    let Some(condition) = check_condition(&names, table, column)? else { return Ok(None) };
    let sql = format!("SELECT FIRST 1 1 FROM {rows} WHERE NOT ({condition})");
    Ok(Some((sql, check_error(table, column))))
}

/// Values that a unique index would have twice.
fn duplicates(names: Names, table: &TableSchema, place: usize, rows: &str) -> Option<RowCheck> {
    let index = table.indexes().get(place).filter(|index| index.unique)?;
    let value = |place: &usize| {
        let is_exact = names.folded(table, *place).is_some()
            || table.columns().get(*place).is_some_and(is_text);
        if is_exact { exact(names, table, *place) } else { names.column(table, *place) }
    };
    let columns: Vec<String> = index.columns.iter().map(|at| names.column(table, *at)).collect();
    let values: Vec<String> = index.columns.iter().map(value).collect();
    let sql = format!(
        "SELECT FIRST 1 COUNT(*) FROM {rows} WHERE {} IS NOT NULL GROUP BY {} HAVING COUNT(*) > 1",
        columns.join(" IS NOT NULL AND "),
        values.join(", ")
    );
    let message = "two rows have the same value, which must be unique";
    let error = Error::new(ErrorKind::Duplicate, message).in_table(table.name().to_owned());
    Some((sql, error.in_columns(table, &index.columns)))
}

/// Rows that reference others which do not exist.
fn orphans(change: &TableChange, rule: &TableRule, rows: &str) -> Option<RowCheck> {
    let (names, to) = (change.names, change.alteration.to());
    let keys = to.all_foreign_keys();
    let key = keys.iter().find(|key| rule.references(&key.table) && key.columns == rule.columns)?;
    let parents = match key.table.eq_ignore_ascii_case(to.name()) {
        true => rows.to_owned(),
        false => names.quoted(&key.table),
    };
    let pairs = key.columns.iter().zip(&key.referenced);
    let pairs = pairs
        .map(|(own, theirs)| format!("P.{} = R.{}", names.quoted(theirs), names.column(to, *own)));
    let columns = key.columns.iter().map(|own| format!("R.{} IS NOT NULL", names.column(to, *own)));
    let sql = format!(
        "SELECT FIRST 1 1 FROM {rows} R WHERE {} AND NOT EXISTS (SELECT 1 FROM {parents} P WHERE {})",
        columns.collect::<Vec<_>>().join(" AND "),
        pairs.collect::<Vec<_>>().join(" AND ")
    );
    let error = Error::missing_parent(to.name(), &to.column_names(&key.columns), &key.table);
    Some((sql, error))
}

fn located(change: &TableChange, column: &ColumnSchema, kind: ErrorKind, message: String) -> Error {
    let error = Error::new(kind, message).in_table(change.alteration.from().name().to_owned());
    error.in_column(column.name.to_string())
}

/// Rows with NULL in a column that becomes required.
fn required(change: &TableChange, kept: &KeptColumn) -> Option<RowCheck> {
    let column = change.alteration.to().columns().get(kept.new)?;
    if kept.is_required || column.nullable {
        return None;
    }
    let before = change.alteration.from().columns().get(kept.old)?;
    let message = "some rows have NULL in this column, which must not be NULL any more";
    let error = located(change, before, ErrorKind::Constraint, message.to_owned());
    let sql = format!(
        "SELECT FIRST 1 1 FROM {} WHERE {} IS NULL",
        change.names.quoted(change.alteration.from().name()),
        crate::names::quoted(&kept.name)
    );
    Some((sql, error))
}

/// Texts and bytes that are too long for the new form.
fn lengths(change: &TableChange) -> Vec<RowCheck> {
    let (from, to) = (change.alteration.from(), change.alteration.to());
    let table = change.names.quoted(from.name());
    let mut checks = Vec::new();
    for kept in &change.kept {
        let columns = from.columns().get(kept.old).zip(to.columns().get(kept.new));
        let Some((before, after)) = columns else { continue };
        let limits = (length_limit(from, kept.old), length_limit(to, kept.new));
        if (before.max_chars, limits.0) == (after.max_chars, limits.1) {
            continue;
        }
        let name = crate::names::quoted(&kept.name);
        let text = match kept.sql_type.contains("OCTETS") && is_text(after) {
            true => format!("CAST({name} AS VARCHAR(1020) CHARACTER SET UTF8)"),
            false => name.clone(),
        };
        let mut add = |length: String, most: u32, unit: &str| {
            let message = format!("some rows have values of more than {most} {unit}");
            let error = located(change, before, ErrorKind::TooLong, message);
            checks.push((format!("SELECT FIRST 1 1 FROM {table} WHERE {length} > {most}"), error));
        };
        if let Some(max) = after.max_chars.filter(|_| is_text(after)) {
            add(format!("CHAR_LENGTH({text})"), max, "characters");
        }
        match limits.1 {
            Some(LengthLimit::Bytes(most)) => add(format!("OCTET_LENGTH({name})"), most, "bytes"),
            Some(LengthLimit::Characters(most)) => {
                add(format!("CHAR_LENGTH({text})"), most, "characters");
            }
            _ => {}
        }
    }
    checks
}
