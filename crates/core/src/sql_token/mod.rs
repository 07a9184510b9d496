//! The SQL tokenizer: splits SQL text into tokens that borrow from it.
//!
//! All code that looks inside SQL text uses it: conditions and CHECK rules, the statement classifier,
//! the permission checks, and the engines that rewrite parameters. It never fails and never allocates.
//! Every byte belongs to exactly one token, so the tokens' texts joined are the input. A string, quoted
//! name or comment without an end reaches to the end of the text ([`SqlToken::is_terminated`]).
//!
//! Databases disagree about what ends a string or a comment, and a tokenizer that differs from the
//! database would see harmless text in what the database executes. Each [`SqlSyntax`] therefore follows
//! the lexer of its database:
//!
//! | | SQLite | PostgreSQL | MySQL, MariaDB |
//! |---|---|---|---|
//! | quoted names | `"a"`, `` `a` ``, `[a]` | `"a"`, `U&"a"` | `` `a` `` |
//! | strings | `'a'` | `'a'`, `E'a'`, `N'a'`, `U&'a'`, `$tag$a$tag$` | `'a'`, `"a"`, `N'a'` |
//! | backslash escapes | no | in `E'a'` | unless `NO_BACKSLASH_ESCAPES` is set |
//! | blobs | `x'00'` | `x'00'`, `b'01'` | `x'00'`, `b'01'` |
//! | line comments | `--` | `--` | `#`, and `--` before a blank |
//! | block comments nest | no | yes | no |
//! | executable comments | no | no | `/*! … */`, `/*M! … */` |
//! | parameters | `?`, `?1`, `:a`, `@a`, `#a`, `$a`, `$a::b(c)` | `$1`, and `?` | `?`, and variables `@a`, `@@a` |

mod decode;
mod operator;
mod scan;
#[cfg(test)]
mod tests;

pub use self::decode::number;
use self::scan::ScannedToken;
use std::ops::Range;

/// The database whose lexical rules apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SqlSyntax {
    /// SQLite.
    Sqlite,
    /// PostgreSQL with `standard_conforming_strings`.
    Postgres,
    /// MariaDB and MySQL without `ANSI_QUOTES`.
    MySql {
        /// Whether a backslash escapes a character in strings: the server's default, which the SQL mode
        /// `NO_BACKSLASH_ESCAPES` turns off.
        backslash_escapes: bool,
    },
}

impl SqlSyntax {
    /// All syntaxes, for checks that must hold whatever database runs a statement.
    pub const ALL: [Self; 4] = [
        Self::Sqlite,
        Self::Postgres,
        Self::MySql { backslash_escapes: false },
        Self::MySql { backslash_escapes: true },
    ];
}

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SqlTokenKind {
    /// Blanks and line breaks.
    Whitespace,
    /// A comment. An executable comment of MySQL is none: its marks are operators, and its content
    /// is split into tokens.
    Comment,
    /// A keyword or an unquoted name.
    Word,
    /// A name in quotes: never a keyword.
    QuotedName,
    /// A string.
    Text,
    /// Bytes in hexadecimal or binary digits.
    Blob,
    /// A number; [`SqlToken::number`] is `None` if it is malformed.
    Number,
    /// A placeholder for a value, or a variable.
    Parameter,
    /// An operator, a bracket or any other character.
    Operator,
}

/// A piece of SQL text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SqlToken<'a> {
    /// Its kind.
    pub kind: SqlTokenKind,
    /// Its text as written, with its quotes; never empty.
    pub text: &'a str,
    /// Where it starts, in bytes from the start of the SQL text.
    pub start: usize,
    /// Whether its closing quote or comment mark is present; `true` for tokens that need none.
    pub is_terminated: bool,
}

impl SqlToken<'_> {
    /// Where it ends, in bytes from the start of the SQL text.
    #[must_use]
    pub const fn end(&self) -> usize {
        self.start + self.text.len()
    }

    /// Its position in the SQL text, in bytes.
    #[must_use]
    pub const fn span(&self) -> Range<usize> {
        self.start..self.end()
    }

    /// Whether it is white space or a comment.
    #[must_use]
    pub const fn is_trivia(&self) -> bool {
        matches!(self.kind, SqlTokenKind::Whitespace | SqlTokenKind::Comment)
    }

    /// Whether it is this keyword, in upper or lower case.
    #[must_use]
    pub const fn is_word(&self, word: &str) -> bool {
        matches!(self.kind, SqlTokenKind::Word) && self.text.eq_ignore_ascii_case(word)
    }

    /// Whether it is this operator or bracket.
    #[must_use]
    pub fn is_operator(&self, operator: &str) -> bool {
        self.kind == SqlTokenKind::Operator && self.text == operator
    }
}

/// Iterator over the tokens of an SQL text. See the [module](self).
///
/// ```
/// use bobak_core::sql_token::{SqlSyntax, SqlTokenizer};
/// let tokens = SqlTokenizer::new(SqlSyntax::Sqlite, "select 'it''s' -- a comment").significant();
/// let texts: Vec<&str> = tokens.map(|token| token.text).collect();
/// assert_eq!(texts, ["select", "'it''s'"]);
/// ```
#[derive(Clone, Debug)]
pub struct SqlTokenizer<'a> {
    syntax: SqlSyntax,
    sql: &'a str,
    at: usize,
    /// Inside `/*! … */`, where `*/` is a token.
    in_executable_comment: bool,
}

impl<'a> SqlTokenizer<'a> {
    /// A tokenizer at the start of a text.
    #[must_use]
    pub const fn new(syntax: SqlSyntax, sql: &'a str) -> Self {
        Self { syntax, sql, at: 0, in_executable_comment: false }
    }

    /// The tokens without white space and comments.
    pub fn significant(self) -> impl Iterator<Item = SqlToken<'a>> + Clone {
        self.filter(|token| !token.is_trivia())
    }

    /// Recognises the marks of executable comments, which open and close across tokens.
    fn executable_mark(&mut self, rest: &[u8]) -> Option<ScannedToken> {
        if !matches!(self.syntax, SqlSyntax::MySql { .. }) {
            return None;
        }
        if self.in_executable_comment && rest.starts_with(b"*/") {
            self.in_executable_comment = false;
            return Some(ScannedToken::new(SqlTokenKind::Operator, 2));
        }
        let mark = match rest {
            [b'/', b'*', b'!', ..] => 3,
            [b'/', b'*', b'M', b'!', ..] => 4,
            _ => return None,
        };
        self.in_executable_comment = true;
        // The server's version from which on the content is executed.
        let version = rest.iter().skip(mark).take_while(|byte| byte.is_ascii_digit()).count();
        Some(ScannedToken::new(SqlTokenKind::Operator, mark + version))
    }
}

impl<'a> Iterator for SqlTokenizer<'a> {
    type Item = SqlToken<'a>;

    fn next(&mut self) -> Option<SqlToken<'a>> {
        let start = self.at;
        let rest = self.sql.get(start..).filter(|rest| !rest.is_empty())?;
        let scanned = match self.executable_mark(rest.as_bytes()) {
            Some(mark) => mark,
            None => scan::token(self.syntax, rest.as_bytes()),
        };
        // Tokens end at ASCII characters only, so this cuts no character.
        let text = rest.get(..scanned.length).unwrap_or(rest);
        self.at = start + text.len();
        Some(SqlToken { kind: scanned.kind, text, start, is_terminated: scanned.is_terminated })
    }
}
