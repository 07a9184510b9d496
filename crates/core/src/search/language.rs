//! The languages of searched texts.

use crate::{Error, ErrorKind, Result};

/// The language of searched texts: whether words of one stem are the same word.
///
/// PostgreSQL stems all of these languages and leaves out their stop words. SQLite and the memory engine stem English
/// by Porter's algorithm; texts of other languages match word by word there, and all texts on MariaDB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SearchLanguage {
    /// No language: words match as they are, without case.
    #[default]
    Simple,
    /// Danish.
    Danish,
    /// Dutch.
    Dutch,
    /// English.
    English,
    /// Finnish.
    Finnish,
    /// French.
    French,
    /// German.
    German,
    /// Hungarian.
    Hungarian,
    /// Italian.
    Italian,
    /// Norwegian.
    Norwegian,
    /// Portuguese.
    Portuguese,
    /// Romanian.
    Romanian,
    /// Russian.
    Russian,
    /// Spanish.
    Spanish,
    /// Swedish.
    Swedish,
    /// Turkish.
    Turkish,
}

impl SearchLanguage {
    /// All languages.
    pub const ALL: &[Self] = &[
        Self::Simple,
        Self::Danish,
        Self::Dutch,
        Self::English,
        Self::Finnish,
        Self::French,
        Self::German,
        Self::Hungarian,
        Self::Italian,
        Self::Norwegian,
        Self::Portuguese,
        Self::Romanian,
        Self::Russian,
        Self::Spanish,
        Self::Swedish,
        Self::Turkish,
    ];

    /// The name in attributes, schemas and PostgreSQL: `english`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Simple => "simple",
            Self::Danish => "danish",
            Self::Dutch => "dutch",
            Self::English => "english",
            Self::Finnish => "finnish",
            Self::French => "french",
            Self::German => "german",
            Self::Hungarian => "hungarian",
            Self::Italian => "italian",
            Self::Norwegian => "norwegian",
            Self::Portuguese => "portuguese",
            Self::Romanian => "romanian",
            Self::Russian => "russian",
            Self::Spanish => "spanish",
            Self::Swedish => "swedish",
            Self::Turkish => "turkish",
        }
    }

    /// The language with this name.
    ///
    /// # Errors
    /// `Schema` for another name; the message lists all.
    pub fn from_name(name: &str) -> Result<Self> {
        let found = Self::ALL.iter().find(|language| language.name() == name);
        found.copied().ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|language| language.name()).collect();
            let message =
                format!("'{name}' is no language of a search; there are: {}", names.join(", "));
            Error::new(ErrorKind::Schema, message)
        })
    }
}
