//! Regular expressions of `pattern = "…"`.

use super::Verdict;
use crate::{Error, ErrorKind, Result};
use regex_lite::Regex;
use std::sync::OnceLock;

/// A regular expression that must match a whole text, in the syntax of the crate `regex-lite`. Compiled at the first use.
#[derive(Debug)]
pub struct Pattern {
    text: &'static str,
    compiled: OnceLock<std::result::Result<Regex, String>>,
}

impl Pattern {
    /// A pattern that is not compiled yet.
    #[must_use]
    pub const fn new(text: &'static str) -> Self {
        Self { text, compiled: OnceLock::new() }
    }

    /// The regular expression.
    #[must_use]
    pub const fn text(&self) -> &'static str {
        self.text
    }

    /// Checks a text.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub fn validate(&self, text: &str) -> Result<Verdict> {
        Ok(match self.compiled()?.is_match(text) {
            true => Ok(()),
            false => Err(format!("must match {}", self.text)),
        })
    }

    /// Checks the pattern itself.
    ///
    /// # Errors
    /// `Config` if it is not a regular expression.
    pub fn check(&self) -> Result<()> {
        self.compiled().map(drop)
    }

    fn compiled(&self) -> Result<&Regex> {
        let compile = || {
            Regex::new(self.text).map_err(|error| error.to_string())?;
            Regex::new(&format!("^(?:{})$", self.text)).map_err(|error| error.to_string())
        };
        self.compiled.get_or_init(compile).as_ref().map_err(|reason| {
            let message =
                format!("the pattern '{}' is not a regular expression: {reason}", self.text);
            Error::new(ErrorKind::Config, message)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_the_whole_text() {
        static PATTERN: Pattern = Pattern::new("[a-z]+|[0-9]{3}");
        assert_eq!(PATTERN.validate("abc").unwrap(), Ok(()));
        assert_eq!(PATTERN.validate("123").unwrap(), Ok(()));
        let message = Err("must match [a-z]+|[0-9]{3}".to_owned());
        for text in ["abc1", "1234", "", "abc\n"] {
            assert_eq!(PATTERN.validate(text).unwrap(), message, "{text:?}");
        }
        static BAD: Pattern = Pattern::new("a)(b");
        assert_eq!(BAD.check().unwrap_err().kind(), ErrorKind::Config);
    }
}
