//! The flag `--type` of commands that show the types of columns.

use crate::commands::arguments::column_type;
use crate::error::{Error, Result};
use crate::output::Terminal;
use bobak::engine::Engine;
use bobak::schema::{TableSchema, Type};
use bobak::stored_types::{MAX_ROWS, TypedEngine, names_column_of};
use clap::Args;
use std::sync::Arc;

/// The types that the user gives columns.
#[derive(Debug, Args)]
pub struct GivenTypes {
    /// Type of a column: COLUMN or TABLE.COLUMN, and a type as in bobak import, which its values must have. May be repeated
    /// [default: the column's own; of an untyped column of an SQLite file, the one that all values have]
    #[arg(long = "type", value_name = "COLUMN=TYPE", value_parser = column_type)]
    types: Vec<(String, Type)>,
}

impl GivenTypes {
    /// The names with their types.
    #[must_use]
    pub fn types(&self) -> Vec<(&str, Type)> {
        self.types.iter().map(|(name, ty)| (name.as_str(), *ty)).collect()
    }

    /// Checks that each name is that of a column.
    ///
    /// # Errors
    /// A sentence with the name that is none.
    pub fn check(&self, tables: &[TableSchema]) -> Result<()> {
        let is_there = |name: &str| tables.iter().any(|table| names_column_of(table, name));
        match self.types.iter().find(|(name, _)| !is_there(name)) {
            Some((name, _)) => {
                Err(Error::failed(format!("--type {name}: there is no such column")))
            }
            None => Ok(()),
        }
    }

    /// The databases as servers show them: untyped columns of SQLite files have the types of their values.
    ///
    /// # Errors
    /// If a name is that of no column, or a value does not have the type that is given.
    pub fn typed(
        &self,
        databases: &[(String, Arc<dyn Engine>)],
        screen: &Terminal,
    ) -> Result<Vec<(String, Arc<dyn Engine>)>> {
        let has_weak_types = |engine: &Arc<dyn Engine>| engine.capabilities().weak_types;
        let mut tables = Vec::new();
        for (_, engine) in databases.iter().filter(|(_, engine)| has_weak_types(engine)) {
            tables.extend(engine.session()?.tables_and_views()?);
        }
        self.check(&tables)?;
        let typed = |(name, engine): &(String, Arc<dyn Engine>)| {
            let mut engine = Arc::clone(engine);
            if has_weak_types(&engine) {
                let (typed, partly_read) = TypedEngine::open(engine, self.types.clone())?;
                partly_read.iter().for_each(|table| note_partly_read(table, screen));
                engine = Arc::new(typed);
            }
            Ok((name.clone(), engine))
        };
        databases.iter().map(typed).collect()
    }
}

/// Says that not all rows of a table were read for its types.
pub fn note_partly_read(table: &str, screen: &Terminal) {
    screen.note(format_args!("{table}: the types are those of the first {MAX_ROWS} rows"));
}
