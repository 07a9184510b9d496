//! The crate's decoders, for fuzzing: not part of its interface.

/// The names in an SQL text that may be those of tables.
#[must_use]
pub fn table_references(sql: &str) -> Vec<String> {
    crate::engine::table_references(sql)
}
