//! What a statement accesses: a statement that needs only one engine can go straight there.

use crate::Federation;
use bobak_core::{Result, Value};
use bobak_sqlite::extension::{ExtendedConnection, StatementAction};

/// What a statement accesses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatementAnalysis {
    /// The tables that it reads or writes: the name of the attached engine, `None` for the
    /// federation's own tables; and the table's name.
    pub tables: Vec<(Option<String>, String)>,
    /// Whether it does anything other than reading.
    pub writes: bool,
    /// The functions that it calls, as spelled in the statement.
    pub functions: Vec<String>,
    /// The names of its result columns; empty if it returns no rows.
    pub columns: Vec<String>,
}

impl Federation {
    /// Analyzes a statement. It is prepared, but does not run.
    ///
    /// # Errors
    /// `Syntax`, `Schema` for a wrong statement.
    pub fn analyze(&self, text: &str) -> Result<StatementAnalysis> {
        self.with_fresh_tables(|| {
            self.sqlite.with_connection(|connection| self.analyze_on(connection, text))
        })
    }

    fn analyze_on(
        &self,
        connection: &mut ExtendedConnection<'_>,
        text: &str,
    ) -> Result<StatementAnalysis> {
        let statement = connection.prepare(text)?;
        let mut analysis = StatementAnalysis {
            writes: !connection.is_read_only(statement),
            columns: connection.column_names(statement),
            ..StatementAnalysis::default()
        };
        for action in connection.actions(statement).to_vec() {
            match action {
                StatementAction::Read { database, table } => {
                    let database = match database.is_empty() {
                        true => self.database_of(connection, &table)?,
                        false => database,
                    };
                    self.add_table(&mut analysis, &database, table);
                }
                StatementAction::Write { database, table, .. } => {
                    self.add_table(&mut analysis, &database, table);
                }
                StatementAction::Function(name) => analysis.functions.push(name),
                StatementAction::Schema(_)
                | StatementAction::Attach
                | StatementAction::Detach(_)
                | StatementAction::Pragma(..)
                | StatementAction::Other => analysis.writes = true,
            }
        }
        Ok(analysis)
    }

    fn add_table(&self, analysis: &mut StatementAnalysis, database: &str, table: String) {
        // SQLite reports a subquery as a table without a database.
        if database.is_empty() {
            return;
        }
        let position = match self.attached.position(database) {
            None if database == "main" && self.attached.is_standalone() => Some(0),
            position => position,
        };
        let engine = position.and_then(|position| self.attached.all().get(position));
        let entry = (engine.map(|engine| engine.name.clone()), table);
        if !analysis.tables.contains(&entry) {
            analysis.tables.push(entry);
        }
    }

    /// The database that an unqualified table name refers to; SQLite does not report it if the
    /// statement reads no column of the table. Empty if there is no such table.
    fn database_of(&self, connection: &mut ExtendedConnection<'_>, table: &str) -> Result<String> {
        let sql = "SELECT count(*) FROM main.sqlite_schema WHERE lower(name) = lower(?)";
        let own = connection.query(sql, &[Value::from(table)])?;
        if !matches!(own.first().and_then(|row| row.first()), Some(Value::Int(0))) {
            return Ok("main".to_owned());
        }
        let catalog = self.attached.catalog();
        let mut engines = self.attached.all().iter().enumerate();
        let found = engines.find(|(position, _)| catalog.table(*position, table).is_some());
        Ok(found.map_or(String::new(), |(_, engine)| engine.name.clone()))
    }
}
