//! The statements for rows in the words of a database whose parameters have numbers.

use crate::Comparability;
use bobak_core::{FieldSet, TableSchema, ValueRef};

/// How a database writes statements for rows.
pub trait StatementDialect {
    /// A name in quotes.
    fn quoted(&self, name: &str) -> String;

    /// A column's name in quotes.
    fn column(&self, table: &TableSchema, place: usize) -> String;

    /// The parameter of this number, counted from 1.
    fn number(&self, number: usize) -> String;

    /// The parameter of this number, as a column is compared with it.
    fn parameter(&self, _: &TableSchema, _: usize, number: usize) -> String {
        self.number(number)
    }

    /// Whether columns have the values of the parameters from this number on.
    fn all_equal(&self, table: &TableSchema, places: &[usize], first: usize) -> String;

    /// What of a column and a value the server can compare as Bobak does; `None` for nothing.
    fn comparability(
        &self,
        table: &TableSchema,
        place: usize,
        value: ValueRef<'_>,
    ) -> Option<Comparability>;

    /// Whether the server makes the values of a column, so that they cannot be set.
    fn makes_key(&self, table: &TableSchema, place: usize) -> bool;

    /// New values for the rows with the values of these columns. Parameters: `fields` in schema order, the columns.
    fn overwrite(&self, table: &TableSchema, fields: FieldSet, by: &[usize]) -> String {
        let set = |(place, at)| format!("{} = {}", self.column(table, place), self.number(at));
        let mut sets: Vec<String> = fields.iter().zip(1..).map(set).collect();
        let first = sets.len() + 1;
        if let Some(version) = table.version() {
            let name = self.column(table, version);
            sets.push(format!("{name} = {name} + 1"));
        } else if sets.is_empty() {
            // Of a table with generated keys, the key cannot be set; any other column can.
            let place = (0..table.columns().len()).find(|place| !self.makes_key(table, *place));
            let name = self.column(table, place.unwrap_or(0));
            sets.push(format!("{name} = {name}"));
        }
        let (name, sets) = (self.quoted(table.name()), sets.join(", "));
        format!("UPDATE {name} SET {sets} WHERE {}", self.all_equal(table, by, first))
    }

    /// The same by the key, and of the version, which is the last parameter.
    fn update(&self, table: &TableSchema, fields: FieldSet) -> String {
        let text = self.overwrite(table, fields, table.key());
        match table.version() {
            Some(version) => {
                let at = self.number(fields.iter().count() + table.key().len() + 1);
                format!("{text} AND {} = {at}", self.column(table, version))
            }
            None => text,
        }
    }

    /// Deletes the row with a key.
    fn delete(&self, table: &TableSchema) -> String {
        let condition = self.all_equal(table, table.key(), 1);
        format!("DELETE FROM {} WHERE {condition}", self.quoted(table.name()))
    }

    /// Deletes the rows that are in the way of a new one, and the columns whose values are the parameters; `None` if none
    /// can be. `made` says that the server makes its key.
    fn delete_in_the_way(&self, table: &TableSchema, made: bool) -> Option<(String, Vec<usize>)> {
        let unique = table.indexes().iter().filter(|index| index.unique);
        let key = (!made).then(|| table.key().to_vec());
        let ways: Vec<Vec<usize>> =
            key.into_iter().chain(unique.map(|index| index.columns.clone())).collect();
        if ways.is_empty() {
            return None;
        }
        let mut first = 1;
        let parts = ways.iter().map(|way| {
            let part = format!("({})", self.all_equal(table, way, first));
            first += way.len();
            part
        });
        let parts: Vec<String> = parts.collect();
        let name = self.quoted(table.name());
        Some((format!("DELETE FROM {name} WHERE {}", parts.join(" OR ")), ways.concat()))
    }
}
