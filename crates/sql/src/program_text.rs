//! SQL text of programs, as servers take it.

use crate::first_word;
use crate::token::{SqlSyntax, SqlToken, SqlTokenKind, SqlTokenizer};
use bobak_core::{Error, ErrorKind, Result};

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

/// One statement with other words for some of its tokens: `written` gives those of a token, before the next one, for which
/// so many parameters were given. A semicolon with other words ends the text.
///
/// # Errors
/// `Syntax` for more than one statement; `Misuse` if the parameters with other words are not as many as there are.
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
            return Err(Error::new(ErrorKind::Syntax, "there is more than one statement"));
        }
        has_ended = token.text == ";";
        let Some(words) = written(token, tokens.get(at + 1), count) else { continue };
        sent.push_str(text.get(from..token.start).unwrap_or_default());
        sent.push_str(&words);
        from = if has_ended { text.len() } else { token.start + token.text.len() };
        count += usize::from(token.kind == SqlTokenKind::Parameter);
    }
    if count != parameters {
        return Err(Error::wrong_number(ErrorKind::Misuse, parameters, count, "parameter"));
    }
    sent.push_str(text.get(from..).unwrap_or_default());
    Ok(sent)
}
