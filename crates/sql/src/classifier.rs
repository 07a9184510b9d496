//! The statement classifier: what a statement does, judged by its words before it runs.
//!
//! Callers often do not know which database runs a statement, and a wrong "only reads" would let a
//! statement write where writing is forbidden. [`only_reads`] therefore holds for every syntax: text
//! that one database takes for a comment or a string is code to another.

use bobak_core::sql_token::{SqlSyntax, SqlTokenKind, SqlTokenizer};

/// Words that a statement starts with if it changes something.
const CHANGES: [&str; 10] = [
    "insert", "update", "delete", "replace", "create", "drop", "alter", "reindex", "analyze",
    "vacuum",
];

/// Whether the statement may return rows; otherwise it changes something.
#[must_use]
pub fn returns_rows(sql: &str) -> bool {
    let is_change = is_change(main_verb(sql));
    !is_change || words(SqlSyntax::Sqlite, sql).skip(1).any(|word| is(word, "returning"))
}

/// The word that says what the statement does: the first, or that after the queries of a WITH.
fn main_verb(sql: &str) -> &str {
    const VERBS: [&str; 7] = ["select", "values", "insert", "update", "delete", "replace", "merge"];
    let first = words(SqlSyntax::Sqlite, sql).next().unwrap_or_default();
    if !is(first, "with") {
        return first;
    }
    let mut depth = 0_i32;
    let mut outside = SqlTokenizer::new(SqlSyntax::Sqlite, sql).significant().filter(|token| {
        depth += i32::from(token.is_operator("(")) - i32::from(token.is_operator(")"));
        depth == 0 && token.kind == SqlTokenKind::Word
    });
    outside
        .find(|token| VERBS.iter().any(|verb| is(token.text, verb)))
        .map_or(first, |token| token.text)
}

/// Whether the statement contains a word outside of quotes and comments.
#[must_use]
pub fn has_word(sql: &str, word: &str) -> bool {
    words(SqlSyntax::Sqlite, sql).any(|other| is(other, word))
}

/// The first word of the statement, as written; empty if it starts with something else. Comments and
/// semicolons before it are skipped.
#[must_use]
pub fn first_word(syntax: SqlSyntax, sql: &str) -> &str {
    let mut tokens = SqlTokenizer::new(syntax, sql).significant();
    let first = tokens.find(|token| !token.is_operator(";"));
    first.filter(|token| token.kind == SqlTokenKind::Word).map_or("", |token| token.text)
}

/// Whether the statement can only read, on whatever database. Returns `false` if that is uncertain.
#[must_use]
pub fn only_reads(sql: &str) -> bool {
    if is_read_alike(sql) {
        return only_reads_in(SqlSyntax::Sqlite, sql);
    }
    SqlSyntax::ALL.into_iter().all(|syntax| only_reads_in(syntax, sql))
}

/// Whether all databases split the text into the same words: it has no character of those about
/// which they differ.
fn is_read_alike(sql: &str) -> bool {
    let differs = |pair: &[u8]| {
        matches!(
            pair,
            [b'\\' | b'#' | b'[' | b'`' | b'$' | b':' | b'@', _] | [b'-', b'-'] | [b'/', b'*']
        )
    };
    !sql.as_bytes().windows(2).any(differs)
}

fn only_reads_in(syntax: SqlSyntax, sql: &str) -> bool {
    let mut words = words(syntax, sql);
    let Some(first) = words.next() else { return false };
    // INTO creates a table, sets a variable, or writes a file; on MariaDB, at the end of any query.
    let writes_into = |word: &str| is(word, "into");
    if is(first, "select") || is(first, "values") {
        !words.any(writes_into)
    } else if is(first, "with") {
        // WITH may lead to an INSERT as well as to a SELECT.
        !words.any(|word| is_change(word) || writes_into(word))
    } else if is(first, "explain") {
        // EXPLAIN ANALYZE executes what it explains.
        !words.any(|word| is_change(word) && !is(word, "analyze") || writes_into(word))
    } else {
        false
    }
}

/// Whether the statement may write rows: not the schema, nor a setting, which some databases change
/// outside transactions only.
#[must_use]
pub fn changes_rows(sql: &str) -> bool {
    const WRITES: [&str; 6] = ["insert", "update", "delete", "replace", "merge", "with"];
    let first = words(SqlSyntax::Sqlite, sql).next().unwrap_or_default();
    WRITES.iter().any(|word| is(first, word)) && !only_reads(sql)
}

