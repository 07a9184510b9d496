//! SQLite's SQL as a tree: a parser by recursive descent.
//!
//! It reads statements that SQLite has accepted, so it accepts more than SQLite does, and says only that it cannot
//! read a text. Reading order: [`parse`] → `statement` → `select` → `expression`.

mod call;
mod expression;
mod select;
mod statement;

use crate::kind::unsupported;
use crate::tree::{ParsedStatement, SqlName, TableName};
use bobak_core::Result;
use bobak_core::sql_token::{SqlSyntax, SqlToken, SqlTokenKind, SqlTokenizer};
use std::collections::HashMap;

/// The deepest nesting of expressions and queries; SQLite's own limit is 1,000.
const MAX_NESTING: usize = 400;

/// A parsed statement.
pub(crate) struct ParsedText<'a> {
    pub statement: ParsedStatement<'a>,
    /// Where it ends in the text.
    pub end: usize,
    /// Where parameters without a name or number are, and the number of each.
    pub parameters: Vec<(usize, usize)>,
}

/// Parses the first statement of a text.
///
/// # Errors
/// `Unsupported` if it cannot be read.
pub(crate) fn parse(sql: &str) -> Result<ParsedText<'_>> {
    let tokens: Vec<_> = SqlTokenizer::new(SqlSyntax::Sqlite, sql).significant().collect();
    let (places, parameters) = number_parameters(&tokens);
    let mut parser = Parser { sql, tokens, at: 0, nesting: 0, places };
    let statement = parser.statement()?;
    if matches!(statement, ParsedStatement::Other) {
        return Ok(ParsedText { statement, end: sql.len(), parameters });
    }
    let end = parser.last_end();
    match parser.peek() {
        Some(token) if !token.is_operator(";") => Err(unreadable()),
        _ => Ok(ParsedText { statement, end, parameters }),
    }
}

#[cold]
fn unreadable() -> bobak_core::Error {
    unsupported("a statement over amounts, dates or times has a part that Bobak cannot analyze")
}

