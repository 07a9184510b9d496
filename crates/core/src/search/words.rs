//! Texts as words.

use super::SearchLanguage;
use super::characters::is_of_word;
use super::porter;

/// The words of a text: the longest runs of letters, decimal digits and their marks, in lower case. See [`words`].
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

/// Lower-case letters that are the same as others in words, and the others. İ has no lower case there.
pub const SAME_LETTERS: [(char, char); 3] = [('ς', 'σ'), ('µ', 'μ'), ('ſ', 's')];

/// Adds a character in lower case, as SQLite has it.
fn push_lower(mut word: String, char: char) -> String {
    match SAME_LETTERS.iter().find(|(letter, _)| *letter == char) {
        Some((_, same)) => word.push(*same),
        None if char == 'İ' => word.push(char),
        None => word.extend(char.to_lowercase()),
    }
    word
}

/// The form in which a language's words are compared.
#[must_use]
pub fn stem(language: SearchLanguage, word: String) -> String {
    if language == SearchLanguage::English { porter::stem(word) } else { word }
}

impl Iterator for Words<'_> {
    type Item = (std::ops::Range<usize>, String);

    fn next(&mut self) -> Option<Self::Item> {
        let word = loop {
            let rest = self.text.get(self.at..)?;
            let start = self.at + rest.find(is_of_word)?;
            let rest = self.text.get(start..)?;
            let length = rest.find(|char| !is_of_word(char)).unwrap_or(rest.len());
            self.at = start + length;
            let word = rest.get(..length)?;
            // Marks alone are no word.
            if word.contains(char::is_alphanumeric) {
                break word;
            }
        };
        let start = self.at - word.len();
        let lower = if word.is_ascii() {
            word.to_ascii_lowercase()
        } else {
            word.chars().fold(String::with_capacity(word.len()), push_lower)
        };
        Some((start..self.at, lower))
    }
}
