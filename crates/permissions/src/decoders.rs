//! The decoders of this crate, for those who try them with any bytes: no part of its interface.

/// The names in an SQL text that may be those of tables.
#[must_use]
pub fn tables(sql: &str) -> Vec<String> {
    crate::guard::tables(sql)
}
