//! How texts compare and sort.

use std::borrow::Cow;

/// How texts of a column compare and sort.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Collation {
    /// By their UTF-8 bytes, which is the order of Unicode scalar values.
    #[default]
    Binary,
    /// As `Binary`, but A–Z equal a–z.
    NoCase,
    /// As `Binary`, but each character counts as its Unicode lower case (no full case folding: `ß` differs
    /// from `ss`).
    UnicodeNoCase,
}

impl Collation {
    /// Compares two texts.
    #[must_use]
    pub fn compare(self, a: &str, b: &str) -> std::cmp::Ordering {
        match self {
            Self::Binary => a.cmp(b),
            Self::NoCase => a
                .bytes()
                .map(|byte| byte.to_ascii_lowercase())
                .cmp(b.bytes().map(|byte| byte.to_ascii_lowercase())),
            Self::UnicodeNoCase => {
                a.chars().flat_map(char::to_lowercase).cmp(b.chars().flat_map(char::to_lowercase))
            }
        }
    }

    /// The folded form: two texts are equal under the collation if and only if their folded forms are
    /// identical.
    #[must_use]
    pub fn fold(self, text: &str) -> Cow<'_, str> {
        match self {
            Self::Binary => Cow::Borrowed(text),
            Self::NoCase => Cow::Owned(text.to_ascii_lowercase()),
            Self::UnicodeNoCase => Cow::Owned(text.chars().flat_map(char::to_lowercase).collect()),
        }
    }
}

/// What decides how an engine compares and sorts the texts of a column. Only engines set it, in the schemas of tables
/// that other programs made.
///
/// A query of one engine uses that engine's rules. SQL over several engines has one meaning for all of them, so it
/// leaves to an engine only what does not depend on such rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum TextOrder {
    /// The column's [`Collation`].
    #[default]
    Collation,
    /// Rules of the engine that no [`Collation`] has, such as those of a language, or positions in an enum. Texts with
    /// equal bytes are equal; others may be.
    Engine,
    /// The [`Collation`], after a conversion: the engine has another type there, such as a network address, whose values
    /// Bobak reads as texts.
    Converted,
}
