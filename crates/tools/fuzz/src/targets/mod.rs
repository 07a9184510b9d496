//! The targets, by what they decode.

pub(crate) mod condition;
pub(crate) mod files;
pub(crate) mod http;
pub(crate) mod permissions;
pub(crate) mod postgres;
pub(crate) mod rows;
pub(crate) mod session;
pub(crate) mod sqinn;
pub(crate) mod sql;
pub(crate) mod text;
pub(crate) mod url;
pub(crate) mod wire;
