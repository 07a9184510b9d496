//! Changes of the schema that add something. All of a list are made in one transaction; Firebird makes them known when it
//! commits. What needs new columns is left to `completion`.

use crate::checks::constraint;
use crate::columns::definition;
use crate::comment;
use crate::connection::SchemaTexts;
use crate::names::Names;
use crate::table_rules::{has_plain_key, index, key, key_constraint, reference};
use bobak_core::{ForeignKey, Result, SchemaChange, TableSchema, Value};
use bobak_engine_common::{PlannedKey, SchemaPlanner, StatementDialect, find_table};

/// The statements of a list of changes, in order.
#[derive(Debug, Default)]
pub(crate) struct Statements {
    /// With the tables that errors name.
    pub texts: SchemaTexts,
    /// The tables that need more when the statements are committed.
    pub unfinished: Vec<TableSchema>,
}

/// Plans changes of the stored tables, for the connection with this number.
///
/// # Errors
/// As [`Session::alter`](bobak_core::Session::alter).
pub(crate) fn plan(
    names: Names,
    number: i64,
    stored: Vec<TableSchema>,
    changes: &[SchemaChange],
) -> Result<Statements> {
    let mut plan = Plan { names, number, statements: Statements::default() };
    plan.plan(stored, changes)?;
    Ok(plan.statements)
}

/// The statements that create a table, its foreign keys, and each column once more.
///
/// # Errors
/// `Unsupported` for a table that Firebird cannot have.
pub(crate) fn created(names: Names, table: &TableSchema) -> Result<Vec<String>> {
    let mut plan = Plan { names, number: 0, statements: Statements::default() };
    plan.create_whole(table)?;
    for place in 0..table.columns().len() {
        plan.add_column(table, place)?;
    }
    Ok(plan.statements.texts.into_iter().map(|(_, text)| text).collect())
}

/// The statements that create a table, without its foreign keys and its comment.
///
/// # Errors
/// `Unsupported` for a table that Firebird cannot have.
pub(crate) fn create(names: Names, table: &TableSchema) -> Result<Vec<String>> {
    let mut plan = Plan { names, number: 0, statements: Statements::default() };
    plan.create(table)?;
    Ok(plan.statements.texts.into_iter().map(|(_, text)| text).collect())
}

/// The statement that adds a column, whose value old rows get, and whether it has a default or is required for that reason
/// alone.
///
/// # Errors
/// As [`definition`].
pub(crate) fn add_column(
    names: Names,
    table: &TableSchema,
    place: usize,
) -> Result<(String, bool)> {
    let column = table.column_at(place)?;
    let value = column.added_value();
    let is_filled = value != Value::Null;
    // The default of a column that is required is the value of old rows, also when it is neither any longer.
    let definition = definition(names, table, place, is_filled.then_some(&value), is_filled)?;
    let text = format!("ALTER TABLE {} ADD {definition}", names.quoted(table.name()));
    Ok((text, is_filled && (column.nullable || column.default.is_none())))
}

/// Statements, being collected.
struct Plan {
    names: Names,
    /// Of the connection.
    number: i64,
    statements: Statements,
}

impl SchemaPlanner for Plan {
    type Dialect = Names;

    fn dialect(&self) -> Names {
        self.names
    }

    fn push(&mut self, table: &TableSchema, text: String) {
        self.statements.texts.push((table.clone(), text));
    }

    fn definition(
        &self,
        table: &TableSchema,
        place: usize,
        default: Option<&Value<'_>>,
        is_required: bool,
    ) -> Result<String> {
        definition(self.names, table, place, default, is_required)
    }

    fn constraints(&self, table: &TableSchema) -> Result<Vec<String>> {
        let all = table.columns().iter().map(|column| constraint(self.names, table, column));
        all.filter_map(Result::transpose).collect()
    }

    fn key(&self, table: &TableSchema) -> Result<PlannedKey> {
        Ok(match has_plain_key(self.names, table) {
            true => PlannedKey::Constraint(key_constraint(self.names, table)),
            false => PlannedKey::Index(key(self.names, table)?.text),
        })
    }

    fn add_column(&mut self, table: &TableSchema, place: usize) -> Result<()> {
        let (text, is_unfinished) = add_column(self.names, table, place)?;
        self.push(table, text);
        let has_check = constraint(self.names, table, table.column_at(place)?)?.is_some();
        if is_unfinished || has_check {
            self.statements.unfinished.push(table.clone());
        }
        Ok(())
    }

    fn add_index(
        &mut self,
        table: &TableSchema,
        place: usize,
        created: &TableSchema,
    ) -> Result<()> {
        if let Some(index) = index(self.names, table, place, created)? {
            self.push(table, index.text);
        }
        Ok(())
    }

    fn add_reference(
        &mut self,
        table: &TableSchema,
        key: &ForeignKey,
        tables: &[TableSchema],
    ) -> Result<()> {
        self.push(table, reference(self.names, table, key, tables).text);
        Ok(())
    }

    fn describe(&mut self, table: &TableSchema) -> Result<()> {
        let is_unfinished = find_table(&self.statements.unfinished, table).is_some();
        let text = match is_unfinished {
            true => comment::changed(self.names, table, self.number)?,
            false => comment::whole(self.names, table)?,
        };
        self.push(table, text);
        Ok(())
    }
}
