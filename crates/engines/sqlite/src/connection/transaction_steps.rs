//! Recognizes SQL text that begins or ends transactions, text that changes the connection itself, and text that fails without
//! saying why.

use crate::error::misuse;
use crate::settings::{Cipher, Settings};
use bobak_core::sql_token::{SqlSyntax, SqlTokenKind, SqlTokenizer};
use bobak_core::{Error, ErrorKind, Result};

/// Rejects SQL that begins or ends transactions: the session would not know of it.
/// | # Errors
/// `Misuse`.
pub(crate) fn reject_transaction_steps(sql: &str) -> Result<()> {
    const STEPS: [&str; 6] = ["BEGIN", "COMMIT", "END", "ROLLBACK", "SAVEPOINT", "RELEASE"];
    let word = first_word(sql);
    if is_one_of(word, &STEPS) {
        let message = "begin and end transactions by API calls, not by SQL";
        return Err(misuse(message));
    }
    Ok(())
}

/// Rejects VACUUM of a file of [`Cipher::Aegis256`] by SQLCipher. Its VACUUM writes to a temporary database, for which it
/// wants a key of its own cipher if the pages of the file have reserved bytes.
/// | # Errors
/// `Unsupported`.
pub(crate) fn reject_vacuum(settings: &Settings, sql: &str) -> Result<()> {
    let fails = cfg!(feature = "sqlcipher") && settings.cipher == Some(Cipher::Aegis256);
    if fails && first_word(sql).eq_ignore_ascii_case("VACUUM") {
        let message = "SQLCipher, which this program has, cannot VACUUM a file of aegis256: close the file and \
                       give it the key that it has by `bobak rekey`, which writes all of it again";
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    Ok(())
}

/// Whether SQL text makes SQLite run statements of the stored schema again.
pub(crate) fn runs_schema(sql: &str) -> bool {
    is_one_of(first_word(sql), &["VACUUM", "ALTER"])
}

/// Whether SQL text is a query, or a statement that begins as one.
pub(crate) fn is_query(sql: &str) -> bool {
    is_one_of(first_word(sql), &["SELECT", "WITH", "VALUES"])
}

/// Whether SQL text changes what later statements do on this connection, but not on others.
pub(crate) fn changes_connection(sql: &str) -> bool {
    let mut words = SqlTokenizer::new(SqlSyntax::Sqlite, sql).significant();
    let mut next = || words.find(|token| !token.is_operator(";")).map_or("", |token| token.text);
    let first = next();
    let is_create = first.eq_ignore_ascii_case("CREATE");
    is_one_of(first, &["PRAGMA", "ATTACH", "DETACH"])
        || is_create && is_one_of(next(), &["TEMP", "TEMPORARY"])
}

fn is_one_of(word: &str, words: &[&str]) -> bool {
    words.iter().any(|other| word.eq_ignore_ascii_case(other))
}

/// The first word of an SQL text, after white space, semicolons and comments.
fn first_word(sql: &str) -> &str {
    let mut tokens = SqlTokenizer::new(SqlSyntax::Sqlite, sql).significant();
    let first = tokens.find(|token| !token.is_operator(";"));
    first.filter(|token| token.kind == SqlTokenKind::Word).map_or("", |token| token.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_word_is_found_after_comments() {
        assert_eq!(first_word(" ;-- x\n/* BEGIN */ commit;"), "commit");
        assert_eq!(first_word("/* open"), "");
        assert!(reject_transaction_steps("SELECT 1").is_ok());
        assert_eq!(first_word("\u{feff} \u{b}commit"), "commit");
        assert!(reject_transaction_steps("/**/begin immediate").is_err());
    }

    #[test]
    fn what_a_text_does_is_found_by_its_first_words() {
        for sql in ["pragma user_version = 1", "-- x\nATTACH 'a' AS b", "create temp table a (b)"] {
            assert!(changes_connection(sql) && !is_query(sql), "{sql}");
        }
        for sql in ["CREATE TABLE temp (a)", "INSERT INTO temp VALUES (1)", ""] {
            assert!(!changes_connection(sql) && !is_query(sql), "{sql}");
        }
        assert!(is_query("with a as (values (1)) select * from a"));
    }
}
