//! The plan of a statement over several engines, in words.

use crate::Federation;
use crate::plan::ScanPlan;
use crate::table::split_number;
use bobak_core::{Parameter, Result, Value};

impl Federation {
    /// The steps of a statement, in the order in which SQLite runs them: one line for each table
    /// that it reads and for each sort or other work of SQLite.
    ///
    /// # Errors
    /// `Syntax`, `Schema` for a wrong statement.
    pub fn explain(&self, text: &str, parameters: &[Parameter<'_>]) -> Result<Vec<String>> {
        // Looks for new tables if one is missing.
        self.analyze(text)?;
        let values = Parameter::values(parameters);
        let rows = self.sqlite.with_connection(|connection| {
            let text = connection.stored_text(text, parameters)?;
            connection.query(&format!("EXPLAIN QUERY PLAN {text}"), &values)
        })?;
        let detail = |row: Vec<Value<'static>>| match row.into_iter().nth(3) {
            Some(Value::Text(text)) => text.into_owned(),
            _ => String::new(),
        };
        Ok(rows.into_iter().map(detail).map(|step| self.describe(&step)).collect())
    }

    /// SQLite's description of a step, with the plan of a virtual table in words.
    fn describe(&self, step: &str) -> String {
        let scan = step.split_once(" VIRTUAL TABLE INDEX ").and_then(|(_, rest)| {
            let (number, plan) = rest.split_once(':')?;
            let (engine, table) = split_number(number.parse().ok()?);
            let catalog = self.attached.catalog();
            let table = catalog.tables.get(engine)?.get(table)?;
            let name = &self.attached.all().get(engine)?.name;
            let plan = ScanPlan::parse(plan.split_whitespace().next()?)?;
            Some(format!("{name}.{}: {}", table.name(), plan.words(table)))
        });
        scan.unwrap_or_else(|| format!("sqlite: {}", step.to_lowercase()))
    }
}
