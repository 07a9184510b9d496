//! Prepared queries.

use super::SqliteSession;
use super::session_connection::AccessMode;
use bobak_core::{ErrorKind, QueryTemplate, Result, Row, SlotValues, TemplateQuery};

impl SqliteSession<'_> {
    /// See [`Session::run_template`](bobak_core::Session::run_template).
    pub(super) fn run_template_here(
        &self,
        template: &QueryTemplate,
        values: &SlotValues<'_>,
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<Option<u64>> {
        if let TemplateQuery::Update { .. } = template.query() {
            let mut using = self.lend()?;
            using.enter(AccessMode::Write)?;
            return match using.get().run_template(template, values, row) {
                // Nothing is done. The ordinary update finds out which foreign key it is.
                Err(error) if error.kind() == ErrorKind::Constraint => Ok(None),
                ran => ran,
            };
        }
        let mut using = self.lend()?;
        using.enter(AccessMode::Query)?;
        let _callback = using.begin_callback()?;
        using.get().run_template(template, values, row)
    }
}
