//! What a database knows of itself as a replica.

use super::position;
use bobak_core::{Engine, Field, Result, Timestamp, ValueRef};

/// How far a replica is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReplicaState {
    /// The number of the source's change up to which it has all changes.
    pub position: u64,
    /// Whether the first copy is complete.
    pub is_complete: bool,
    /// The time of the last applied change at the source; `None` if there was none.
    pub changed_at: Option<Timestamp>,
    /// The names of the replicated tables.
    pub tables: Vec<String>,
}

/// The state of a database as a replica; `None` if it is none.
///
/// # Errors
/// Those of the engine.
pub fn replica_state(engine: &dyn Engine) -> Result<Option<ReplicaState>> {
    let Some(position) = position::read(engine)? else { return Ok(None) };
    let changed_at = position.made.map(|made| Timestamp::from_value(ValueRef::Int(made)));
    Ok(Some(ReplicaState {
        position: position.at,
        is_complete: position.filled,
        changed_at: changed_at.transpose()?,
        tables: position.tables,
    }))
}
