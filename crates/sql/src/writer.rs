//! What statements are written with: the text so far, and the parameters that it needs.

use crate::Dialect;
use crate::dialect::push_quoted;
use crate::literal::push_literal;
use bobak_core::{TableSchema, Value, ValueRef};

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
    text: String,
    parameters: Vec<Value<'a>>,
}

impl<'a> Writer<'a> {
    pub fn new(dialect: Dialect) -> Self {
        Self { dialect, text: String::with_capacity(128), parameters: Vec::new() }
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
    /// refuses it.
    pub fn column(&mut self, table: &TableSchema, place: usize) -> &mut Self {
        let column = table.columns().get(place);
        self.name(column.map_or("", |column| column.name.as_ref()))
    }

    /// Columns' names, parted by commas.
    pub fn columns(&mut self, table: &TableSchema, places: impl IntoIterator<Item = usize>) {
        self.list(", ", places, |writer, place| {
            writer.column(table, place);
        });
    }

    /// A `?` whose value the caller knows.
    pub fn placeholder(&mut self) -> &mut Self {
        match self.dialect {
            Dialect::Sqlite => self.raw("?"),
        }
    }

    /// A `?` with its value; beyond the dialect's largest number of them, the value itself.
    pub fn value(&mut self, value: ValueRef<'a>) -> &mut Self {
        self.owned_value(value.into())
    }

    /// As [`Writer::value`], for a value that was made on the way.
    pub fn owned_value(&mut self, value: Value<'a>) -> &mut Self {
        if self.parameters.len() < self.dialect.max_parameters() {
            self.parameters.push(value);
            return self.placeholder();
        }
        self.literal(value.as_ref())
    }

    pub fn literal(&mut self, value: ValueRef<'_>) -> &mut Self {
        push_literal(self.dialect, &mut self.text, value);
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

    pub fn into_text(self) -> String {
        self.text
    }

    pub fn finish(self) -> Statement<'a> {
        Statement { text: self.text, parameters: self.parameters }
    }
}