/// The number of each parameter, by where it is, as SQLite counts them; and those without a name or number.
fn number_parameters(tokens: &[SqlToken<'_>]) -> (HashMap<usize, usize>, Vec<(usize, usize)>) {
    let (mut places, mut anonymous) = (HashMap::new(), Vec::new());
    let mut names: HashMap<&str, usize> = HashMap::new();
    let mut highest = 0_usize;
    for token in tokens.iter().filter(|token| token.kind == SqlTokenKind::Parameter) {
        let number = match token.text.strip_prefix('?') {
            Some("") => {
                anonymous.push((token.start, highest + 1));
                highest + 1
            }
            Some(digits) => digits.parse().unwrap_or(0),
            None => *names.entry(token.text).or_insert(highest + 1),
        };
        highest = highest.max(number);
        places.insert(token.start, number);
    }
    (places, anonymous)
}

/// A position in the tokens of a text.
struct Parser<'a> {
    sql: &'a str,
    tokens: Vec<SqlToken<'a>>,
    at: usize,
    nesting: usize,
    /// The numbers of the parameters, by where they are.
    places: HashMap<usize, usize>,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<SqlToken<'a>> {
        self.tokens.get(self.at).copied()
    }

    fn peek_at(&self, ahead: usize) -> Option<SqlToken<'a>> {
        self.tokens.get(self.at + ahead).copied()
    }

    fn next(&mut self) -> Result<SqlToken<'a>> {
        let token = self.peek().filter(|token| token.is_terminated).ok_or_else(unreadable)?;
        self.at += 1;
        Ok(token)
    }

    /// Where the next token starts, or the text ends.
    fn start(&self) -> usize {
        self.peek().map_or(self.sql.len(), |token| token.start)
    }

    /// Where the token before ends.
    fn last_end(&self) -> usize {
        let before = self.at.checked_sub(1).and_then(|at| self.tokens.get(at));
        before.map_or(0, SqlToken::end)
    }

    fn is_word(&self, word: &str) -> bool {
        self.word_at(0, word)
    }

    fn word_at(&self, ahead: usize, word: &str) -> bool {
        self.peek_at(ahead).is_some_and(|token| token.is_word(word))
    }

    fn is_operator(&self, operator: &str) -> bool {
        self.operator_at(0, operator)
    }

    fn operator_at(&self, ahead: usize, operator: &str) -> bool {
        self.peek_at(ahead).is_some_and(|token| token.is_operator(operator))
    }

    /// Skips these words, if they are next.
    fn take_words(&mut self, words: &[&str]) -> bool {
        let are_next = words.iter().enumerate().all(|(ahead, word)| self.word_at(ahead, word));
        if are_next {
            self.at += words.len();
        }
        are_next
    }

    fn take_word(&mut self, word: &str) -> bool {
        self.take_words(&[word])
    }

    /// Skips the first of these words that is next.
    fn take_any(&mut self, words: &[&str]) -> bool {
        words.iter().any(|word| self.take_word(word))
    }

    fn take_operator(&mut self, operator: &str) -> bool {
        let is_next = self.is_operator(operator);
        self.at += usize::from(is_next);
        is_next
    }

    fn expect_words(&mut self, words: &[&str]) -> Result<()> {
        if self.take_words(words) { Ok(()) } else { Err(unreadable()) }
    }

    fn expect(&mut self, operator: &str) -> Result<()> {
        if self.take_operator(operator) { Ok(()) } else { Err(unreadable()) }
    }

    /// Runs `work` one level deeper.
    fn nested<R>(&mut self, work: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        if self.nesting >= MAX_NESTING {
            return Err(unreadable());
        }
        self.nesting += 1;
        let result = work(self);
        self.nesting -= 1;
        result
    }

    /// Parts with commas between them.
    fn list<R>(&mut self, mut part: impl FnMut(&mut Self) -> Result<R>) -> Result<Vec<R>> {
        let mut parts = vec![part(self)?];
        while self.take_operator(",") {
            parts.push(part(self)?);
        }
        Ok(parts)
    }

    /// What is in parentheses.
    fn in_parentheses<R>(&mut self, part: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        self.expect("(")?;
        let found = part(self)?;
        self.expect(")")?;
        Ok(found)
    }

    /// Any name: SQLite also accepts text in single quotes.
    fn name(&mut self) -> Result<SqlName> {
        let token = self.next()?;
        let is_double_quoted = token.text.starts_with('"');
        let text = match token.kind {
            SqlTokenKind::Text => token.unquoted(),
            _ => token.name().ok_or_else(unreadable)?,
        };
        Ok(SqlName { text: text.into_owned(), is_double_quoted })
    }

    fn name_text(&mut self) -> Result<String> {
        self.name().map(|name| name.text)
    }

    /// The name of a table, with or without a schema.
    fn table_name(&mut self) -> Result<TableName> {
        let first = self.name_text()?;
        if !self.take_operator(".") {
            return Ok(TableName { schema: None, name: first });
        }
        Ok(TableName { schema: Some(first), name: self.name_text()? })
    }

    /// An alias, with or without AS.
    fn alias(&mut self) -> Result<Option<String>> {
        if self.take_word("as") {
            return self.name_text().map(Some);
        }
        let is_alias = self.peek().is_some_and(|token| match token.kind {
            SqlTokenKind::QuotedName | SqlTokenKind::Text => true,
            SqlTokenKind::Word => !is_reserved(token.text) && !self.is_window_clause(),
            _ => false,
        });
        if is_alias { self.name_text().map(Some) } else { Ok(None) }
    }

    /// Whether `WINDOW name AS` is next.
    fn is_window_clause(&self) -> bool {
        self.is_word("window") && self.word_at(2, "as")
    }
}

/// The words before JOIN. Elsewhere these are names.
const JOIN_WORDS: [&str; 7] = ["natural", "left", "right", "full", "inner", "cross", "outer"];

/// Whether a word without quotes is no alias, because SQLite reserves it or a clause begins with it.
fn is_reserved(word: &str) -> bool {
    const WORDS: [&str; 44] = [
        "all",
        "and",
        "as",
        "between",
        "case",
        "collate",
        "create",
        "cross",
        "default",
        "delete",
        "distinct",
        "else",
        "escape",
        "except",
        "exists",
        "from",
        "full",
        "group",
        "having",
        "in",
        "indexed",
        "inner",
        "insert",
        "intersect",
        "into",
        "is",
        "isnull",
        "join",
        "left",
        "limit",
        "natural",
        "not",
        "notnull",
        "on",
        "or",
        "order",
        "outer",
        "returning",
        "right",
        "select",
        "set",
        "union",
        "using",
        "where",
    ];
    WORDS.iter().any(|reserved| word.eq_ignore_ascii_case(reserved))
}
