//! The statements for rows. Parameters are `:1`, `:2` and so on; one statement writes many rows if it is given many of them.

use crate::columns::{all_equal, makes_key};
use crate::names::{column, columns, quoted};
use bobak_core::{FieldSet, TableSchema};

/// The columns that an insert writes.
pub(crate) fn written(table: &TableSchema, made: bool) -> impl Iterator<Item = usize> + '_ {
    (0..table.columns().len()).filter(move |place| !(made && table.key().contains(place)))
}

/// Puts a column of the rows that are written in the last parameter.
pub(crate) fn returning(table: &TableSchema, text: &str, place: usize, at: usize) -> String {
    format!("{text} RETURNING {} INTO :{at}", column(table, place))
}

pub(crate) fn insert(table: &TableSchema, made: bool) -> String {
    let places: Vec<usize> = written(table, made).collect();
    let name = quoted(table.name());
    if places.is_empty() {
        // It is the key's.
        return format!("INSERT INTO {name} ({}) VALUES (DEFAULT)", columns(table, 0..1));
    }
    let marks: Vec<String> = (1..=places.len()).map(|at| format!(":{at}")).collect();
    format!("INSERT INTO {name} ({}) VALUES ({})", columns(table, places), marks.join(", "))
}

/// New values for the rows with the values of these columns. Parameters: `fields` in schema order, the columns.
pub(crate) fn overwrite(table: &TableSchema, fields: FieldSet, by: &[usize]) -> String {
    let sets =
        fields.iter().zip(1..).map(|(place, at)| format!("{} = :{at}", column(table, place)));
    let mut sets: Vec<String> = sets.collect();
    let first = sets.len() + 1;
    if let Some(version) = table.version() {
        let name = column(table, version);
        sets.push(format!("{name} = {name} + 1"));
    } else if sets.is_empty() {
        // Of a table with generated keys, the key cannot be set; any other column can.
        let place = (0..table.columns().len()).find(|place| !makes_key(table, *place));
        let name = column(table, place.unwrap_or(0));
        sets.push(format!("{name} = {name}"));
    }
    let condition = all_equal(table, by, first);
    format!("UPDATE {} SET {} WHERE {condition}", quoted(table.name()), sets.join(", "))
}

/// The same by the key, and of the version, which is the last parameter.
pub(crate) fn update(table: &TableSchema, fields: FieldSet) -> String {
    let text = overwrite(table, fields, table.key());
    match table.version() {
        Some(version) => {
            let at = fields.iter().count() + table.key().len() + 1;
            format!("{text} AND {} = :{at}", column(table, version))
        }
        None => text,
    }
}

pub(crate) fn delete(table: &TableSchema) -> String {
    format!("DELETE FROM {} WHERE {}", quoted(table.name()), all_equal(table, table.key(), 1))
}

/// Some columns of the rows with the values of others.
pub(crate) fn get(
    table: &TableSchema,
    shown: impl IntoIterator<Item = usize>,
    by: &[usize],
    lock: &str,
) -> String {
    let (shown, name) = (columns(table, shown), quoted(table.name()));
    format!("SELECT {shown} FROM {name} WHERE {}{lock}", all_equal(table, by, 1))
}

/// Deletes the rows that are in the way of a new one, and the columns whose values are the parameters; `None` if none can
/// be.
pub(crate) fn delete_in_the_way(table: &TableSchema, made: bool) -> Option<(String, Vec<usize>)> {
    let unique = table.indexes().iter().filter(|index| index.unique);
    let key = (!made).then(|| table.key().to_vec());
    let ways: Vec<Vec<usize>> =
        key.into_iter().chain(unique.map(|index| index.columns.clone())).collect();
    if ways.is_empty() {
        return None;
    }
    let mut first = 1;
    let parts = ways.iter().map(|way| {
        let part = format!("({})", all_equal(table, way, first));
        first += way.len();
        part
    });
    let parts: Vec<String> = parts.collect();
    let name = quoted(table.name());
    Some((format!("DELETE FROM {name} WHERE {}", parts.join(" OR ")), ways.concat()))
}

/// Each kind of statement for a table.
pub(crate) fn all(table: &TableSchema) -> Vec<String> {
    let is_set = |place: &usize| !table.key().contains(place) && table.version() != Some(*place);
    let fields: FieldSet = (0..table.columns().len()).filter(is_set).collect();
    let key = table.key().first().copied().unwrap_or(0);
    let update_key = returning(table, &overwrite(table, fields, table.key()), key, 99);
    let mut texts = vec![
        insert(table, false),
        update(table, fields),
        overwrite(table, FieldSet::default(), table.key()),
        update_key,
        delete(table),
        returning(table, &delete(table), key, 99),
        get(table, 0..table.columns().len(), table.key(), " FOR UPDATE NOWAIT"),
        get(table, table.key().iter().copied(), table.key(), " FOR UPDATE WAIT 5"),
        get(table, [key], table.key(), " FOR UPDATE SKIP LOCKED"),
    ];
    if makes_key(table, key) {
        texts.push(returning(table, &insert(table, true), key, 99));
    }
    texts.extend(delete_in_the_way(table, false).map(|(text, _)| text));
    texts
}
