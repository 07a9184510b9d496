//! The databases that are served, as each client may see them.

pub(crate) mod change_feed;
pub(crate) mod handle;
pub(crate) mod latest_changes;
pub(crate) mod relations;
pub(crate) mod row_visibility;
pub(crate) mod row_writer;
pub(crate) mod schema_cache;
pub(crate) mod table;
