//! Reads a query's text.

use super::characters::is_of_word;
use super::query::SearchQuery;
use super::words::words;
use crate::Result;

pub(super) struct Parser<'a> {
    rest: &'a str,
    depth: usize,
    words: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Token<'a> {
    Open,
    Close,
    And,
    Or,
    Not,
    Quoted(&'a str),
    Plain(&'a str),
}

impl<'a> Parser<'a> {
    pub fn new(text: &'a str) -> Self {
        Self { rest: text, depth: 0, words: 0 }
    }

    pub fn parse(mut self) -> Result<SearchQuery> {
        let query = self.any()?;
        match self.peek()? {
            None => Ok(query),
            Some(_) => Err(SearchQuery::unreadable("a parenthesis is closed that was not opened")),
        }
    }

    /// Parts between OR.
    fn any(&mut self) -> Result<SearchQuery> {
        let mut parts = vec![self.all()?];
        while self.peek()? == Some(Token::Or) {
            self.next()?;
            parts.push(self.all()?);
        }
        Ok(list(parts, SearchQuery::Or))
    }

    /// Parts between AND or spaces, some of them after NOT.
    fn all(&mut self) -> Result<SearchQuery> {
        let (mut found, mut excluded) = (Vec::new(), Vec::new());
        loop {
            let list = match self.peek()? {
                Some(Token::Not) => {
                    self.next()?;
                    &mut excluded
                }
                _ => &mut found,
            };
            list.push(self.one()?);
            match self.peek()? {
                None | Some(Token::Or | Token::Close) => break,
                Some(Token::And) => {
                    self.next()?;
                }
                Some(_) => {}
            }
        }
        if found.is_empty() {
            return Err(SearchQuery::unreadable("NOT needs something to find before it"));
        }
        let found = list(found, SearchQuery::And);
        if excluded.is_empty() {
            return Ok(found);
        }
        let excluded = list(excluded, SearchQuery::Or);
        Ok(SearchQuery::Without(Box::new(found), Box::new(excluded)))
    }

    fn one(&mut self) -> Result<SearchQuery> {
        match self.next()? {
            Some(Token::Open) => self.group(),
            Some(Token::Quoted(text)) => self.phrase(text, false),
            Some(Token::Plain(text)) => match text.strip_suffix('*') {
                Some(prefix) => self.phrase(prefix, true),
                None => self.phrase(text, false),
            },
            Some(Token::Close) => Err(SearchQuery::unreadable("it has a word too few before ')'")),
            Some(Token::And | Token::Or | Token::Not) => {
                Err(SearchQuery::unreadable("AND, OR and NOT stand between words"))
            }
            None if self.words == 0 => Err(SearchQuery::unreadable("it has no words")),
            None => Err(SearchQuery::unreadable("it has a word too few at its end")),
        }
    }

    fn group(&mut self) -> Result<SearchQuery> {
        self.depth += 1;
        if self.depth > SearchQuery::MAX_DEPTH {
            let max = SearchQuery::MAX_DEPTH;
            return Err(SearchQuery::unreadable(&format!("parentheses nest deeper than {max}")));
        }
        let group = self.any()?;
        self.depth -= 1;
        match self.next()? {
            Some(Token::Close) => Ok(group),
            _ => Err(SearchQuery::unreadable("a parenthesis is not closed")),
        }
    }

    fn phrase(&mut self, text: &str, prefix: bool) -> Result<SearchQuery> {
        let mut found: Vec<String> = words(text).map(|(_, word)| word).collect();
        self.words += found.len();
        if self.words > SearchQuery::MAX_WORDS {
            let max = SearchQuery::MAX_WORDS;
            return Err(SearchQuery::unreadable(&format!("it has more than {max} words")));
        }
        match (found.len(), found.pop()) {
            (1, Some(word)) if prefix => Ok(SearchQuery::Prefix(word)),
            (_, Some(_)) if prefix => {
                Err(SearchQuery::unreadable("'*' follows a single word of letters and digits"))
            }
            (1, Some(word)) => Ok(SearchQuery::Word(word)),
            (_, Some(word)) => {
                found.push(word);
                Ok(SearchQuery::Phrase(found))
            }
            (_, None) => {
                Err(SearchQuery::unreadable(&format!("'{text}' has no letters or digits to find")))
            }
        }
    }

    fn peek(&self) -> Result<Option<Token<'a>>> {
        Ok(token(self.rest)?.map(|(token, _)| token))
    }

    fn next(&mut self) -> Result<Option<Token<'a>>> {
        let Some((token, rest)) = token(self.rest)? else { return Ok(None) };
        self.rest = rest;
        Ok(Some(token))
    }
}

/// The first token of a text, and the rest.
fn token(text: &str) -> Result<Option<(Token<'_>, &str)>> {
    let text = text.trim_start();
    let Some(first) = text.chars().next() else { return Ok(None) };
    let rest = text.get(first.len_utf8()..).unwrap_or_default();
    match first {
        '(' => return Ok(Some((Token::Open, rest))),
        ')' => return Ok(Some((Token::Close, rest))),
        '"' => {
            let closed = rest.split_once('"');
            let (quoted, rest) =
                closed.ok_or_else(|| SearchQuery::unreadable("a quotation mark is not closed"))?;
            return Ok(Some((Token::Quoted(quoted), rest)));
        }
        _ => {}
    }
    let is_end = |char: char| char.is_whitespace() || matches!(char, '(' | ')' | '"');
    let end = text.find(is_end).unwrap_or(text.len());
    let (plain, rest) = text.split_at(end);
    Ok(Some(match plain {
        "AND" => (Token::And, rest),
        "OR" => (Token::Or, rest),
        "NOT" => (Token::Not, rest),
        _ if plain.contains(is_of_word) => (Token::Plain(plain), rest),
        _ => return Err(SearchQuery::unreadable(&format!("'{plain}' has no letters or digits"))),
    }))
}

fn list(mut parts: Vec<SearchQuery>, of: fn(Vec<SearchQuery>) -> SearchQuery) -> SearchQuery {
    match parts.pop() {
        Some(part) if parts.is_empty() => part,
        last => {
            parts.extend(last);
            of(parts)
        }
    }
}
