//! Searches, which not every server's engine runs.

use crate::engine::RemoteState;
use bobak_core::{Result, Source};

/// Rejects a search that the server's engine cannot run, before anything is sent.
pub(super) fn check(engine: &RemoteState, source: &Source<'_>) -> Result<()> {
    match source {
        Source::Select(select) => select.check_search(&engine.engine, engine.capabilities.search),
        Source::Sql { .. } => Ok(()),
    }
}
