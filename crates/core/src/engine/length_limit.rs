//! How long a value of a column may be in an engine's own tables.

use crate::ValueRef;
use std::fmt;

/// How long a value of a column may be: see [`Engine::length_limit`](crate::Engine::length_limit).
///
/// ```
/// use bobak_core::{LengthLimit, ValueRef};
/// let limit = LengthLimit::Characters(3);
/// assert!(limit.admits(ValueRef::Text("Zoë")));
/// assert!(!limit.admits(ValueRef::Text("Anna")));
/// assert_eq!(limit.to_string(), "3 characters");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LengthLimit {
    /// Characters of a text.
    Characters(u32),
    /// Units of UTF-16 of a text: a character outside of the first 65,536 has two.
    Utf16Units(u32),
    /// Bytes, of a text in UTF-8.
    Bytes(u32),
}

impl LengthLimit {
    /// Whether a value is not longer. Only texts and bytes have a length.
    #[must_use]
    pub fn admits(self, value: ValueRef<'_>) -> bool {
        let (Self::Characters(most) | Self::Utf16Units(most) | Self::Bytes(most)) = self;
        self.length(value) <= most.try_into().unwrap_or(usize::MAX)
    }

    /// The length of a value in the limit's unit; 0 if it is neither a text nor bytes.
    #[must_use]
    pub fn length(self, value: ValueRef<'_>) -> usize {
        match (self, value) {
            (Self::Characters(_), ValueRef::Text(text)) => text.chars().count(),
            (Self::Utf16Units(_), ValueRef::Text(text)) => text.encode_utf16().count(),
            (_, ValueRef::Text(text)) => text.len(),
            (_, ValueRef::Bytes(bytes)) => bytes.len(),
            _ => 0,
        }
    }
}

impl fmt::Display for LengthLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Characters(most) => write!(f, "{most} characters"),
            Self::Utf16Units(most) => write!(f, "{most} units of UTF-16"),
            Self::Bytes(most) => write!(f, "{most} bytes"),
        }
    }
}
