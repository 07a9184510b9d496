//! Statements of the engines that have a dialect of their own: Firebird and SQL Server.

use bobak_core::TableSchema;

/// Checks every text that creates the table: it is one statement, about this table.
pub(super) fn rendered(table: &TableSchema) {
    for text in bobak_firebird::fuzz::created(table).unwrap_or_default() {
        check(&text, table.name(), false);
    }
    for text in bobak_mssql::fuzz::created(table).unwrap_or_default() {
        check(&text, table.name(), true);
    }
}

/// `brackets` tells whether names may be in brackets, as SQL Server has them.
fn check(text: &str, table: &str, brackets: bool) {
    let mut depth = 0_usize;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        assert!(!rest.starts_with("--") && !rest.starts_with("/*"), "a comment in {text}");
        let length = match first {
            '\'' | '"' => quoted(rest, first),
            '[' if brackets => quoted(rest, ']'),
            _ => Some(first.len_utf8()),
        };
        match first {
            '(' => depth += 1,
            ')' => depth = depth.checked_sub(1).expect("parentheses are balanced"),
            ';' => panic!("more than one statement in {text}"),
            _ => {}
        }
        rest = rest.get(length.expect("what is quoted ends")..).unwrap_or_default();
    }
    assert_eq!(depth, 0, "parentheses in {text}");
    let own = match brackets {
        true => format!("[{}]", table.replace(']', "]]")),
        false => format!("\"{}\"", table.replace('"', "\"\"")),
    };
    for begin in ["CREATE TABLE ", "ALTER TABLE ", "COMMENT ON TABLE "] {
        if let Some(rest) = text.strip_prefix(begin) {
            let rest = rest.strip_prefix("[dbo].").unwrap_or(rest);
            let named = rest.get(..own.len()).unwrap_or_default();
            assert!(named.eq_ignore_ascii_case(&own), "{own} in {text}");
        }
    }
}

/// The length of what is quoted at the start of the text, up to this character, which is doubled inside.
fn quoted(text: &str, end: char) -> Option<usize> {
    let mut characters = text.char_indices().skip(1).peekable();
    while let Some((place, character)) = characters.next() {
        if character == end && characters.next_if(|(_, next)| *next == end).is_none() {
            return Some(place + end.len_utf8());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use bobak_core::{ColumnSchema, Type};

    #[test]
    fn both_engines_have_statements_for_a_table() {
        let table = TableSchema::builder("t\"x]y")
            .column(ColumnSchema::new("id", Type::I64))
            .column(ColumnSchema::new("a'b", Type::Text).check("\"a'b\" <> 'c]''d'"))
            .key(["id"])
            .build()
            .unwrap();
        assert!(bobak_firebird::fuzz::created(&table).unwrap().len() > 2);
        assert!(!bobak_mssql::fuzz::created(&table).unwrap().is_empty());
        rendered(&table);
    }

    #[test]
    #[should_panic(expected = "more than one statement")]
    fn a_second_statement_is_found() {
        check("CREATE TABLE [t] ([a]] int]); DROP TABLE x", "t", true);
    }

    #[test]
    #[should_panic(expected = "what is quoted ends")]
    fn an_open_quote_is_found() {
        check("CREATE TABLE \"t\" (\"a\" VARCHAR(3) DEFAULT 'x)", "t", false);
    }
}
