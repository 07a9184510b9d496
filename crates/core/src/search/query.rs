//! What is searched for, as a tree.

use super::parser::Parser;
use crate::{Error, Result};
use std::fmt;

/// What is searched for. [`parse`](Self::parse) makes one of a text; its words are in lower case and have only letters
/// and digits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SearchQuery {
    /// The word.
    Word(String),
    /// A word that begins so.
    Prefix(String),
    /// The words next to each other: two at least.
    Phrase(Vec<String>),
    /// All of these: two at least.
    And(Vec<SearchQuery>),
    /// At least one of these: two at least.
    Or(Vec<SearchQuery>),
    /// The first, without the second.
    Without(Box<SearchQuery>, Box<SearchQuery>),
}

impl SearchQuery {
    /// The largest number of words in a query.
    pub const MAX_WORDS: usize = 256;
    /// How deep parentheses can be nested.
    pub const MAX_DEPTH: usize = 32;

    /// Parses a query.
    ///
    /// | text | finds |
    /// |---|---|
    /// | `quick fox`, `quick AND fox` | both words, in any order and column |
    /// | `"quick fox"` | the words next to each other |
    /// | `qui*` | words that begin so |
    /// | `quick OR fox` | at least one of the words |
    /// | `fox NOT quick` | the first without the second |
    /// | `(quick OR slow) fox` | parentheses group |
    ///
    /// AND, OR and NOT are operators in capitals only. NOT binds tighter than AND, and AND tighter than OR. Case does not
    /// matter, and all characters but letters, decimal digits and their marks separate words: `don't` is the phrase `"don t"`.
    ///
    /// ```
    /// use bobak_core::search::SearchQuery;
    /// let query = SearchQuery::parse("Rust (fast OR \"zero cost\") NOT unsafe")?;
    /// assert_eq!(query.to_string(), "(rust AND (fast OR \"zero cost\")) NOT unsafe");
    /// let error = SearchQuery::parse("rust (fast").unwrap_err();
    /// assert_eq!(error.message(), "the search cannot be read: a parenthesis is not closed");
    /// # Ok::<(), bobak_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Syntax` for a query without words, NOT without something to find, a parenthesis or quotation mark that is not
    /// closed, more than [`MAX_WORDS`](Self::MAX_WORDS) words, or deeper than [`MAX_DEPTH`](Self::MAX_DEPTH).
    pub fn parse(text: &str) -> Result<Self> {
        Parser::new(text).parse()
    }

    /// Checks a tree from outside, such as a client's: the rules of [`parse`](Self::parse).
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn check(&self) -> Result<()> {
        let parsed = Self::parse(&self.to_string())?;
        if parsed == *self { Ok(()) } else { Err(Self::unreadable("it is not in its own form")) }
    }

    /// Calls `each` with every word that rows must have, and whether it is a prefix.
    pub fn each_word(&self, each: &mut dyn FnMut(&str, bool)) {
        match self {
            Self::Word(word) => each(word, false),
            Self::Prefix(word) => each(word, true),
            Self::Phrase(words) => words.iter().for_each(|word| each(word, false)),
            Self::And(parts) | Self::Or(parts) => {
                parts.iter().for_each(|part| part.each_word(each));
            }
            Self::Without(found, _) => found.each_word(each),
        }
    }

    pub(super) fn unreadable(reason: &str) -> Error {
        let message = format!("the search cannot be read: {reason}");
        Error::new(crate::ErrorKind::Syntax, message)
    }

    fn write(&self, out: &mut fmt::Formatter<'_>, nested: bool) -> fmt::Result {
        let list = |out: &mut fmt::Formatter<'_>, parts: &[Self], between: &str| {
            for (at, part) in parts.iter().enumerate() {
                out.write_str(if at == 0 { "" } else { between })?;
                part.write(out, true)?;
            }
            Ok(())
        };
        let parentheses = nested && matches!(self, Self::And(_) | Self::Or(_) | Self::Without(..));
        out.write_str(if parentheses { "(" } else { "" })?;
        match self {
            Self::Word(word) => out.write_str(word)?,
            Self::Prefix(word) => write!(out, "{word}*")?,
            Self::Phrase(words) => write!(out, "\"{}\"", words.join(" "))?,
            Self::And(parts) => list(out, parts, " AND ")?,
            Self::Or(parts) => list(out, parts, " OR ")?,
            Self::Without(found, excluded) => {
                found.write(out, true)?;
                out.write_str(" NOT ")?;
                excluded.write(out, true)?;
            }
        }
        out.write_str(if parentheses { ")" } else { "" })
    }
}

/// The query as text, which [`SearchQuery::parse`] reads.
impl fmt::Display for SearchQuery {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(out, false)
    }
}
