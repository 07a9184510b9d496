//! Group commit: writes that wait for the same engine are committed together, with one sync for all of them and a result
//! for each. Pipelines and the async API queue their writes and hand them to this module.

mod group;
mod result_slot;

pub(crate) use group::write_group;
pub(crate) use result_slot::ResultSlot;
