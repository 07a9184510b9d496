//! The shared vocabulary of SQL text: one spelling for what servers spell differently.
//!
//! `docs/sql.md` lists it. SQLite runs it by way of `bobak-sql-typing`; here its calls are translated
//! for servers, by tokens: texts in quotes, comments and qualified names stay as they are, and so does
//! every call of another form.

mod call;
mod format;
mod json_path;
mod moment;

use self::call::{Brackets, Call};
pub(crate) use self::moment::{part_words, unit_start};
use crate::Dialect;
use crate::literal::push_literal;
use bobak_core::sql_token::{SqlToken, SqlTokenKind, SqlTokenizer};
use bobak_core::{Error, ErrorKind, Result, ValueRef};
use std::borrow::Cow;
use std::ops::Range;

/// The functions that are translated, and CAST for the names of its types.
const NAMES: [&str; 6] = ["now", "date_part", "date_trunc", "strftime", "json_value", "cast"];
/// The deepest nesting of translated calls.
const MAX_DEPTH: usize = 64;
/// The first words of statements over rows; the text of others is not looked into.
const ROW_STATEMENTS: [&str; 9] =
    ["select", "values", "with", "insert", "replace", "update", "delete", "merge", "explain"];

/// A statement of a program in the words of a server: its calls of the shared vocabulary become calls
/// of the server's own functions. Any other text stays as it is, and so does all text for SQLite.
///
/// ```
/// use bobak_sql::{Dialect, translate};
/// let sql = "SELECT strftime('%Y-%m', placed) FROM orders WHERE placed < now()";
/// let wanted =
///     "SELECT (to_char(placed, 'YYYY-MM') COLLATE \"C\") FROM orders WHERE placed < now()";
/// assert_eq!(translate(Dialect::Postgres, sql)?, wanted);
/// let wanted = "SELECT DATE_FORMAT(placed, '%Y-%m') FROM orders WHERE placed < now(6)";
/// assert_eq!(translate(Dialect::MariaDb, sql)?, wanted);
/// # Ok::<(), bobak_core::Error>(())
/// ```
///
/// # Errors
/// `Unsupported` for a format, a part of a date or a JSON path that the server cannot express;
/// `Mismatch` for a malformed literal of a date or time.
pub fn translate(dialect: Dialect, sql: &str) -> Result<Cow<'_, str>> {
    if dialect == Dialect::Sqlite || !mentions_name(sql) {
        return Ok(sql.into());
    }
    let tokens: Vec<SqlToken<'_>> = SqlTokenizer::new(dialect.syntax(), sql).collect();
    if !is_over_rows(&tokens) {
        return Ok(sql.into());
    }
    let brackets = Brackets::of(&tokens);
    let translator = Translator { dialect, tokens: &tokens, brackets: &brackets };
    translator.text(0..tokens.len(), 0).map(Cow::Owned)
}

/// Whether the text has one of the names anywhere, also inside of other words and of quotes.
fn mentions_name(sql: &str) -> bool {
    let bytes = sql.as_bytes();
    let is_at = |at: usize, name: &str| {
        let found = bytes.get(at..at + name.len());
        found.is_some_and(|found| found.eq_ignore_ascii_case(name.as_bytes()))
    };
    let may_start = |byte: &u8| matches!(byte | 0x20, b'n' | b'd' | b's' | b'j' | b'c');
    let mut starts = bytes.iter().enumerate().filter(|(_, byte)| may_start(byte));
    starts.any(|(at, _)| NAMES.iter().any(|name| is_at(at, name)))
}

/// Whether the statement reads or writes rows, or defines a view: other definitions hold text that
/// the server keeps.
fn is_over_rows(tokens: &[SqlToken<'_>]) -> bool {
    let mut words = tokens.iter().filter(|token| token.kind == SqlTokenKind::Word);
    match words.next() {
        Some(first) if ROW_STATEMENTS.iter().any(|word| first.is_word(word)) => true,
        Some(first) if first.is_word("create") => {
            words.take_while(|word| !word.is_word("as")).any(|word| word.is_word("view"))
        }
        _ => false,
    }
}

/// Translates ranges of the tokens of one statement.
struct Translator<'a> {
    dialect: Dialect,
    tokens: &'a [SqlToken<'a>],
    brackets: &'a Brackets,
}