fn is_change(word: &str) -> bool {
    CHANGES.iter().any(|change| is(word, change))
}

const fn is(word: &str, other: &str) -> bool {
    word.eq_ignore_ascii_case(other)
}

/// The words of a statement, outside of quotes and comments.
fn words(syntax: SqlSyntax, sql: &str) -> impl Iterator<Item = &str> {
    SqlTokenizer::new(syntax, sql).filter_map(|token| match token.kind {
        SqlTokenKind::Word => Some(token.text),
        // Up to version 14, PostgreSQL reads `1into` as `1 into`.
        SqlTokenKind::Number => {
            let letters = token.text.trim_start_matches(|c: char| !c.is_ascii_alphabetic());
            Some(letters).filter(|letters| !letters.is_empty())
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_return_rows() {
        for sql in [
            "SELECT 1",
            " with a as (select 1) select * from a",
            "with a as (select 1) select replace(b, 'x', 'y') from a",
            "with a as (select 1) update t set b = 2 returning b",
            "-- drop\nvalues (1)",
            "pragma user_version",
            "INSERT INTO t VALUES (1) RETURNING id",
            "(select 1)",
            "explain delete from t",
            "",
        ] {
            assert!(returns_rows(sql), "{sql}");
        }
        for sql in [
            "insert into t values ('returning')",
            "/* select */ DELETE FROM t",
            "Create Table t(a)",
            "update t set a = \"returning\" -- returning",
            "with a as (select replace(b, 'x', 'y') from c) insert into t select * from a",
            "WITH a(b) AS (VALUES (1)), c AS MATERIALIZED (select 1) DELETE FROM t",
        ] {
            assert!(!returns_rows(sql), "{sql}");
        }
    }

    #[test]
    fn statements_that_write_rows() {
        for sql in
            ["insert into t values (1)", "with a as (select 1) delete from t", "Merge into t"]
        {
            assert!(changes_rows(sql), "{sql}");
        }
        for sql in
            ["create table t(a)", "vacuum", "with a as (select 1) select * from a", "", "select 1"]
        {
            assert!(!changes_rows(sql), "{sql}");
        }
    }

    #[test]
    fn words_in_quotes_and_comments_are_ignored() {
        assert!(has_word("vacuum main Into 'x'", "into"));
        assert!(!has_word("vacuum \"into\" -- into", "into"));
    }

    #[test]
    fn statements_that_only_read() {
        for sql in [
            "SELECT replace(a, 'x', 'y') FROM t",
            "with a as (select 1) select 'insert'",
            "values (1)",
            "explain query plan select 1",
            "EXPLAIN ANALYZE SELECT 1",
            "  SELECT\n'into'",
        ] {
            assert!(only_reads(sql), "{sql}");
        }
        for sql in [
            "with a as (select 1) insert into t select * from a",
            "pragma journal_mode = wal",
            "insert into t values (1) returning id",
            "explain analyze delete from t",
            "select * into u from t",
            "with a as (select 1) select * from a into outfile 'b'",
            "values (1) into outfile 'b'",
            "-- select\ndelete from b",
            "",
        ] {
            assert!(!only_reads(sql), "{sql}");
        }
    }

    #[test]
    fn text_that_one_database_executes_is_never_only_read() {
        for sql in [
            "select 1 /*! into outfile 'a' */",
            r"select 'a\'' into outfile 'b'",
            r"select 'a\', ' into b'",
            "select 1 --into b",
            "select 1 -- \r into b",
            "select $a(') into b -- '",
            "select $$'$$ into b --'",
            "select 1 # into b",
            "select 1.into b",
            "select `a` into b",
        ] {
            assert!(!only_reads(sql), "{sql}");
        }
        for sql in ["select a -- into\n", "select '[into]' /* into */", "select a from [b]"] {
            assert!(only_reads(sql), "{sql}");
        }
    }

    #[test]
    fn first_words_are_found_after_comments() {
        let syntax = SqlSyntax::MySql { backslash_escapes: false };
        assert_eq!(first_word(syntax, " ;-- x\n/* BEGIN */ # y\n commit;"), "commit");
        assert_eq!(first_word(syntax, "(select 1)"), "");
        assert_eq!(first_word(SqlSyntax::Sqlite, "\u{feff}begin"), "begin");
    }
}
