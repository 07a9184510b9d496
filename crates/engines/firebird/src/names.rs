//! Names in the database.
//!
//! Firebird reads a name without quotes in capitals. So that SQL text finds Bobak's tables without quotes, a name in small
//! letters is in capitals there, and one in capitals in small letters; a name in both stays as it is.

use bobak_core::TableSchema;
use bobak_engine_common::substitute_name;

pub(crate) use bobak_engine_common::swap_case;

/// How the names of substitutes begin.
const SUBSTITUTE: &str = "BOBAK_";

/// The longest names of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Names {
    /// Firebird 3 has 31 bytes; later versions have 63 characters.
    pub is_short: bool,
}

/// A name in quotes.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A text as a literal.
pub(crate) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A name for something that has none of its own.
pub(crate) fn substitute(kind: char, parts: &[&str]) -> String {
    substitute_name(kind, parts).to_ascii_uppercase()
}

/// Whether a name of the catalog is a substitute.
pub(crate) fn is_substitute(name: &str) -> bool {
    name.starts_with(SUBSTITUTE)
}

/// The name of an index, and of its constraint: those of all tables share one name space.
pub(crate) fn index_name(table: &TableSchema, index: &str) -> String {
    bobak_engine_common::index_name(table, index).to_ascii_uppercase()
}

/// The name of the key's index.
pub(crate) fn key_name(table: &TableSchema) -> String {
    bobak_engine_common::key_name(table).to_ascii_uppercase()
}

/// The name of a column's check.
pub(crate) fn check_name(table: &TableSchema, column: &str) -> String {
    bobak_engine_common::check_name(table, column).to_ascii_uppercase()
}

/// The name of the table that has the rows of another one while that is created again, in the catalog.
pub(crate) fn moved_name(table: &TableSchema) -> String {
    substitute('m', &[table.name()])
}

/// The name of the foreign key of these columns.
pub(crate) fn reference_name(table: &TableSchema, columns: &[usize], to: &str) -> String {
    bobak_engine_common::reference_name(table, columns, to).to_ascii_uppercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bobak_engine_common::StatementDialect;

    #[test]
    fn names_are_swapped_and_shortened() {
        for name in ["person", "PERSON", "Person", "order 1", "ü", ""] {
            assert_eq!(swap_case(&swap_case(name)), name);
        }
        let (short, long) = (Names { is_short: true }, Names { is_short: false });
        let name = "a_name_of_more_than_31_characters_";
        assert_eq!(long.stored(name), name.to_uppercase());
        let stored = short.stored(name);
        assert!(stored.starts_with(SUBSTITUTE) && stored.len() <= 31, "{stored}");
        assert_ne!(stored, short.stored("another_name_of_more_than_31_characters"));
        assert_eq!(quoted("a \"b\""), "\"a \"\"b\"\"\"");
    }
}
