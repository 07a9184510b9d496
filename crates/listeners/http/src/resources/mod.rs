//! The resources: one file for each path, or for what several paths share.

pub(crate) mod access;
pub(crate) mod aggregate;
pub(crate) mod backups;
pub(crate) mod batch;
pub(crate) mod bulk_change;
pub(crate) mod bulk_load;
mod change_page;
pub(crate) mod changes;
pub(crate) mod create;
pub(crate) mod export;
pub(crate) mod history;
pub(crate) mod import;
#[cfg(feature = "arrow")]
mod import_arrow;
pub(crate) mod list;
pub(crate) mod load_report;
pub(crate) mod migrations;
pub(crate) mod openapi;
pub(crate) mod query;
pub(crate) mod related_rows;
pub(crate) mod row;
pub(crate) mod server_status;
pub(crate) mod session;
pub(crate) mod snippets;
pub(crate) mod sql;
pub(crate) mod statements;
pub(crate) mod stored_row;
pub(crate) mod studio;
pub(crate) mod tables;
pub(crate) mod value;
