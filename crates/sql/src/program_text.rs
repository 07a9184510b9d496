//! SQL text of programs, as servers take it.

use crate::first_word;
use crate::token::{SqlSyntax, SqlToken, SqlTokenKind, SqlTokenizer};
use bobak_core::{Error, ErrorKind, Result};
use std::borrow::Cow;

/// First words of statements that have no others inside, as a procedure's definition has.
const OVER_ROWS: [&str; 10] = [
    "select", "with", "values", "table", "insert", "update", "delete", "replace", "truncate",
    "drop",
];

/// The error for text with more than one statement.
#[must_use]
pub fn several_statements() -> Error {
    Error::new(ErrorKind::Syntax, "the SQL has more than one statement: run them one by one")
}

/// Rejects more values than a statement of the database takes: each value of a list is a parameter of its own.
///
/// # Errors
/// `Misuse`.
pub fn check_value_count(given: usize, most: usize) -> Result<()> {
    if given <= most {
        return Ok(());
    }
    let message = format!(
        "{given} values are given, and a statement of this database takes at most {most}: run it for parts of the values, or \
         give them as one text of JSON"
    );
    Err(Error::new(ErrorKind::Misuse, message))
}

/// Rejects statements that begin with one of these words: those of a transaction or a session, because the connection is
/// shared with others.
///
/// # Errors
/// `Misuse`.
pub fn reject_control(syntax: SqlSyntax, text: &str, words: &[&str]) -> Result<()> {
    let word = first_word(syntax, text).to_ascii_lowercase();
    if !words.contains(&word.as_str()) {
        return Ok(());
    }
    let message = format!(
        "{word} cannot be given as SQL, because the connection is shared: use the transaction's methods"
    );
    Err(Error::new(ErrorKind::Misuse, message))
}

/// Rejects text without a statement, several statements over rows, and statements over rows that have a parameter `$1`, which
/// servers of PostgreSQL take.
///
/// # Errors
/// `Syntax`.
pub fn check_statement(syntax: SqlSyntax, text: &str) -> Result<()> {
    let mut tokens = SqlTokenizer::new(syntax, text).significant();
    let Some(first) = tokens.find(|token| !token.is_operator(";")) else {
        return Err(Error::new(ErrorKind::Syntax, "the SQL has no statement"));
    };
    if text.contains(';')
        && OVER_ROWS.iter().any(|word| first.is_word(word))
        && tokens.clone().skip_while(|token| !token.is_operator(";")).any(|t| !t.is_operator(";"))
    {
        return Err(several_statements());
    }
    let is_other =
        |token: &SqlToken<'_>| token.kind == SqlTokenKind::Parameter && token.text.starts_with('$');
    // Definitions of functions have such parameters.
    if syntax == SqlSyntax::Postgres
        && text.contains('$')
        && !["create", "prepare", "do"].iter().any(|word| first.is_word(word))
        && let Some(parameter) = tokens.find(is_other)
    {
        let message =
            format!("{} is no parameter here: write ?, or :name with a name", parameter.text);
        return Err(Error::new(ErrorKind::Syntax, message));
    }
    Ok(())
}

/// One statement with other words for some of its tokens: `written` gives those of a token, before the next one, for which
/// so many parameters were given. A semicolon with other words ends the text.
///
/// # Errors
/// `Syntax` for more than one statement; `Mismatch` if the parameters with other words are not as many as there are.
pub fn rewrite_statement(
    syntax: SqlSyntax,
    text: &str,
    parameters: usize,
    mut written: impl FnMut(&SqlToken<'_>, Option<&SqlToken<'_>>, usize) -> Option<String>,
) -> Result<String> {
    let (mut sent, mut from, mut count, mut has_ended) = (String::new(), 0, 0, false);
    let tokens: Vec<SqlToken<'_>> = SqlTokenizer::new(syntax, text).significant().collect();
    for (at, token) in tokens.iter().enumerate() {
        if has_ended {
            return Err(several_statements());
        }
        has_ended = token.text == ";";
        let Some(words) = written(token, tokens.get(at + 1), count) else { continue };
        sent.push_str(text.get(from..token.start).unwrap_or_default());
        sent.push_str(&words);
        from = if has_ended { text.len() } else { token.start + token.text.len() };
        count += usize::from(token.kind == SqlTokenKind::Parameter);
    }
    if count != parameters {
        return Err(Error::wrong_number(ErrorKind::Mismatch, parameters, count, "parameter"));
    }
    sent.push_str(text.get(from..).unwrap_or_default());
    Ok(sent)
}

