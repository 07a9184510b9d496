//! The statements for rows in the words of a database whose parameters have numbers.

use crate::{Comparability, StatementValue, column_name, written_columns};
use bobak_core::{Comparison, FieldSet, Result, TableSchema, ValueRef};
use std::borrow::Cow;

/// How a database writes statements for rows.
pub trait StatementDialect {
    /// The expression that counts rows.
    const COUNT: &'static str = "COUNT(*)";

    /// The name of a table or a column as the database has it. Some names have a substitute there.
    fn stored<'n>(&self, name: &'n str) -> Cow<'n, str> {
        name.into()
    }

    /// A name of the database as Bobak shows it.
    fn shown(&self, name: &str) -> String {
        name.to_owned()
    }

    /// A name of Bobak's own, as the catalog has it.
    fn own_stored(&self, name: String) -> String {
        name
    }

    /// A name of Bobak's own, as statements have it.
    fn own(&self, name: String) -> String {
        self.quoted(&self.own_stored(name))
    }

    /// A name in quotes.
    fn quoted(&self, name: &str) -> String;

    /// A column's name in quotes.
    fn column(&self, table: &TableSchema, place: usize) -> String {
        self.quoted(column_name(table, place))
    }

    /// The parameter of this number, counted from 1.
    fn number(&self, number: usize) -> String;

    /// The parameter of this number, as a column is compared with it.
    fn parameter(&self, _: &TableSchema, _: usize, number: usize) -> String {
        self.number(number)
    }

    /// The expression by which the server compares a column, if it is not the column.
    fn folded(&self, _: &TableSchema, _: usize) -> Option<String> {
        None
    }

    /// Whether a column has the value of a parameter.
    fn equal(&self, table: &TableSchema, place: usize, parameter: &str) -> String {
        let name = self.folded(table, place).unwrap_or_else(|| self.column(table, place));
        format!("{name} = {parameter}")
    }

    /// Whether columns have the values of the parameters from this number on.
    fn all_equal(&self, table: &TableSchema, places: &[usize], first: usize) -> String {
        let equal = |(&place, at): (&usize, usize)| {
            self.equal(table, place, &self.parameter(table, place, at))
        };
        places.iter().zip(first..).map(equal).collect::<Vec<_>>().join(" AND ")
    }

    /// What of a column and a value the server can compare as Bobak does; `None` for nothing.
    fn comparability(
        &self,
        table: &TableSchema,
        place: usize,
        value: ValueRef<'_>,
    ) -> Option<Comparability>;

    /// How a column is compared with a value, which is the parameter of this number; `None` if the server does not do it as
    /// Bobak does.
    fn comparison(
        &self,
        table: &TableSchema,
        place: usize,
        comparison: Comparison,
        (number, value): (usize, ValueRef<'_>),
    ) -> Option<String> {
        match (self.comparability(table, place, value)?, comparison) {
            (_, Comparison::Equal) => Some(self.all_equal(table, &[place], number)),
            (Comparability::Equality, _) => None,
            (Comparability::Order, comparison) => {
                let operator = sql_operator(comparison)?;
                let parameter = self.parameter(table, place, number);
                Some(format!("{} {operator} {parameter}", self.column(table, place)))
            }
        }
    }

    /// Whether the server sorts the values of a column as Bobak does.
    fn is_sorted(&self, table: &TableSchema, place: usize) -> bool;

    /// What follows a query of which so many rows are wanted at most; nothing if it always says all.
    fn first_rows(&self, _: u64) -> String {
        String::new()
    }

    /// Rejects a text that no value of the server has.
    ///
    /// # Errors
    /// `Unsupported`.
    fn check_text(&self, _: &str) -> Result<()> {
        Ok(())
    }

    /// A value as a column is compared with it.
    fn compared<'v>(
        &self,
        table: &TableSchema,
        place: usize,
        value: ValueRef<'v>,
    ) -> StatementValue<'v> {
        StatementValue::folded(table, place, value)
    }

    /// Whether the server makes the values of a column, so that they cannot be set.
    fn makes_key(&self, table: &TableSchema, place: usize) -> bool {
        crate::makes_key(table, place)
    }

    /// Columns, parted by commas.
    fn columns(&self, table: &TableSchema, places: impl IntoIterator<Item = usize>) -> String {
        let names: Vec<_> = places.into_iter().map(|place| self.column(table, place)).collect();
        names.join(", ")
    }

    /// So many parameters from a number on, parted by commas.
    fn numbers(&self, first: usize, count: usize) -> String {
        let numbers: Vec<_> = (first..first + count).map(|number| self.number(number)).collect();
        numbers.join(", ")
    }

    /// What an insert says before its values, and at its end, so that it returns the key that the server makes.
    fn returned_key(&self, _: &TableSchema) -> [String; 2] {
        Default::default()
    }

    /// What an insert says of a row whose only value is the key that the server makes.
    fn no_values(&self, _: &TableSchema) -> String {
        " DEFAULT VALUES".to_owned()
    }

    /// Inserts a row; the server may make its key.
    fn insert(&self, table: &TableSchema, made: bool) -> String {
        let places: Vec<usize> = written_columns(table, made).collect();
        let [output, returning] = if made { self.returned_key(table) } else { Default::default() };
        let values = match places.is_empty() {
            true => format!("{output}{}", self.no_values(table)),
            false => {
                let numbers = self.numbers(1, places.len());
                format!(" ({}){output} VALUES ({numbers})", self.columns(table, places))
            }
        };
        format!("INSERT INTO {}{values}{returning}", self.quoted(table.name()))
    }

    /// Some columns of the rows with the values of others.
    fn get(
        &self,
        table: &TableSchema,
        shown: impl IntoIterator<Item = usize>,
        by: &[usize],
    ) -> String {
        let (shown, name) = (self.columns(table, shown), self.quoted(table.name()));
        format!("SELECT {shown} FROM {name} WHERE {}", self.all_equal(table, by, 1))
    }

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

    /// A statement of each kind for a table, for tests that parse them.
    fn samples(&self, table: &TableSchema) -> Vec<String> {
        let is_set =
            |place: &usize| !table.key().contains(place) && table.version() != Some(*place);
        let fields: FieldSet = (0..table.columns().len()).filter(is_set).collect();
        let mut samples = vec![
            self.insert(table, false),
            self.update(table, fields),
            self.overwrite(table, FieldSet::default(), table.key()),
            self.delete(table),
        ];
        samples.extend(self.delete_in_the_way(table, false).map(|(text, _)| text));
        samples
    }
}

/// The operator of a comparison that leaves an interval; `None` for the others.
#[must_use]
pub const fn sql_operator(comparison: Comparison) -> Option<&'static str> {
    match comparison {
        Comparison::Equal => Some("="),
        Comparison::Less => Some("<"),
        Comparison::LessOrEqual => Some("<="),
        Comparison::Greater => Some(">"),
        Comparison::GreaterOrEqual => Some(">="),
        _ => None,
    }
}