impl Translator<'_> {
    /// The tokens of a range as text, with their calls translated.
    fn text(&self, range: Range<usize>, depth: usize) -> Result<String> {
        if depth > MAX_DEPTH {
            return Err(unsupported(format!("calls are nested more than {MAX_DEPTH} deep")));
        }
        let mut text = String::new();
        let mut at = range.start;
        while let Some(token) = self.tokens.get(at).filter(|_| at < range.end) {
            if let Some(call) = Call::at(self.tokens, self.brackets, at)
                && let Some(translated) = self.call(&call, depth + 1)?
            {
                text.push_str(&translated);
                at = call.end;
            } else {
                text.push_str(token.text);
                at += 1;
            }
        }
        Ok(text)
    }

    /// An argument, without the blanks around it.
    fn argument(&self, range: &Range<usize>, depth: usize) -> Result<String> {
        self.text(range.clone(), depth).map(|text| text.trim().to_owned())
    }

    /// A call in the server's words; `None` if it stays as it is.
    fn call(&self, call: &Call<'_>, depth: usize) -> Result<Option<String>> {
        let is_postgres = self.dialect == Dialect::Postgres;
        let name = call.name.to_ascii_lowercase();
        match (name.as_str(), &call.arguments[..]) {
            ("now", []) if !is_postgres => Ok(Some("now(6)".to_owned())),
            ("date_part", [part, moment]) => self.date_part(part, moment, depth),
            ("date_trunc", [unit, moment]) => self.date_trunc(unit, moment, depth),
            ("strftime", [format, rest @ ..]) => self.strftime(format, rest, depth),
            ("json_value", [document, path]) if is_postgres => {
                self.json_value(document, path, depth)
            }
            ("cast", [_]) => self.cast(call, depth),
            _ => Ok(None),
        }
    }

    /// `json_value(document, '$.path')` for PostgreSQL: the text of a scalar, as its document spells it;
    /// 1 and 0 for truth values, as on MariaDB. It compares by its bytes.
    fn json_value(
        &self,
        document: &Range<usize>,
        path: &Range<usize>,
        depth: usize,
    ) -> Result<Option<String>> {
        let Some(path) = self.literal(path) else { return Ok(None) };
        let steps = self.quoted(&json_path::postgres_array(&path)?);
        let document = self.argument(document, depth)?;
        Ok(Some(format!(
            "((SELECT CASE json_typeof(j.v) WHEN 'object' THEN NULL WHEN 'array' THEN NULL \
             WHEN 'boolean' THEN CASE j.v #>> '{{}}' WHEN 'true' THEN '1' ELSE '0' END \
             ELSE j.v #>> '{{}}' END FROM (SELECT CAST({document} AS json) #> {steps} AS v) AS j) COLLATE \"C\")"
        )))
    }

    /// The text that an argument is, if it is one literal.
    fn literal(&self, range: &Range<usize>) -> Option<String> {
        let only = self.only(range)?;
        let is_plain = only.kind == SqlTokenKind::Text
            && only.is_terminated
            && only.text.starts_with(['\'', '"']);
        is_plain.then(|| only.unquoted().into_owned())
    }

    /// Whether an argument is one placeholder.
    fn is_parameter(&self, range: &Range<usize>) -> bool {
        self.only(range).is_some_and(|token| token.kind == SqlTokenKind::Parameter)
    }

    /// The token of which a range consists.
    fn only(&self, range: &Range<usize>) -> Option<&SqlToken<'_>> {
        let tokens = self.tokens.get(range.clone())?;
        let mut tokens = tokens.iter().filter(|token| !token.is_trivia());
        tokens.next().filter(|_| tokens.next().is_none())
    }

    /// A text as a literal.
    fn quoted(&self, text: &str) -> String {
        let mut literal = String::with_capacity(text.len() + 2);
        push_literal(self.dialect, &mut literal, ValueRef::Text(text));
        literal
    }
}

#[cold]
fn unsupported(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Unsupported, message)
}

#[cfg(test)]
mod tests;