/// The text for a server that has no tests of truth values: with a subquery that has no rows in the lists without values,
/// which [`SqlArguments::bind`](bobak_core::SqlArguments::bind) writes as `IN (NULL) IS TRUE` and
/// `NOT IN (NULL) IS NOT FALSE`.
#[must_use]
pub fn rewrite_empty_lists<'t>(syntax: SqlSyntax, text: &'t str, subquery: &str) -> Cow<'t, str> {
    if ![") IS TRUE", ") IS NOT FALSE"].iter().any(|test| text.contains(test)) {
        return text.into();
    }
    let tokens: Vec<SqlToken<'_>> = SqlTokenizer::new(syntax, text).significant().collect();
    let (mut sent, mut from) = (String::new(), 0);
    for (at, token) in tokens.iter().enumerate() {
        let Some([close, end]) = empty_list(&tokens, at) else { continue };
        sent.push_str(text.get(from..token.start).unwrap_or_default());
        sent.push_str(subquery);
        sent.push_str(text.get(token.end()..close).unwrap_or_default());
        from = end;
    }
    sent.push_str(text.get(from..).unwrap_or_default());
    sent.into()
}

/// If the token is the NULL of a list without values: where the list ends, and where the test behind it does.
fn empty_list(tokens: &[SqlToken<'_>], null: usize) -> Option<[usize; 2]> {
    let is = |from: Option<usize>, words: &[&str]| {
        let found = from.and_then(|from| tokens.get(from..)).unwrap_or_default();
        found.len() >= words.len()
            && words.iter().zip(found).all(|(word, token)| token.text.eq_ignore_ascii_case(word))
    };
    let test: &[&str] = match is(null.checked_sub(3), &["not"]) {
        true => &["is", "not", "false"],
        false => &["is", "true"],
    };
    let is_list = is(null.checked_sub(2), &["in", "(", "null", ")"]);
    let end_of = |place: usize| tokens.get(place).map(SqlToken::end);
    (is_list && is(Some(null + 2), test))
        .then_some([end_of(null + 1)?, end_of(null + 1 + test.len())?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use bobak_core::{Parameter, SqlArgument, SqlArguments};

    fn rewritten(text: &str) -> Cow<'_, str> {
        rewrite_empty_lists(SqlSyntax::Postgres, text, "SELECT 1 WHERE 1 = 0")
    }

    #[test]
    fn lists_without_values_are_subqueries_without_rows() {
        let values = || SqlArgument::List(Vec::<Parameter<'_>>::new());
        let lists = SqlArguments::Positional(vec![values(), values()]);
        let (text, _) =
            lists.bind("SELECT x WHERE a IN ( ? ) OR b Not in (?) AND c = 'é'").unwrap();
        assert_eq!(
            rewritten(&text),
            "SELECT x WHERE a IN ( SELECT 1 WHERE 1 = 0 ) OR b Not in (SELECT 1 WHERE 1 = 0) AND c = 'é'"
        );
    }

    #[test]
    fn other_texts_stay_as_they_are() {
        for text in [
            "a IN (NULL)",
            "(a) IS TRUE",
            "a IN (b, NULL) IS TRUE",
            "a NOT IN (NULL) IS TRUE",
            "a IN (NULL) IS NOT FALSE",
            "'a IN (NULL) IS TRUE'",
            "a \"in\" (NULL) IS TRUE",
            "NULL) IS TRUE",
        ] {
            assert_eq!(rewritten(text), text);
        }
    }
}
