//! An engine that tracks every table as soon as it is created, so that the suite and the model
//! test show that change capture changes nothing else, and misses nothing.

use crate::cases::feed::agrees;
use crate::{Check, Probe, Values};
use bobak_core::Select;
use bobak_core::{
    Engine, EngineLayer, ErrorKind, Outcome, Result, Row, SchemaChange, Session, SessionLayer,
    TableSchema, Value, Write, change_log,
};
use std::sync::Arc;

/// Tracks each table that it creates, until a column is added. When dropped, it compares every log with its table.
pub struct TrackedEngine(Box<dyn Engine>);

impl TrackedEngine {
    /// Wraps an engine.
    #[must_use]
    pub fn new(engine: Box<dyn Engine>) -> Self {
        Self(engine)
    }

    fn check(&self) -> Check {
        let probe = Probe::new(&*self.0)?;
        let tables = probe.session.tables()?;
        let select = Select::all(change_log::tracked_schema());
        let names: Vec<Values> = match probe.select(&select) {
            Err(error) if error.kind() == ErrorKind::Schema => return Ok(()),
            names => names?,
        };
        for table in tables {
            if names.iter().any(|row| row.get(1) == Some(&Value::from(table.name()))) {
                agrees(&probe, &Arc::new(table))?;
            }
        }
        Ok(())
    }
}

impl Drop for TrackedEngine {
    #[allow(clippy::panic, reason = "this is the end of a test's body")]
    fn drop(&mut self) {
        if let Err(failure) = self.check()
            && !std::thread::panicking()
        {
            panic!("{failure}");
        }
    }
}

fn untrack_altered(
    changes: &[SchemaChange],
    run: &impl Fn(&[SchemaChange]) -> Result<()>,
) -> Result<()> {
    for change in changes {
        // A log cannot follow each of these.
        let altered = match change {
            SchemaChange::AlterTable(alteration) => alteration.from(),
            SchemaChange::DropTable(table) => table,
            _ => continue,
        };
        match run(&[SchemaChange::Untrack(Arc::clone(altered))]) {
            // The change itself says that the table is missing.
            Err(error) if matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::Schema) => {}
            untracked => untracked?,
        }
    }
    Ok(())
}

fn alter(changes: &[SchemaChange], run: impl Fn(&[SchemaChange]) -> Result<()>) -> Result<()> {
    untrack_altered(changes, &run)?;
    run(changes)?;
    for change in changes {
        let tracked = match change {
            SchemaChange::CreateTable(table) => {
                run(&[SchemaChange::Track { table: Arc::clone(table), history: false }])
            }
            // What old rows get in a new column is no change of theirs: the log can't give it.
            SchemaChange::AddColumn { table, .. } => {
                run(&[SchemaChange::Untrack(Arc::clone(table))])
            }
            _ => Ok(()),
        };
        match tracked {
            Err(error) if error.kind() == ErrorKind::Unsupported => {}
            tracked => tracked?,
        }
    }
    Ok(())
}

impl EngineLayer for TrackedEngine {
    fn inner(&self) -> &dyn Engine {
        &*self.0
    }

    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(TrackingSession(self.0.session()?)))
    }

    fn write(&self, write: &Write<'_>) -> Result<Outcome> {
        self.0.write(write)
    }

    fn get(
        &self,
        table: &Arc<TableSchema>,
        key: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<()>,
    ) -> Result<bool> {
        self.0.get(table, key, row)
    }

    fn alter(&self, changes: &[SchemaChange]) -> Result<()> {
        alter(changes, |changes| self.0.alter(changes))
    }
}

struct TrackingSession<'e>(Box<dyn Session + 'e>);

impl SessionLayer for TrackingSession<'_> {
    fn inner(&self) -> &(dyn Session + '_) {
        &*self.0
    }

    fn alter(&self, changes: &[SchemaChange]) -> Result<()> {
        alter(changes, |changes| self.0.alter(changes))
    }
}
