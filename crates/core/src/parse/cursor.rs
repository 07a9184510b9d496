//! A position in the tokens of a condition.

use crate::sql_token::{SqlSyntax, SqlToken, SqlTokenKind, SqlTokenizer};
use crate::{Error, ErrorKind, Result};

/// The tokens that have not been read.
pub(super) struct TokenCursor<'a> {
    text: &'a str,
    rest: SqlTokenizer<'a>,
    next: Option<SqlToken<'a>>,
}

impl<'a> TokenCursor<'a> {
    pub fn new(text: &'a str) -> Self {
        let mut cursor =
            Self { text, rest: SqlTokenizer::new(SqlSyntax::Sqlite, text), next: None };
        cursor.advance();
        cursor
    }

    /// The next token, without reading it. Comments are no part of conditions, so they are tokens here.
    pub const fn peek(&self) -> Option<SqlToken<'a>> {
        self.next
    }

    pub fn advance(&mut self) {
        self.next = self.rest.find(|token| token.kind != SqlTokenKind::Whitespace);
    }

    /// Reads a keyword, if it is next.
    pub fn word(&mut self, word: &str) -> bool {
        self.skip_if(|token| token.is_word(word))
    }

    /// Reads an operator, if it is next.
    pub fn operator(&mut self, operator: &str) -> bool {
        self.skip_if(|token| token.is_operator(operator))
    }

    /// Reads an operator.
    ///
    /// # Errors
    /// `Syntax` if it is not next.
    pub fn expect(&mut self, operator: &str) -> Result<()> {
        if self.operator(operator) { Ok(()) } else { Err(self.unexpected(operator)) }
    }

    fn skip_if(&mut self, is_wanted: impl FnOnce(&SqlToken<'a>) -> bool) -> bool {
        let found = self.next.as_ref().is_some_and(is_wanted);
        if found {
            self.advance();
        }
        found
    }

    /// The error for something else than `expected` at this position.
    #[cold]
    pub fn unexpected(&self, expected: &str) -> Error {
        let start = self.next.map_or(self.text.len(), |token| token.start);
        let rest = self.text.get(start..).unwrap_or_default();
        let found: String = rest.chars().take(20).collect();
        let found = if found.is_empty() { "the end".to_owned() } else { format!("'{found}'") };
        let message = format!("syntax error in the condition: expected {expected}, found {found}");
        Error::new(ErrorKind::Syntax, message)
    }
}
