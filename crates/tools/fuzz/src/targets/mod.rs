//! The targets, by what they decode.

mod access;
mod blocks;
mod condition;
mod encrypted;
mod files;
mod http;
mod mssql;
mod other_statements;
mod permissions;
mod postgres;
mod rows;
mod schema_sql;
mod session;
mod sqinn;
mod sql;
mod text;
mod typing;
mod url;
mod wire;

pub use schema_sql::independent_schemas;

use crate::target::Target;

/// All targets.
pub const TARGETS: &[Target] = &[
    wire::FRAMES,
    wire::REQUESTS,
    wire::RESPONSES,
    wire::SCHEMAS,
    blocks::BLOCKS,
    rows::ROWS,
    session::SESSION,
    sqinn::SQINN,
    text::VALUES,
    condition::CONDITIONS,
    sql::SQL,
    sql::TOKENS,
    sql::TABLES,
    typing::TYPING,
    schema_sql::SCHEMA_SQL,
    http::JSON,
    http::IMPORT,
    http::TARGET,
    files::SNAPSHOT,
    files::BACKUP,
    files::ARCHIVE,
    permissions::ACCESS,
    url::URLS,
    postgres::POSTGRES,
    mssql::MSSQL,
    access::ACCESS,
    encrypted::ENCRYPTED,
];

/// The target with this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}
