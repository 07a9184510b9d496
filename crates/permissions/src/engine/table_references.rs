//! Which tables an SQL text may name.
//!
//! Found in the text alone: what the database says of a text depends on the tables that exist, and
//! that must not show. Names that are no tables may be among the result, never the other way round.

use bobak_core::sql_token::{SqlSyntax, SqlToken, SqlTokenKind, SqlTokenizer};
use std::collections::HashSet;

/// The words that a table's name may follow.
const BEFORE_TABLE: [&str; 10] =
    ["from", "join", "into", "update", "ignore", "replace", "abort", "fail", "rollback", "in"];
/// The words that end a list of tables.
const AFTER_TABLES: [&str; 10] = [
    "select",
    "where",
    "group",
    "having",
    "order",
    "limit",
    "set",
    "values",
    "returning",
    "window",
];
/// Words that can be a name in quotes only.
const RESERVED: [&str; 7] = ["or", "not", "case", "distinct", "exists", "null", "default"];

/// What precedes a token.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PrecedingToken {
    /// Something that a table's name follows.
    TablePosition,
    /// A table's name.
    Table,
    Other,
}

/// The names in table positions, in order, without duplicates. Includes names that the text defines
/// itself, with WITH.
pub(crate) fn table_references(sql: &str) -> Vec<String> {
    let (mut names, mut seen) = (Vec::new(), HashSet::new());
    // For each open bracket: whether a table follows a comma in it.
    let mut lists = vec![false];
    let mut preceding = PrecedingToken::Other;
    for token in tokens(sql) {
        let in_list = lists.last().copied().unwrap_or_default();
        preceding = match (name(&token), token.text) {
            (Some(_), word) if is_any(&token, &BEFORE_TABLE) => {
                if !word.eq_ignore_ascii_case("in")
                    && let Some(list) = lists.last_mut()
                {
                    *list = true;
                }
                PrecedingToken::TablePosition
            }
            (Some(_), _) if is_any(&token, &AFTER_TABLES) => {
                if let Some(list) = lists.last_mut() {
                    *list = false;
                }
                PrecedingToken::Other
            }
            (Some(_), _) if is_any(&token, &RESERVED) => PrecedingToken::Other,
            (Some(name), _) if preceding == PrecedingToken::TablePosition => {
                if seen.insert(name.to_ascii_lowercase()) {
                    names.push(name);
                }
                PrecedingToken::Table
            }
            (None, ".") if preceding == PrecedingToken::Table => PrecedingToken::TablePosition,
            (None, ",") if in_list => PrecedingToken::TablePosition,
            (None, "(") => {
                // Otherwise a list of columns or arguments, which follows a name.
                let is_tables = in_list && preceding == PrecedingToken::TablePosition;
                lists.push(is_tables);
                if is_tables { PrecedingToken::TablePosition } else { PrecedingToken::Other }
            }
            (None, ")") => {
                lists.pop();
                PrecedingToken::Other
            }
            _ => PrecedingToken::Other,
        };
    }
    names
}

/// All names in a text, and all that may stand for one.
pub(super) fn all_names(sql: &str) -> impl Iterator<Item = String> {
    tokens(sql).filter_map(|token| name(&token))
}

/// The first words of a text, in lower case.
pub(super) fn first_words(sql: &str) -> impl Iterator<Item = String> {
    let tokens = tokens(sql).skip_while(|token| token.is_operator(";"));
    tokens.map_while(|token| {
        (token.kind == SqlTokenKind::Word).then(|| token.text.to_ascii_lowercase())
    })
}

/// Whether rows that conflict with new ones are replaced: `REPLACE INTO`, `OR REPLACE`. A column of
/// that name looks the same; the function is followed by a bracket.
pub(super) fn replaces_rows(sql: &str) -> bool {
    let mut pairs = tokens(sql).zip(tokens(sql).skip(1));
    pairs.any(|(word, next)| word.is_word("replace") && !next.is_operator("("))
}

/// Whether tables are joined by the names of their columns: `NATURAL JOIN`, `USING (…)`.
pub(super) fn joins_by_name(sql: &str) -> bool {
    tokens(sql).any(|token| is_any(&token, &["natural", "using"]))
}

/// Tokens of SQLite: it is the only engine that runs SQL of callers without all permissions.
fn tokens(sql: &str) -> impl Iterator<Item = SqlToken<'_>> {
    SqlTokenizer::new(SqlSyntax::Sqlite, sql).significant()
}

/// The name that a token may stand for: SQLite also takes a string for a name.
fn name(token: &SqlToken<'_>) -> Option<String> {
    let is_name =
        matches!(token.kind, SqlTokenKind::Word | SqlTokenKind::QuotedName | SqlTokenKind::Text);
    is_name.then(|| token.unquoted().into_owned())
}

fn is_any(token: &SqlToken<'_>, words: &[&str]) -> bool {
    words.iter().any(|word| token.is_word(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_found_in_text() {
        for (sql, expected) in [
            (
                "SELECT a, b FROM x JOIN \"y\"\"z\" ON 'q' = x.b, c -- FROM no",
                vec!["x", "y\"z", "c"],
            ),
            ("INSERT OR IGNORE INTO [t u] (a, b) SELECT * FROM main.`v`", vec!["t u", "main", "v"]),
            ("update OR replace t set b = (select c from d, f), e = 1", vec!["t", "d", "f"]),
            ("WITH c AS (SELECT 1 FROM s /* x */) SELECT * FROM c, 'd'", vec!["s", "c", "d"]),
            ("SELECT 1 FROM (a, b AS x) WHERE y IN z AND q IN (1, r)", vec!["a", "b", "z"]),
            ("SELECT 1 FROM ((SELECT 2 FROM g, h) AS i, j) ORDER BY k, l", vec!["g", "h", "j"]),
            ("DELETE FROM \"open", vec!["open"]),
            ("SELECT 1 /*/ ' */ FROM a -- '", vec!["a"]),
            ("SELECT 1 \u{feff}FROM\u{b}a", vec!["a"]),
            ("SELECT $x(') FROM a -- '", vec!["a"]),
            ("SELECT $x::y(') , :z, @é FROM a -- '", vec!["a"]),
            ("SELECT $(') FROM a -- '", vec![]),
            ("DELETE FROM a WHERE (b, c) = (1, 2) RETURNING d, e", vec!["a"]),
        ] {
            assert_eq!(table_references(sql), expected, "{sql}");
        }
        let first: Vec<_> = first_words(" ;; /* a */ Explain\nQUERY plan (1)").collect();
        assert_eq!(first, ["explain", "query", "plan"]);
    }
}
