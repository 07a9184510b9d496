//! Tests of texts.

use crate::Result;

/// A test of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextTest {
    /// It matches a pattern, as in [`Condition::Like`](crate::Condition::Like) and [`Condition::LikeEscape`](crate::Condition::LikeEscape).
    Like(String, Option<char>),
    /// It has this part, byte for byte.
    Contains(String),
    /// It begins with this text, byte for byte.
    StartsWith(String),
    /// It ends with this text, byte for byte.
    EndsWith(String),
}

impl TextTest {
    /// Whether a text passes.
    #[must_use]
    pub fn holds(&self, text: &str) -> bool {
        match self {
            Self::Like(pattern, None) => crate::like(pattern, text),
            Self::Like(pattern, Some(escape)) => crate::like_with_escape(pattern, text, *escape),
            Self::Contains(part) => text.contains(part.as_str()),
            Self::StartsWith(prefix) => text.starts_with(prefix.as_str()),
            Self::EndsWith(suffix) => text.ends_with(suffix.as_str()),
        }
    }

    /// Checks the pattern.
    ///
    /// # Errors
    /// As [`check_pattern`](crate::check_pattern) and [`check_escape`](crate::check_escape).
    pub fn check(&self) -> Result<()> {
        let Self::Like(pattern, escape) = self else { return Ok(()) };
        escape.map_or(Ok(()), crate::check_escape)?;
        crate::check_pattern(pattern)
    }
}
