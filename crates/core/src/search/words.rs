//! Texts as words.

use super::SearchLanguage;
use super::porter;

/// The words of a text: the longest runs of letters and digits, in lower case. See [`words`].
#[derive(Clone, Debug)]
pub struct Words<'a> {
    text: &'a str,
    at: usize,
}

/// The words of a text and where they are, in bytes.
///
/// ```
/// let found: Vec<_> = bobak_core::search::words("Don't panic!").collect();
/// assert_eq!(found[0], (0..3, "don".to_owned()));
/// assert_eq!(found[2], (6..11, "panic".to_owned()));
/// ```
#[must_use]
pub const fn words(text: &str) -> Words<'_> {
    Words { text, at: 0 }
}

/// Whether a character is part of a word: a letter, a digit or a combining mark.
pub(super) fn is_of_word(char: char) -> bool {
    char.is_alphanumeric() || ('\u{300}'..='\u{36f}').contains(&char)
}

/// The form in which a language's words are compared.
#[must_use]
pub fn stem(language: SearchLanguage, word: String) -> String {
    if language == SearchLanguage::English { porter::stem(word) } else { word }
}

impl Iterator for Words<'_> {
    type Item = (std::ops::Range<usize>, String);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.text.get(self.at..)?;
        let start = self.at + rest.find(is_of_word)?;
        let rest = self.text.get(start..)?;
        let length = rest.find(|char| !is_of_word(char)).unwrap_or(rest.len());
        self.at = start + length;
        let word = rest.get(..length)?;
        let lower = if word.is_ascii() {
            word.to_ascii_lowercase()
        } else {
            word.chars().flat_map(char::to_lowercase).collect()
        };
        Some((start..self.at, lower))
    }
}
