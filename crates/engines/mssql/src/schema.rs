//! Changes of the schema. All of a list are made in one transaction, or none is.

use crate::catalog::remarks;
use crate::columns::{
    computed, computed_column, default_name, folded_name, is_folded, sent_kind, type_text,
};
use crate::dialect::MssqlStatements;
use bobak_core::{ColumnSchema, IndexSchema, Result, SchemaChange, TableSchema};
use bobak_engine_common::{SchemaDialect, SchemaPlanner, StatementDialect, check_name};

impl SchemaDialect for MssqlStatements {
    const NULLABLE: &'static str = " NULL";

    fn column_type(&self, table: &TableSchema, place: usize) -> Result<String> {
        sent_kind(table, place).map(type_text)
    }

    fn made_key(&self, _: &TableSchema) -> String {
        " IDENTITY(1,1)".to_owned()
    }

    fn default_text(&self, table: &TableSchema, column: &ColumnSchema, value: &str) -> String {
        format!(" CONSTRAINT {} DEFAULT {value}", default_name(table, column))
    }

    fn indexed(&self, table: &TableSchema, place: usize) -> String {
        if is_folded(table, place) { folded_name(table, place) } else { self.column(table, place) }
    }

    fn added(&self, column: &ColumnSchema, definition: String, is_filled: bool) -> String {
        definition + if is_filled && column.nullable { " WITH VALUES" } else { "" }
    }

    fn without_default(&self, table: &TableSchema, column: &ColumnSchema) -> String {
        format!("DROP CONSTRAINT {}", default_name(table, column))
    }
}

/// Statements, each with the table that it is about.
type Statements = Vec<(TableSchema, String)>;

/// Plans changes of the stored tables.
///
/// # Errors
/// As [`Session::alter`](bobak_core::Session::alter).
pub(crate) fn plan(
    schema: &str,
    stored: Vec<TableSchema>,
    changes: &[SchemaChange],
) -> Result<Statements> {
    let mut plan = Plan { schema, statements: Vec::new() };
    plan.plan(stored, changes)?;
    Ok(plan.statements)
}

/// The statements that create a table.
///
/// # Errors
/// `Unsupported` for a table that SQL Server cannot have.
pub(crate) fn created(table: &TableSchema) -> Result<Vec<String>> {
    let mut plan = Plan { schema: "dbo", statements: Vec::new() };
    plan.create_whole(table)?;
    Ok(plan.statements.into_iter().map(|(_, text)| text).collect())
}

/// Statements, being collected.
struct Plan<'s> {
    schema: &'s str,
    statements: Statements,
}

impl SchemaPlanner for Plan<'_> {
    type Dialect = MssqlStatements;

    fn dialect(&self) -> MssqlStatements {
        MssqlStatements
    }

    fn push(&mut self, table: &TableSchema, text: String) {
        self.statements.push((table.clone(), text));
    }

    fn constraints(&self, table: &TableSchema) -> Result<Vec<String>> {
        let checks = (0..table.columns().len()).map(|place| MssqlStatements.checks(table, place));
        Ok([computed(table), checks.collect::<Result<Vec<_>>>()?.concat()].concat())
    }

    fn index_text(
        &self,
        table: &TableSchema,
        index: &IndexSchema,
        _: &TableSchema,
    ) -> Result<String> {
        if !index.unique {
            return Ok(MssqlStatements.plain_index(table, index));
        }
        let nullable = MssqlStatements.not_null(table, &index.columns);
        let places = index.columns.iter();
        if nullable.is_empty() && !places.clone().any(|place| is_folded(table, *place)) {
            return Ok(MssqlStatements.unique_constraint(table, index));
        }
        let parts: Vec<_> = places.map(|&place| MssqlStatements.indexed(table, place)).collect();
        let text = MssqlStatements.unique_index(table, index, &parts);
        // Two NULLs would be equal.
        Ok(match nullable.is_empty() {
            true => text,
            false => format!("{text} WHERE {}", nullable.join(" AND ")),
        })
    }

    /// Gives a column of an older table the type, and the computed column, that an index needs.
    fn prepare_column(
        &mut self,
        table: &TableSchema,
        place: usize,
        created: &TableSchema,
    ) -> Result<()> {
        let column = table.column_at(place)?;
        let at = created.column(&column.name).ok();
        let alter = format!("ALTER TABLE {}", MssqlStatements.quoted(table.name()));
        let ty = MssqlStatements.column_type(table, place)?;
        if let Some(at) = at
            && MssqlStatements.column_type(created, at)? != ty
        {
            let checks = MssqlStatements.checks(table, place)?;
            if !checks.is_empty() {
                let name = MssqlStatements.own(check_name(table, &column.name));
                self.push(table, format!("{alter} DROP CONSTRAINT {name}"));
            }
            let null = if column.nullable { "NULL" } else { "NOT NULL" };
            let name = MssqlStatements.column(table, place);
            self.push(table, format!("{alter} ALTER COLUMN {name} {ty} {null}"));
            checks.into_iter().for_each(|check| self.push(table, format!("{alter} ADD {check}")));
        }
        let is_new = at.is_none_or(|at| !is_folded(created, at)) && is_folded(table, place);
        if let Some(text) = computed_column(table, place).filter(|_| is_new) {
            self.push(table, format!("{alter} ADD {text}"));
        }
        Ok(())
    }

    fn describe(&mut self, table: &TableSchema) -> Result<()> {
        remarks(self.schema, table).into_iter().for_each(|text| self.push(table, text));
        Ok(())
    }
}
