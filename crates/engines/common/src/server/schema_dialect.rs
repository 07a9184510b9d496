//! How a database writes what defines a table.

use crate::{CheckDialect, check_condition, check_name, in_column, index_name, makes_key};
use bobak_core::{ColumnSchema, IndexSchema, Result, TableSchema, Value};

/// How a database writes columns and their checks, of tables that are created or get more columns.
pub trait SchemaDialect: CheckDialect {
    /// What a column says that may be NULL.
    const NULLABLE: &'static str = "";

    /// The type of a column.
    ///
    /// # Errors
    /// `Unsupported` for a column that the server cannot have.
    fn column_type(&self, table: &TableSchema, place: usize) -> Result<String>;

    /// What a key says whose values the server makes.
    fn made_key(&self, table: &TableSchema) -> String;

    /// What a column says of its default.
    fn default_text(&self, _: &TableSchema, _: &ColumnSchema, value: &str) -> String {
        format!(" DEFAULT {value}")
    }

    /// The definition of a column: its name, type and default.
    ///
    /// # Errors
    /// As [`column_type`](Self::column_type); those of a literal.
    fn definition(
        &self,
        table: &TableSchema,
        place: usize,
        default: Option<&Value<'_>>,
        is_required: bool,
    ) -> Result<String> {
        let column = table.column_at(place)?;
        let mut text = format!("{} {}", self.column(table, place), self.column_type(table, place)?);
        if makes_key(table, place) {
            text.push_str(&self.made_key(table));
        } else if let Some(value) = default {
            let value = self.value_literal(column.ty, value.as_ref());
            let value = value.map_err(|error| in_column(error, table, Some(place)))?;
            text.push_str(&self.default_text(table, column, &value));
        }
        text.push_str(if is_required { " NOT NULL" } else { Self::NULLABLE });
        Ok(text)
    }

    /// The constraint that keeps values of other types out of a column, if the column's type does not.
    ///
    /// # Errors
    /// As [`column_type`](Self::column_type).
    fn type_constraint(&self, _: &TableSchema, _: usize) -> Result<Option<String>> {
        Ok(None)
    }

    /// The constraints of a column: its check, and that of its type.
    ///
    /// # Errors
    /// As [`check_condition`].
    fn checks(&self, table: &TableSchema, place: usize) -> Result<Vec<String>> {
        let column = table.column_at(place)?;
        let check = check_condition(self, table, column)?;
        let name = self.own(check_name(table, &column.name));
        let check = check.map(|check| format!("CONSTRAINT {name} CHECK ({check})"));
        Ok(self.type_constraint(table, place)?.into_iter().chain(check).collect())
    }

    /// The statement that adds an index of columns, which is not unique.
    fn plain_index(&self, table: &TableSchema, index: &IndexSchema) -> String {
        let (name, to) = (self.own(index_name(table, &index.name)), self.quoted(table.name()));
        let columns = self.columns(table, index.columns.iter().copied());
        format!("CREATE INDEX {name} ON {to} ({columns})")
    }

    /// The statement that adds a unique index of columns, as a constraint, so that foreign keys can reference it.
    fn unique_constraint(&self, table: &TableSchema, index: &IndexSchema) -> String {
        let (name, to) = (self.own(index_name(table, &index.name)), self.quoted(table.name()));
        let columns = self.columns(table, index.columns.iter().copied());
        format!("ALTER TABLE {to} ADD CONSTRAINT {name} UNIQUE ({columns})")
    }

    /// The statement that adds a unique index of expressions.
    fn unique_index(&self, table: &TableSchema, index: &IndexSchema, parts: &[String]) -> String {
        let (name, to) = (self.own(index_name(table, &index.name)), self.quoted(table.name()));
        format!("CREATE UNIQUE INDEX {name} ON {to} ({})", parts.join(", "))
    }

    /// For each of these columns that may be NULL, that it is not.
    fn not_null(&self, table: &TableSchema, places: &[usize]) -> Vec<String> {
        let is_nullable =
            |place: &&usize| table.columns().get(**place).is_some_and(|column| column.nullable);
        let places = places.iter().filter(is_nullable);
        places.map(|&place| format!("{} IS NOT NULL", self.column(table, place))).collect()
    }

    /// A column in an index that is unique.
    fn indexed(&self, table: &TableSchema, place: usize) -> String {
        self.folded(table, place).unwrap_or_else(|| self.column(table, place))
    }

    /// What a table says of a column that it gets, which has a value in all rows if it is filled.
    fn added(&self, _: &ColumnSchema, definition: String, _is_filled: bool) -> String {
        definition
    }

    /// What a table says so that a column has no default any more.
    fn without_default(&self, table: &TableSchema, column: &ColumnSchema) -> String;
}
