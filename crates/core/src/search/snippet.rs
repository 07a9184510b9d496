//! The part of a row's texts that shows what a search found.

use super::{SearchLanguage, SearchQuery, stem, words};
use std::ops::Range;

/// How many words a snippet has at most.
const WORDS: usize = 24;
/// How many words stand before the first one that was found.
const BEFORE: usize = 5;
/// How many letters two words of a language without a stemmer here can differ in at their ends.
const ENDING: usize = 3;

/// A word of a text: where it is, and which word of the query it is.
type FoundWord = (Range<usize>, Option<usize>);

/// The part of a row's texts that shows what a search found.
///
/// ```
/// use bobak_core::search::{SearchLanguage, SearchQuery, Snippet};
/// let query = SearchQuery::parse("jumping fox*")?;
/// let snippet = Snippet::new(&query, SearchLanguage::English, ["Foxes never jump."]);
/// assert_eq!(snippet.marked("[", "]"), "[Foxes] never [jump].");
/// # Ok::<(), bobak_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snippet {
    /// The text. `…` stands for what is left out.
    pub text: String,
    /// Where the words are that were found, in bytes of the text.
    pub found: Vec<Range<usize>>,
}

impl Snippet {
    /// The part of these texts that has the most different words of the query: 24 words at most.
    pub fn new<'t>(
        query: &SearchQuery,
        language: SearchLanguage,
        texts: impl IntoIterator<Item = &'t str>,
    ) -> Self {
        let mut wanted = Vec::new();
        query.each_word(&mut |word, prefix| {
            wanted.push((stem(language, word.to_owned()), prefix));
        });
        let mut best: Option<(usize, Self)> = None;
        for text in texts {
            let (found, snippet) = Self::of_text(&wanted, language, text);
            if best.as_ref().is_none_or(|(most, _)| found > *most) {
                best = Some((found, snippet));
            }
        }
        best.map(|(_, snippet)| snippet).unwrap_or_default()
    }

    /// The text with the found words between two marks.
    #[must_use]
    pub fn marked(&self, before: &str, after: &str) -> String {
        let mut marked = String::with_capacity(self.text.len());
        let mut at = 0;
        for found in &self.found {
            marked.push_str(self.text.get(at..found.start).unwrap_or_default());
            marked.push_str(before);
            marked.push_str(self.text.get(found.clone()).unwrap_or_default());
            marked.push_str(after);
            at = found.end;
        }
        marked.push_str(self.text.get(at..).unwrap_or_default());
        marked
    }

    /// The best part of one text, and how many different words of the query it has.
    fn of_text(wanted: &[(String, bool)], language: SearchLanguage, text: &str) -> (usize, Self) {
        let all: Vec<FoundWord> = words(text)
            .map(|(range, word)| {
                let word = stem(language, word);
                (range, wanted.iter().position(|wanted| is_found(language, wanted, &word)))
            })
            .collect();
        let best = best_start(&all);
        let first = best.1.saturating_sub(BEFORE);
        let part: Vec<_> = all.iter().skip(first).take(WORDS).collect();
        let end = first + part.len();
        let (from, to) = match (part.first(), part.last()) {
            (Some((first_word, _)), Some((last_word, _))) => (
                if first == 0 { 0 } else { first_word.start },
                if end == all.len() { text.len() } else { last_word.end },
            ),
            _ => return (0, Self::default()),
        };
        let lead = if first == 0 { "" } else { "… " };
        let tail = if end == all.len() { "" } else { " …" };
        let shown = format!("{lead}{}{tail}", text.get(from..to).unwrap_or_default());
        let moved =
            |range: &Range<usize>| range.start - from + lead.len()..range.end - from + lead.len();
        let found = part.iter().filter(|(_, found)| found.is_some());
        let found = found.map(|(range, _)| moved(range)).collect();
        (best.0, Self { text: shown, found })
    }
}

fn is_found(language: SearchLanguage, wanted: &(String, bool), word: &str) -> bool {
    let (wanted, prefix) = (wanted.0.as_str(), wanted.1);
    if wanted == word || prefix && word.starts_with(wanted) {
        return true;
    }
    if matches!(language, SearchLanguage::Simple | SearchLanguage::English) {
        return false;
    }
    let same = wanted.chars().zip(word.chars()).take_while(|(a, b)| a == b).count();
    let longest = wanted.chars().count().max(word.chars().count());
    same >= ENDING && same + ENDING >= longest
}

/// How many different words of the query follow at most, and the number of the word where they begin.
fn best_start(all: &[FoundWord]) -> (usize, usize) {
    let mut best = (0, 0);
    for (start, (_, found)) in all.iter().enumerate() {
        if found.is_none() {
            continue;
        }
        let mut different: Vec<usize> =
            all.iter().skip(start).take(WORDS - BEFORE).filter_map(|(_, found)| *found).collect();
        different.sort_unstable();
        different.dedup();
        if different.len() > best.0 {
            best = (different.len(), start);
        }
    }
    best
}
