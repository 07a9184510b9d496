//! How a statement over several engines is run, in words.

use super::Host;
use super::plan::Plan;
use super::table::split_number;
use bobak_core::{Result, Value};

impl Host {
    /// One line for each table that a statement reads, in the order in which SQLite goes through
    /// them, and one for each thing that it does itself.
    ///
    /// # Errors
    /// Those of a wrong statement.
    pub fn explain(&self, text: &str, parameters: &[Value<'_>]) -> Result<Vec<String>> {
        self.touched(text)?;
        let inner = self.sqlite.inner();
        let mut lease = inner.read()?;
        if lease.db.is_autocommit() {
            lease.join(&self.guests, inner.is_private())?;
        }
        let rows = lease.all_rows(&format!("EXPLAIN QUERY PLAN {text}"), parameters)?;
        let detail = |row: Vec<Value<'static>>| match row.into_iter().nth(3) {
            Some(Value::Text(text)) => text.into_owned(),
            _ => String::new(),
        };
        Ok(rows.into_iter().map(detail).map(|line| self.line(&line)).collect())
    }

    /// SQLite's line, with the plan of a virtual table in words.
    fn line(&self, line: &str) -> String {
        let guest = line.split_once(" VIRTUAL TABLE INDEX ").and_then(|(_, rest)| {
            let (number, plan) = rest.split_once(':')?;
            let (guest, table) = split_number(number.parse().ok()?);
            let catalog = self.guests.catalog();
            let table = catalog.tables.get(guest)?.get(table)?;
            let name = &self.guests.all().get(guest)?.name;
            let plan = Plan::parse(plan.split_whitespace().next()?)?;
            Some(format!("{name}.{}: {}", table.name(), plan.words(table)))
        });
        guest.unwrap_or_else(|| format!("sqlite: {}", line.to_lowercase()))
    }
}
