//! The words, signs and texts of a condition.

use crate::{Error, ErrorKind, Result};

/// A text, and how far it has been read.
pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    pub const fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    pub const fn place(&self) -> usize {
        self.at
    }

    pub fn go_back(&mut self, place: usize) {
        self.at = place;
    }

    /// What stands between two marks, a doubled one for the mark itself.
    pub fn quoted(&mut self, mark: char) -> Result<String> {
        let mut inner = String::new();
        let mut rest = self.text.get(self.at + 1..).unwrap_or_default();
        loop {
            let Some((before, after)) = rest.split_once(mark) else {
                return Err(self.wrong(&format!("text that ends with {mark}")));
            };
            inner.push_str(before);
            match after.strip_prefix(mark) {
                Some(after) => {
                    inner.push(mark);
                    rest = after;
                }
                None => {
                    self.at = self.text.len() - after.len();
                    return Ok(inner);
                }
            }
        }
    }

    pub fn name(&mut self) -> &'a str {
        self.take_while(is_name)
    }

    pub fn number(&mut self) -> &'a str {
        let rest = self.rest();
        let mut before = ' ';
        let part = |c: char| {
            let sign = matches!(c, '-' | '+') && matches!(before, ' ' | 'e' | 'E');
            before = c;
            sign || matches!(c, '0'..='9' | '.' | 'e' | 'E')
        };
        let begins =
            rest.trim_start_matches(['-', '+', '.']).starts_with(|c: char| c.is_ascii_digit());
        if begins { self.take_while(part) } else { "" }
    }

    fn take_while(&mut self, mut part: impl FnMut(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c| !part(c)).unwrap_or(rest.len());
        self.at += end;
        rest.get(..end).unwrap_or_default()
    }

    /// Passes over a word, in either case, where it stands here as a whole.
    pub fn word(&mut self, word: &str) -> bool {
        self.skip_space();
        let rest = self.rest();
        let there = rest.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
            && !rest[word.len()..].starts_with(is_name);
        self.at += if there { word.len() } else { 0 };
        there
    }

    pub fn sign(&mut self, sign: &str) -> bool {
        self.skip_space();
        let there = self.rest().starts_with(sign);
        self.at += if there { sign.len() } else { 0 };
        there
    }

    pub fn expect(&mut self, sign: &str) -> Result<()> {
        if self.sign(sign) { Ok(()) } else { Err(self.wrong(sign)) }
    }

    pub fn skip_space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    pub fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    #[cold]
    pub fn wrong(&self, wanted: &str) -> Error {
        let found: String = self.rest().trim_start().chars().take(20).collect();
        let found = if found.is_empty() { "its end".to_owned() } else { format!("'{found}'") };
        let message = format!("the condition has {found} where {wanted} is wanted");
        Error::new(ErrorKind::Syntax, message)
    }
}

pub(super) const fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii()
}
