//! SQL text that changes the session of its connection.

use crate::first_word;
use bobak_core::sql_token::{SqlSyntax, SqlToken, SqlTokenKind, SqlTokenizer};

/// First words of statements that change the session, or may: blocks and procedures can do anything.
const WORDS: [&str; 13] = [
    "set",
    "reset",
    "discard",
    "prepare",
    "execute",
    "deallocate",
    "listen",
    "unlisten",
    "load",
    "declare",
    "do",
    "call",
    "handler",
];
/// How the names of functions begin that change the session.
const FUNCTIONS: [&str; 6] = [
    "set_config",
    "setseed",
    "pg_advisory_lock",
    "pg_try_advisory_lock",
    "get_lock",
    "dblink_connect",
];

/// Whether a statement may leave something on its connection that later statements see: a setting, a temporary table, a variable, a
/// cursor, a lock, or a prepared statement. What a function of the database does is not known.
#[must_use]
pub fn changes_session(syntax: SqlSyntax, text: &str) -> bool {
    let first = first_word(syntax, text);
    if WORDS.iter().any(|word| first.eq_ignore_ascii_case(word)) {
        return !is_of_transaction(syntax, text);
    }
    if !may_be_of_session(text) {
        return false;
    }
    let mut before = "";
    SqlTokenizer::new(syntax, text).significant().any(|token| {
        let found = is_of_session(&token, before);
        // Not the mark of an executable comment.
        if token.kind == SqlTokenKind::Word {
            before = token.text;
        }
        found
    })
}

/// Whether a text has a variable, or the first letters of `temp` or of one of the functions. Most have not, and need no closer
/// look.
fn may_be_of_session(text: &str) -> bool {
    // Letters of both cases, in one comparison.
    const fn folded(letters: [u8; 4]) -> u32 {
        u32::from_ne_bytes(letters) | 0x2020_2020
    }
    const STARTS: [u32; 7] = [
        folded(*b"temp"),
        folded(*b"set_"),
        folded(*b"sets"),
        folded(*b"pg_a"),
        folded(*b"pg_t"),
        folded(*b"get_"),
        folded(*b"dbli"),
    ];
    let mut windows = text.as_bytes().windows(4);
    text.contains('@')
        || windows
            .any(|bytes| bytes.first_chunk().is_some_and(|four| STARTS.contains(&folded(*four))))
}

/// Whether this is a SET that ends with its transaction.
fn is_of_transaction(syntax: SqlSyntax, text: &str) -> bool {
    const LOCAL: [&str; 3] = ["local", "constraints", "transaction"];
    let mut tokens =
        SqlTokenizer::new(syntax, text).significant().filter(|token| token.text != ";");
    let is_set = tokens.next().is_some_and(|token| token.text.eq_ignore_ascii_case("set"));
    let next = tokens.next().map_or("", |token| token.text);
    is_set && LOCAL.iter().any(|word| next.eq_ignore_ascii_case(word))
}

fn is_of_session(token: &SqlToken<'_>, before: &str) -> bool {
    let is_one_of =
        |text: &str, words: &[&str]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    match token.kind {
        SqlTokenKind::Parameter => token.text.starts_with('@') && !token.text.starts_with("@@"),
        SqlTokenKind::Word if is_one_of(token.text, &["temp", "temporary"]) => {
            is_one_of(before, &["create", "replace", "global", "local", "into"])
        }
        SqlTokenKind::Word | SqlTokenKind::QuotedName => {
            let name = token.text.trim_matches(['"', '`']);
            let begins = |with: &&str| {
                name.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with))
            };
            FUNCTIONS.iter().any(begins)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_change_the_session_are_found() {
        let mysql = SqlSyntax::MySql { backslash_escapes: true };
        for text in [
            "SET timezone = 'UTC'",
            "-- x\n; reset all",
            "create temp table a (b int)",
            "CREATE OR REPLACE TEMPORARY VIEW v AS SELECT 1",
            "create global temporary table a (b int)",
            "SELECT 1 INTO TEMP a",
            "with a as (select \"set_config\"('x', 'y', false)) select * from a",
            "SELECT pg_catalog.PG_TRY_ADVISORY_LOCK_SHARED(1)",
            "do $$ begin set x = 1; end $$",
        ] {
            assert!(changes_session(SqlSyntax::Postgres, text), "{text}");
        }
        for text in
            ["select @a := 1", "select get_lock('a', 1)", "/*!create*/ temporary table a (b int)"]
        {
            assert!(changes_session(mysql, text), "{text}");
        }
        for text in [
            "SET LOCAL timezone = 'UTC'",
            "set constraints all deferred",
            "select temp, temperature from weather where temp = 'create temp table @a'",
            "select pg_advisory_xact_lock(1), '@' -- set_config(",
            "create table temp (id int)",
        ] {
            assert!(!changes_session(SqlSyntax::Postgres, text), "{text}");
        }
        assert!(!changes_session(mysql, "select @@version, 'a@b'"));
    }
}
