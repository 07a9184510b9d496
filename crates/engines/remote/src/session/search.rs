//! Searches, which not every server's engine runs.

use bobak_core::{Result, Source};

/// Rejects a search before anything is sent, if the server's engine cannot run it.
pub(super) fn check(engine: &str, searches: bool, source: &Source<'_>) -> Result<()> {
    match source {
        Source::Select(select) => select.check_search(engine, searches),
        Source::Sql { .. } => Ok(()),
    }
}
