//! The statements for single rows.

use crate::columns::equal;
use crate::names::Names;
use bobak_core::{FieldSet, TableSchema};

/// The columns that an insert writes.
pub(crate) fn written(table: &TableSchema, made: bool) -> impl Iterator<Item = usize> + '_ {
    (0..table.columns().len()).filter(move |place| !(made && table.key().contains(place)))
}

pub(crate) fn insert(names: Names, table: &TableSchema, made: bool) -> String {
    let places: Vec<usize> = written(table, made).collect();
    let name = names.quoted(table.name());
    let values = match places.is_empty() {
        true => "DEFAULT VALUES".to_owned(),
        false => {
            let marks = vec!["?"; places.len()].join(", ");
            format!("({}) VALUES ({marks})", names.columns(table, places))
        }
    };
    let returning = match made {
        true => format!(" RETURNING {}", names.columns(table, table.key().iter().copied())),
        false => String::new(),
    };
    format!("INSERT INTO {name} {values}{returning}")
}

/// New values for the rows with the values of these columns. Parameters: `fields` in schema order, the columns.
pub(crate) fn overwrite(
    names: Names,
    table: &TableSchema,
    fields: FieldSet,
    columns: &[usize],
) -> String {
    let mut sets: Vec<String> =
        fields.iter().map(|place| format!("{} = ?", names.column(table, place))).collect();
    if let Some(version) = table.version() {
        let name = names.column(table, version);
        sets.push(format!("{name} = {name} + 1"));
    } else if let (true, Some(&key)) = (sets.is_empty(), table.key().first()) {
        let name = names.column(table, key);
        sets.push(format!("{name} = {name}"));
    }
    let condition = equal(names, table, columns);
    format!("UPDATE {} SET {} WHERE {condition}", names.quoted(table.name()), sets.join(", "))
}

/// The same by the key, and of the version, which is the last parameter.
pub(crate) fn update(names: Names, table: &TableSchema, fields: FieldSet) -> String {
    let text = overwrite(names, table, fields, table.key());
    match table.version() {
        Some(version) => format!("{text} AND {} = ?", names.column(table, version)),
        None => text,
    }
}

pub(crate) fn delete(names: Names, table: &TableSchema) -> String {
    format!("DELETE FROM {} WHERE {}", names.quoted(table.name()), equal(names, table, table.key()))
}

/// Some columns of the rows with the values of others.
pub(crate) fn get(
    names: Names,
    table: &TableSchema,
    shown: impl IntoIterator<Item = usize>,
    columns: &[usize],
) -> String {
    let (shown, name) = (names.columns(table, shown), names.quoted(table.name()));
    format!("SELECT {shown} FROM {name} WHERE {}", equal(names, table, columns))
}

/// Deletes the rows that are in the way of a new one, and the columns whose values are the parameters; `None` if none can
/// be.
pub(crate) fn delete_in_the_way(
    names: Names,
    table: &TableSchema,
    made: bool,
) -> Option<(String, Vec<usize>)> {
    let unique = table.indexes().iter().filter(|index| index.unique);
    let key = (!made).then(|| table.key().to_vec());
    let ways: Vec<Vec<usize>> =
        key.into_iter().chain(unique.map(|index| index.columns.clone())).collect();
    if ways.is_empty() {
        return None;
    }
    let parts: Vec<String> =
        ways.iter().map(|way| format!("({})", equal(names, table, way))).collect();
    let name = names.quoted(table.name());
    Some((format!("DELETE FROM {name} WHERE {}", parts.join(" OR ")), ways.concat()))
}
