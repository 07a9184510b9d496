//! The parser of an access file's lines.

use bobak_core::{Error, ErrorKind, Result};

/// The rest of a line. `#` starts a comment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LineParser<'a>(&'a str);

impl<'a> LineParser<'a> {
    pub fn new(line: &'a str) -> Self {
        Self(skip_blanks(line))
    }

    /// The rest as written, without its comment.
    pub fn rest(self) -> &'a str {
        let mut quote = None;
        let comment = self.0.find(|c| {
            match (quote, c) {
                (None, '\'' | '"') => quote = Some(c),
                (Some(mark), _) if mark == c => quote = None,
                _ => {}
            }
            c == '#' && quote.is_none()
        });
        comment.map_or(self.0, |at| self.0.split_at(at).0).trim_end()
    }

    /// Takes this symbol if it is next.
    pub fn take_symbol(&mut self, symbol: char) -> bool {
        self.0.strip_prefix(symbol).map(|rest| self.0 = skip_blanks(rest)).is_some()
    }

    /// Takes this keyword if it is next.
    pub fn take_word(&mut self, wanted: &str) -> bool {
        let (word, rest) = split_word(self.0);
        let is = word.eq_ignore_ascii_case(wanted);
        if is {
            self.0 = skip_blanks(rest);
        }
        is
    }

    /// Takes a name: letters, digits and `_ - . : @ +`, or anything in double quotes.
    ///
    /// # Errors
    /// `Config` if there is none; `what` says in the message what was expected.
    pub fn name(&mut self, what: &str) -> Result<String> {
        if let Some(name) = self.quoted('"')? {
            return Ok(name);
        }
        let (word, rest) = split_word(self.0);
        if word.is_empty() {
            return Err(self.expected(what));
        }
        self.0 = skip_blanks(rest);
        Ok(word.to_owned())
    }

    /// Takes a text in these quotes; a doubled quote stands for itself. `None` if there is no such
    /// text.
    ///
    /// # Errors
    /// `Config` if the closing quote is missing.
    pub fn quoted(&mut self, quote: char) -> Result<Option<String>> {
        let Some(mut rest) = self.0.strip_prefix(quote) else { return Ok(None) };
        let mut text = String::new();
        while let Some((part, after)) = rest.split_once(quote) {
            text.push_str(part);
            match after.strip_prefix(quote) {
                Some(more) => {
                    text.push(quote);
                    rest = more;
                }
                None => {
                    self.0 = skip_blanks(after);
                    return Ok(Some(text));
                }
            }
        }
        Err(Error::new(ErrorKind::Config, format!("the closing quote {quote} is missing")))
    }

    /// # Errors
    /// `Config` if the line continues.
    pub fn expect_end(self) -> Result<()> {
        if self.0.is_empty() { Ok(()) } else { Err(self.expected("the end of the line")) }
    }

    /// The error that says what was expected and what was found.
    pub fn expected(self, what: &str) -> Error {
        let found = match self.0.split_whitespace().next() {
            Some(found) => format!("'{found}'"),
            None => "the end of the line".to_owned(),
        };
        Error::new(ErrorKind::Config, format!("expected {what}, found {found}"))
    }
}

fn skip_blanks(text: &str) -> &str {
    let text = text.trim_start();
    if text.starts_with('#') { "" } else { text.trim_end() }
}

fn split_word(text: &str) -> (&str, &str) {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '@' | '+');
    text.split_at(text.find(|c| !is_word(c)).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_is_parsed_word_by_word() {
        let mut tokens =
            LineParser::new(" read,Insert on \"a \"\"b\" 'it''s' where x <> '#' # no  ");
        assert_eq!(tokens.name("a permission").unwrap(), "read");
        assert!(tokens.take_symbol(',') && tokens.take_word("insert") && !tokens.take_word("o"));
        assert!(tokens.take_word("on"));
        assert_eq!(tokens.name("a table").unwrap(), "a \"b");
        assert_eq!(tokens.quoted('\'').unwrap().as_deref(), Some("it's"));
        assert!(tokens.take_word("where"));
        assert_eq!(tokens.rest(), "x <> '#'");
        assert!(LineParser::new(" # nothing").expect_end().is_ok());
        let message = LineParser::new("; x").name("a name").unwrap_err().to_string();
        assert_eq!(message, "expected a name, found ';'");
        assert!(LineParser::new("\"open").name("a name").is_err());
    }
}
