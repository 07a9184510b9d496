//! Names in the database.
//!
//! Firebird reads a name without quotes in capitals. So that SQL text finds Bobak's tables without quotes, a name in small
//! letters is in capitals there, and one in capitals in small letters; a name in both stays as it is.

use bobak_core::TableSchema;
use std::borrow::Cow;

/// How the names of substitutes begin.
const SUBSTITUTE: &str = "BOBAK_";

/// The longest names of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Names {
    /// Firebird 3 has 31 bytes; later versions have 63 characters.
    pub is_short: bool,
}

/// A name with its letters in the other case, if all are in one.
pub(crate) fn swap_case(name: &str) -> Cow<'_, str> {
    let has = |test: fn(&u8) -> bool| name.bytes().any(|byte| test(&byte));
    match (has(u8::is_ascii_lowercase), has(u8::is_ascii_uppercase)) {
        (true, false) => name.to_ascii_uppercase().into(),
        (false, true) => name.to_ascii_lowercase().into(),
        _ => name.into(),
    }
}

/// A name in quotes.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A text as a literal.
pub(crate) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// FNV-1a.
fn substitute(kind: char, parts: &[&str]) -> String {
    let bytes = parts.iter().flat_map(|part| part.bytes().chain([0]));
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    format!("{SUBSTITUTE}{kind}{hash:016X}")
}

/// Whether a name of the catalog is a substitute.
pub(crate) fn is_substitute(name: &str) -> bool {
    name.starts_with(SUBSTITUTE)
}

impl Names {
    /// The name of a table or a column, as the catalog has it. One that is too long has a substitute.
    pub(crate) fn stored(self, name: &str) -> Cow<'_, str> {
        let is_long = if self.is_short { name.len() > 31 } else { name.chars().count() > 63 };
        if is_long { substitute('N', &[name]).into() } else { swap_case(name) }
    }

    /// The same, in quotes.
    pub(crate) fn quoted(self, name: &str) -> String {
        quoted(&self.stored(name))
    }

    pub(crate) fn column(self, table: &TableSchema, place: usize) -> String {
        // For a place that the table has not, a name that no column has: the server rejects it.
        self.quoted(table.columns().get(place).map_or("", |column| &column.name))
    }

    /// Columns, parted by commas.
    pub(crate) fn columns(
        self,
        table: &TableSchema,
        places: impl IntoIterator<Item = usize>,
    ) -> String {
        let names: Vec<_> = places.into_iter().map(|place| self.column(table, place)).collect();
        names.join(", ")
    }
}

/// The name of an index, and of its constraint: those of all tables share one name space.
pub(crate) fn index_name(table: &TableSchema, index: &str) -> String {
    substitute('I', &[table.name(), index])
}

/// The name of the key's index.
pub(crate) fn key_name(table: &TableSchema) -> String {
    substitute('K', &[table.name()])
}

/// The name of a column's check.
pub(crate) fn check_name(table: &TableSchema, column: &str) -> String {
    substitute('C', &[table.name(), column])
}

/// The name of the table that has the rows of another one while that is created again, in the catalog.
pub(crate) fn moved_name(table: &TableSchema) -> String {
    substitute('M', &[table.name()])
}

/// The name of the foreign key of these columns.
pub(crate) fn reference_name(table: &TableSchema, columns: &[usize], to: &str) -> String {
    substitute('F', &[table.name(), &table.column_names(columns), to])
}

#[cfg(test)]
mod tests {
    use super::*;

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
