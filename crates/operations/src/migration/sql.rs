//! What a plan does, in SQL: for its readers.

use super::action::Action;
use super::plan::MigrationPlan;
use super::simulate::simulate;
use super::step::MigrationStep;
use bobak_core::{Result, SchemaChange, TableSchema};
use bobak_sql::{
    ConstraintNames, Dialect, add_index, alter_table, changed_columns, create_table, quote,
};

impl MigrationPlan {
    /// The plan's statements in the SQL of an engine (`sqlite`, `postgres`, `mysql`), from these tables on. An engine may have other names of
    /// constraints and indexes, and does more: SQLite rebuilds a table for a column with other rules, of which
    /// there is a comment here.
    ///
    /// # Errors
    /// `Unsupported` for an engine without SQL, and for a rule that the engine cannot have.
    pub fn to_sql(&self, engine: &str, tables: &[TableSchema]) -> Result<Vec<String>> {
        let dialect = match engine {
            "sqlite" => Dialect::Sqlite,
            "postgres" => Dialect::Postgres,
            "mysql" => Dialect::MariaDb,
            other => return Err(bobak_core::Error::unsupported(other, "SQL")),
        };
        let mut tables = tables.to_vec();
        let mut texts = Vec::new();
        for step in &self.steps {
            texts.extend(step_to_sql(dialect, step, &tables)?);
            tables = simulate(&tables, step)?;
        }
        Ok(texts)
    }
}

fn step_to_sql(
    dialect: Dialect,
    step: &MigrationStep,
    tables: &[TableSchema],
) -> Result<Vec<String>> {
    let mut texts = Vec::new();
    for action in step.actions(tables, false)? {
        match action {
            Action::Change(SchemaChange::CreateTable(table)) => {
                texts.extend(create_table(dialect, &table)?);
            }
            Action::Change(SchemaChange::DropTable(table)) => {
                texts.push(format!("DROP TABLE {}", quote(dialect, table.name())));
            }
            Action::Change(SchemaChange::AlterTable(change)) => {
                let change = change.in_stored_order()?;
                let names = ConstraintNames::expected(change.from());
                texts.extend(alter_table(dialect, &change, &names)?);
                let columns = changed_columns(&change);
                let is_rebuilt = !columns.is_empty() || change.changes_key_reuse();
                if dialect == Dialect::Sqlite && is_rebuilt {
                    texts.push(format!("-- rebuild table {}", change.to().name()));
                }
                let is_mysql = matches!(dialect, Dialect::MariaDb | Dialect::MySql);
                let indexes = change.added_indexes().into_iter().filter(|_| !is_mysql);
                for index in indexes {
                    texts.push(add_index(dialect, change.to(), index)?);
                }
            }
            Action::Change(_) => {}
            Action::Convert { table, from, .. } => {
                let column = table.column_at(from)?;
                texts.push(format!("-- convert the values of {}.{}", table.name(), column.name));
            }
            // Only of tracked tables, of which a plan does not know.
            Action::Fill { .. } | Action::ConvertLog { .. } | Action::NoteDrop(_) => {}
            Action::Sql(text) => texts.push(text),
            Action::Rust(name) => texts.push(format!("-- run the function {name}")),
        }
    }
    Ok(texts)
}
