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

/// A name for something that has none of its own.
pub(crate) fn substitute(kind: char, parts: &[&str]) -> String {
    substitute_name(kind, parts).to_ascii_uppercase()
}

/// Whether a name of the catalog is a substitute.
pub(crate) fn is_substitute(name: &str) -> bool {
    name.starts_with(SUBSTITUTE)
}

/// The name of the table that has the rows of another one while that is created again, in the catalog.
pub(crate) fn moved_name(table: &TableSchema) -> String {
    substitute('m', &[table.name()])
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
