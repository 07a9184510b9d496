//! Searches and distances, which not every server's engine computes.

use bobak_core::{Capabilities, Result, Source};

/// Rejects a search, or a query for the nearest rows, before anything is sent, if the server's engine cannot run it.
pub(super) fn check(engine: &str, capabilities: &Capabilities, source: &Source<'_>) -> Result<()> {
    match source {
        Source::Select(select) => {
            select.check_vectors(engine, capabilities.vectors)?;
            select.check_search(engine, capabilities.search)
        }
        Source::Sql { .. } => Ok(()),
    }
}
