//! The words and signs of a line.

use bobak_core::{Error, ErrorKind, Result};

/// What is left of a line, to be taken piece by piece. `#` begins a comment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tokens<'a>(&'a str);

impl<'a> Tokens<'a> {
    pub fn of(line: &'a str) -> Self {
        Self(skip(line))
    }

    /// What is left, as it stands, but for a comment.
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

    /// Takes this sign, if it is next.
    pub fn takes_sign(&mut self, sign: char) -> bool {
        self.0.strip_prefix(sign).map(|rest| self.0 = skip(rest)).is_some()
    }

    /// Takes this keyword, if it is next.
    pub fn takes_word(&mut self, wanted: &str) -> bool {
        let (word, rest) = split_word(self.0);
        let is = word.eq_ignore_ascii_case(wanted);
        if is {
            self.0 = skip(rest);
        }
        is
    }

    /// Takes a name: letters, digits and `_ - . : @ +`, or anything in double quotes.
    ///
    /// # Errors
    /// `Config`.
    pub fn name(&mut self, what: &str) -> Result<String> {
        if let Some(name) = self.quoted('"')? {
            return Ok(name);
        }
        let (word, rest) = split_word(self.0);
        if word.is_empty() {
            return Err(self.expected(what));
        }
        self.0 = skip(rest);
        Ok(word.to_owned())
    }

    /// Takes a text in these quotes, which stand for themselves where they are doubled; `None`
    /// where there is none.
    ///
    /// # Errors
    /// `Config` where it has no end.
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
                    self.0 = skip(after);
                    return Ok(Some(text));
                }
            }
        }
        Err(Error::new(ErrorKind::Config, format!("the quote {quote} has no end")))
    }

    /// # Errors
    /// `Config` where there is more.
    pub fn end(self) -> Result<()> {
        if self.0.is_empty() { Ok(()) } else { Err(self.expected("the end of the line")) }
    }

    /// What was wanted, and what is there.
    pub fn expected(self, what: &str) -> Error {
        let found = match self.0.split_whitespace().next() {
            Some(found) => format!("'{found}'"),
            None => "the end of the line".to_owned(),
        };
        Error::new(ErrorKind::Config, format!("expected {what}, found {found}"))
    }
}

fn skip(text: &str) -> &str {
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
    fn a_line_is_taken_apart() {
        let mut tokens = Tokens::of(" read,Insert on \"a \"\"b\" 'it''s' where x <> '#' # no  ");
        assert_eq!(tokens.name("a right").unwrap(), "read");
        assert!(tokens.takes_sign(',') && tokens.takes_word("insert") && !tokens.takes_word("o"));
        assert!(tokens.takes_word("on"));
        assert_eq!(tokens.name("a table").unwrap(), "a \"b");
        assert_eq!(tokens.quoted('\'').unwrap().as_deref(), Some("it's"));
        assert!(tokens.takes_word("where"));
        assert_eq!(tokens.rest(), "x <> '#'");
        assert!(Tokens::of(" # nothing").end().is_ok());
        let message = Tokens::of("; x").name("a name").unwrap_err().to_string();
        assert_eq!(message, "expected a name, found ';'");
        assert!(Tokens::of("\"open").name("a name").is_err());
    }
}
