//! Calls among the tokens of a statement.

use super::NAMES;
use bobak_core::sql_token::{SqlToken, SqlTokenKind};
use std::ops::Range;

/// Words before a name that is no function's.
const BEFORE_OTHER_NAMES: [&str; 8] =
    ["from", "join", "into", "update", "table", "view", "function", "as"];

/// For each opening bracket its closing one.
pub(super) struct Brackets(Vec<Option<usize>>);

impl Brackets {
    pub(super) fn of(tokens: &[SqlToken<'_>]) -> Self {
        let mut closing = vec![None; tokens.len()];
        let mut open = Vec::new();
        for (at, token) in tokens.iter().enumerate() {
            if token.is_operator("(") {
                open.push(at);
            } else if token.is_operator(")")
                && let Some(opening) = open.pop()
                && let Some(place) = closing.get_mut(opening)
            {
                *place = Some(at);
            }
        }
        Self(closing)
    }

    fn close(&self, opening: usize) -> Option<usize> {
        self.0.get(opening).copied().flatten()
    }
}

/// A call of a name in the vocabulary.
pub(super) struct Call<'a> {
    pub name: &'a str,
    /// The tokens of each argument.
    pub arguments: Vec<Range<usize>>,
    /// After its closing bracket.
    pub end: usize,
}

impl<'a> Call<'a> {
    /// The call that starts at a token.
    pub(super) fn at(tokens: &[SqlToken<'a>], brackets: &Brackets, at: usize) -> Option<Self> {
        let token = tokens.get(at).filter(|token| token.kind == SqlTokenKind::Word)?;
        NAMES.iter().find(|name| token.is_word(name))?;
        let before = tokens.get(..at)?.iter().rfind(|token| !token.is_trivia());
        let is_other = |before: &SqlToken<'_>| {
            before.is_operator(".") || BEFORE_OTHER_NAMES.iter().any(|word| before.is_word(word))
        };
        if before.is_some_and(is_other) {
            return None;
        }
        let opening = (at + 1..tokens.len()).find(|&at| !is_trivia(tokens, at))?;
        let closing = brackets.close(opening)?;
        let arguments = split(tokens, brackets, opening + 1..closing);
        Some(Self { name: token.text, arguments, end: closing + 1 })
    }
}

fn is_trivia(tokens: &[SqlToken<'_>], at: usize) -> bool {
    tokens.get(at).is_some_and(SqlToken::is_trivia)
}

/// The parts between the commas of a range; none if it is blank.
fn split(tokens: &[SqlToken<'_>], brackets: &Brackets, range: Range<usize>) -> Vec<Range<usize>> {
    let (mut parts, mut start, mut at) = (Vec::new(), range.start, range.start);
    while at < range.end {
        if tokens.get(at).is_some_and(|token| token.is_operator(",")) {
            parts.push(start..at);
            start = at + 1;
        }
        at = brackets.close(at).unwrap_or(at) + 1;
    }
    if !parts.is_empty() || range.clone().any(|at| !is_trivia(tokens, at)) {
        parts.push(start..range.end);
    }
    parts
}

/// The last `AS` of a range outside of brackets: that of a CAST.
pub(super) fn last_as(
    tokens: &[SqlToken<'_>],
    brackets: &Brackets,
    range: &Range<usize>,
) -> Option<usize> {
    let (mut found, mut at) = (None, range.start);
    while at < range.end {
        if tokens.get(at).is_some_and(|token| token.is_word("as")) {
            found = Some(at);
        }
        at = brackets.close(at).unwrap_or(at) + 1;
    }
    found
}
