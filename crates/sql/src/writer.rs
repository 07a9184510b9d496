//! What statements are written with: the text so far, and the parameters that it needs.

use crate::Dialect;
use crate::dialect::push_quoted;
use crate::literal::{push_literal, push_literal_of};
use bobak_core::{ColumnSchema, Error, Result, TableSchema, Value, ValueRef};

/// A statement and its parameters, in the order of its `?`s.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement<'a> {
    /// The text: one statement, without a closing semicolon.
    pub text: String,
    /// The parameters, borrowed from the query where they can be.
    pub parameters: Vec<Value<'a>>,
}

/// A statement being written.
pub(crate) struct Writer<'a> {
    pub dialect: Dialect,
    /// Whether the statement updates or deletes rows.
    pub is_change: bool,
    /// The index of the table in a join: its alias goes before the names of columns.
    pub table: Option<usize>,
    /// Whether values are written into the text, instead of parameters.
    pub inline: bool,
    /// Whether a part of a negated condition is written.
    pub is_negated: bool,
    text: String,
    parameters: Vec<Value<'a>>,
    placeholders: usize,
    error: Option<Error>,
}

impl<'a> Writer<'a> {
    pub fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            is_change: false,
            table: None,
            inline: false,
            is_negated: false,
            text: String::with_capacity(128),
            parameters: Vec::new(),
            placeholders: 0,
            error: None,
        }
    }

    pub fn raw(&mut self, text: &str) -> &mut Self {
        self.text.push_str(text);
        self
    }

    pub fn name(&mut self, name: &str) -> &mut Self {
        push_quoted(self.dialect, &mut self.text, name);
        self
    }

    /// A column's name. For a place that the table has not, a name that no column has: the engine
    /// rejects it.
    pub fn column(&mut self, table: &TableSchema, place: usize) -> &mut Self {
        let column = table.columns().get(place);
        self.column_name(column.map_or("", |column| column.name.as_ref()))
    }

    /// The name of a column, after the alias of its table in a join.
    pub fn column_name(&mut self, name: &str) -> &mut Self {
        if let Some(table) = self.table {
            self.alias(table).raw(".");
        }
        self.name(name)
    }

    /// As [`column_name`](Self::column_name), as a text of its own.
    pub fn quoted_column(&self, name: &str) -> String {
        let mut quoted = Writer::new(self.dialect);
        quoted.table = self.table;
        quoted.column_name(name);
        quoted.text
    }

    /// The name of a column of one of a join's tables, as a text of its own.
    pub fn quoted_column_of(&self, table: usize, name: &str) -> String {
        let mut quoted = Writer::new(self.dialect);
        quoted.table = Some(table);
        quoted.column_name(name);
        quoted.text
    }

    /// The name of a table in a join.
    pub fn alias(&mut self, table: usize) -> &mut Self {
        self.numbered('t', table)
    }

    fn numbered(&mut self, letter: char, number: usize) -> &mut Self {
        self.text.push(letter);
        // Most are one digit.
        match u8::try_from(number) {
            Ok(digit @ 0..10) => self.text.push(char::from(b'0' + digit)),
            _ => self.text.push_str(&number.to_string()),
        }
        self
    }

    /// `NOT (…)`
    pub fn negated(&mut self, write: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.is_negated, true);
        self.raw("NOT (");
        write(self);
        self.raw(")");
        self.is_negated = outer;
    }

    /// Columns' names, parted by commas.
    pub fn columns(&mut self, table: &TableSchema, places: impl IntoIterator<Item = usize>) {
        self.list(", ", places, |writer, place| {
            writer.column(table, place);
        });
    }

    /// A column as it is compared.
    pub fn compared(&mut self, table: &TableSchema, place: usize) -> &mut Self {
        if self.dialect.is_mysql() {
            return self.sorted(table, place);
        }
        self.around(table, place, |writer| {
            writer.column(table, place);
        })
    }

    /// The expression by which a column's value is compared.
    pub fn around(
        &mut self,
        table: &TableSchema,
        place: usize,
        write: impl FnOnce(&mut Self),
    ) -> &mut Self {
        let column = table.columns().get(place);
        let (before, after) = column.map_or(("", ""), |column| self.dialect.compared(column));
        self.raw(before);
        write(self);
        self.raw(after)
    }

    /// Columns as they are compared, parted by commas.
    pub fn all_compared(&mut self, table: &TableSchema, places: impl IntoIterator<Item = usize>) {
        self.list(", ", places, |writer, place| {
            writer.compared(table, place);
        });
    }

    /// A value that a column is compared with.
    pub fn compared_value(
        &mut self,
        table: &TableSchema,
        place: usize,
        value: ValueRef<'a>,
    ) -> &mut Self {
        let cast = table.columns().get(place).map_or("", |column| self.dialect.cast(column));
        self.around(table, place, |writer| {
            if writer.takes_parameter() {
                writer.value(value).raw(cast);
            } else if let Some(column) = table.columns().get(place) {
                writer.literal_of(column, value);
            }
        })
    }

    /// A parameter whose value the caller knows, and that a column is compared with.
    pub fn compared_placeholder(&mut self, table: &TableSchema, place: usize) -> &mut Self {
        let cast = table.columns().get(place).map_or("", |column| self.dialect.cast(column));
        self.around(table, place, |writer| {
            writer.placeholder().raw(cast);
        })
    }

    /// A parameter whose value the caller knows.
    pub fn placeholder(&mut self) -> &mut Self {
        self.placeholders += 1;
        match self.dialect {
            Dialect::Sqlite | Dialect::MariaDb | Dialect::MySql => self.raw("?"),
            Dialect::Postgres => self.numbered('$', self.placeholders),
        }
    }

    fn takes_parameter(&self) -> bool {
        !self.inline && self.parameters.len() < self.dialect.max_parameters()
    }

    /// A `?` with its value; beyond the dialect's largest number of them, the value itself.
    pub fn value(&mut self, value: ValueRef<'a>) -> &mut Self {
        self.owned_value(value.into())
    }

    /// As [`Writer::value`], for a value that was made on the way.
    pub fn owned_value(&mut self, value: Value<'a>) -> &mut Self {
        if self.takes_parameter() {
            self.parameters.push(value);
            return self.placeholder();
        }
        self.literal(value.as_ref())
    }

    pub fn literal(&mut self, value: ValueRef<'_>) -> &mut Self {
        push_literal(self.dialect, &mut self.text, value);
        self
    }

    /// A column's value written into the text.
    pub fn literal_of(&mut self, column: &ColumnSchema, value: ValueRef<'_>) -> &mut Self {
        push_literal_of(self.dialect, &mut self.text, column, value);
        self
    }

    /// The items, with `between` in between.
    pub fn list<T>(
        &mut self,
        between: &str,
        items: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut Self, T),
    ) {
        for (at, item) in items.into_iter().enumerate() {
            if at > 0 {
                self.text.push_str(between);
            }
            write(self, item);
        }
    }

    /// Notes that the statement can't be written; the first error counts.
    pub fn fail(&mut self, error: Error) {
        self.error.get_or_insert(error);
    }

    /// The text, or the error of [`fail`](Self::fail).
    pub fn into_result(self) -> Result<String> {
        self.error.map_or(Ok(self.text), Err)
    }

    pub fn into_text(self) -> String {
        self.text
    }

    pub fn finish(self) -> Statement<'a> {
        Statement { text: self.text, parameters: self.parameters }
    }
}
