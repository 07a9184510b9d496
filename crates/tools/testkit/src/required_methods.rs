//! An engine of which only the required methods are used: so that the suite tests every default.

use bobak_core::{
    Capabilities, Engine, Outcome, Result, Row, SchemaChange, Session, Source, TableSchema,
    TransactionControl, Write,
};

/// Any engine, without the methods that have defaults. [`Capabilities`] are data, and stay.
pub struct RequiredMethods(Box<dyn Engine>);

impl RequiredMethods {
    /// Wraps an engine.
    #[must_use]
    pub fn new(engine: Box<dyn Engine>) -> Self {
        Self(engine)
    }
}

impl Engine for RequiredMethods {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn capabilities(&self) -> Capabilities {
        let mut capabilities = self.0.capabilities();
        // These are methods with defaults.
        capabilities.explain = false;
        capabilities.value_parts = false;
        capabilities
    }

    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(RequiredSession(self.0.session()?)))
    }
}

struct RequiredSession<'e>(Box<dyn Session + 'e>);

impl Session for RequiredSession<'_> {
    fn control(&self, step: TransactionControl<'_>) -> Result<()> {
        self.0.control(step)
    }

    fn in_transaction(&self) -> bool {
        self.0.in_transaction()
    }

    fn write(&self, write: &Write<'_>) -> Result<Outcome> {
        self.0.write(write)
    }

    fn query(
        &self,
        source: &Source<'_>,
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        self.0.query(source, row)
    }

    fn tables(&self) -> Result<Vec<TableSchema>> {
        self.0.tables()
    }

    fn alter(&self, changes: &[SchemaChange]) -> Result<()> {
        self.0.alter(changes)
    }
}
