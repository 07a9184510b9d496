//! The rows that have one word, a prefix or a phrase.

use super::SearchIndex;
use super::segment::{Segment, WordRow};
use bobak_core::search::{SearchLanguage, SearchQuery, stem};

/// The slots of rows and how often each has it, in ascending order.
pub(super) type RowCounts = Vec<(u32, u32)>;

impl SearchIndex {
    /// The rows that have a word, a prefix or a phrase; none for other queries.
    pub(super) fn counts(&self, language: SearchLanguage, query: &SearchQuery) -> RowCounts {
        let mut counts = Vec::new();
        let stem = |word: &String| stem(language, word.clone());
        for segment in &self.segments {
            let first = counts.len();
            match query {
                SearchQuery::Word(word) => {
                    let rows = segment.word(&stem(word)).into_iter().flatten();
                    counts.extend(rows.map(|row| (row.slot, row.count)));
                }
                SearchQuery::Prefix(word) => add_prefix(segment, &stem(word), &mut counts),
                SearchQuery::Phrase(words) => {
                    let words: Vec<String> = words.iter().map(stem).collect();
                    add_phrase(segment, &words, &mut counts);
                }
                _ => {}
            }
            self.keep_present(segment, &mut counts, first);
        }
        if self.segments.len() > 1 {
            counts.sort_by_key(|row| row.0);
        }
        counts
    }

    /// Removes the rows from `first` on that are no longer those of the segment.
    fn keep_present(&self, segment: &Segment, counts: &mut RowCounts, first: usize) {
        let mut at = 0;
        counts.retain(|row| {
            at += 1;
            at <= first || self.owns(segment, row.0)
        });
    }
}

fn add_prefix(segment: &Segment, prefix: &str, counts: &mut RowCounts) {
    let first = counts.len();
    for rows in segment.prefix(prefix) {
        counts.extend(rows.map(|row| (row.slot, row.count)));
    }
    let mut found = counts.split_off(first);
    found.sort_by_key(|row| row.0);
    for (slot, count) in found {
        match counts.get_mut(first..).and_then(|own| own.last_mut()) {
            Some(last) if last.0 == slot => last.1 += count,
            _ => counts.push((slot, count)),
        }
    }
}

fn add_phrase(segment: &Segment, words: &[String], counts: &mut RowCounts) {
    let lists: Option<Vec<_>> = words.iter().map(|word| segment.word(word)).collect();
    let Some(mut lists) = lists else { return };
    let Some((first, others)) = lists.split_first_mut() else { return };
    let mut current: Vec<Option<WordRow<'_>>> = others.iter_mut().map(Iterator::next).collect();
    for row in first {
        let mut starts: Vec<u32> = row.positions().collect();
        for ((list, current), distance) in others.iter_mut().zip(&mut current).zip(1..) {
            while current.is_some_and(|found| found.slot < row.slot) {
                *current = list.next();
            }
            let Some(found) = current.filter(|found| found.slot == row.slot) else {
                starts.clear();
                break;
            };
            let positions: Vec<u32> = found.positions().collect();
            starts.retain(|start| positions.binary_search(&(start + distance)).is_ok());
        }
        if !starts.is_empty() {
            counts.push((row.slot, u32::try_from(starts.len()).unwrap_or(u32::MAX)));
        }
    }
}
