//! A part of the index: the words of some rows, and where the rows have them. It never changes.
//!
//! What a word's list has for each row is a run of variable-length numbers: how far its slot is from the one before, how
//! often the row has the word, and how far each of these positions is from the one before.

use bobak_core::ValueRef;
use bobak_core::search::{SearchLanguage, stem, words};
use std::collections::HashMap;

pub(super) struct Segment {
    pub number: u32,
    rows: usize,
    /// Each word and its list, in the words' order.
    words: Vec<(Box<str>, Box<[u8]>)>,
}

/// A row that has a word.
#[derive(Clone, Copy, Debug)]
pub(super) struct WordRow<'s> {
    pub slot: u32,
    /// How often it has the word.
    pub count: u32,
    positions: &'s [u8],
}

/// The rows that have a word, in ascending order of their slots.
pub(super) struct WordRows<'s> {
    rest: &'s [u8],
    slot: u32,
}

pub(super) struct SegmentBuilder {
    number: u32,
    language: SearchLanguage,
    rows: usize,
    /// The numbers of words as texts have them.
    known: HashMap<String, u32>,
    /// The numbers of words in the form that is compared.
    stems: HashMap<String, u32>,
    /// For each number, the last slot and the list.
    lists: Vec<(u32, Vec<u8>)>,
    /// The words of one row and their positions.
    row: Vec<(u32, u32)>,
}

impl Segment {
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The rows that have a word.
    pub fn word(&self, word: &str) -> Option<WordRows<'_>> {
        let found = self.words.binary_search_by(|(other, _)| (**other).cmp(word)).ok()?;
        self.words.get(found).map(|(_, list)| WordRows::new(list))
    }

    /// The lists of all words that begin so.
    pub fn prefix<'s>(&'s self, prefix: &'s str) -> impl Iterator<Item = WordRows<'s>> + 's {
        let first = self.words.partition_point(|(word, _)| **word < *prefix);
        let words = self.words.get(first..).unwrap_or_default().iter();
        let words = words.take_while(move |(word, _)| word.starts_with(prefix));
        words.map(|(_, list)| WordRows::new(list))
    }
}

impl<'s> WordRows<'s> {
    fn new(list: &'s [u8]) -> Self {
        Self { rest: list, slot: 0 }
    }
}

impl<'s> Iterator for WordRows<'s> {
    type Item = WordRow<'s>;

    #[inline]
    fn next(&mut self) -> Option<WordRow<'s>> {
        self.slot += read(&mut self.rest)?;
        let count = read(&mut self.rest)?;
        let length = read(&mut self.rest)? as usize;
        let (positions, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(WordRow { slot: self.slot, count, positions })
    }
}

impl WordRow<'_> {
    /// The positions of the word among the row's words.
    pub fn positions(&self) -> impl Iterator<Item = u32> + '_ {
        let (mut rest, mut position) = (self.positions, 0);
        std::iter::from_fn(move || {
            position += read(&mut rest)?;
            Some(position)
        })
    }
}

impl SegmentBuilder {
    pub fn new(number: u32, language: SearchLanguage) -> Self {
        Self {
            number,
            language,
            rows: 0,
            known: HashMap::new(),
            stems: HashMap::new(),
            lists: Vec::new(),
            row: Vec::new(),
        }
    }

    /// Adds a row, whose slot is larger than all before; returns the number of its words.
    pub fn add<'v>(&mut self, slot: u32, texts: impl Iterator<Item = ValueRef<'v>>) -> u32 {
        self.row.clear();
        let mut position = 0;
        for text in texts {
            if let ValueRef::Text(text) = text {
                for (_, word) in words(text) {
                    let number = self.number_of(word);
                    self.row.push((number, position));
                    position += 1;
                }
            }
            // A phrase does not cross columns.
            position += 1;
        }
        self.rows += 1;
        self.row.sort_unstable();
        self.push_row(slot);
        u32::try_from(self.row.len()).unwrap_or(u32::MAX)
    }

    /// Adds the words of the row to their lists.
    fn push_row(&mut self, slot: u32) {
        let mut encoded = Vec::new();
        for same in self.row.chunk_by(|a, b| a.0 == b.0) {
            let Some((number, _)) = same.first() else { continue };
            let Some((last, list)) = self.lists.get_mut(*number as usize) else { continue };
            encoded.clear();
            let mut before = 0;
            for (_, position) in same {
                write(&mut encoded, position - before);
                before = *position;
            }
            write(list, slot - *last);
            write(list, u32::try_from(same.len()).unwrap_or(u32::MAX));
            write(list, u32::try_from(encoded.len()).unwrap_or(u32::MAX));
            list.extend_from_slice(&encoded);
            *last = slot;
        }
    }

    pub fn finish(self) -> Segment {
        let mut words: Vec<(Box<str>, Box<[u8]>)> = Vec::with_capacity(self.stems.len());
        let mut lists = self.lists;
        for (word, number) in self.stems {
            if let Some((_, list)) = lists.get_mut(number as usize) {
                words.push((word.into_boxed_str(), std::mem::take(list).into_boxed_slice()));
            }
        }
        words.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        Segment { number: self.number, rows: self.rows, words }
    }

    fn number_of(&mut self, word: String) -> u32 {
        if let Some(number) = self.known.get(&word) {
            return *number;
        }
        let next = u32::try_from(self.lists.len()).unwrap_or(u32::MAX);
        let number = *self.stems.entry(stem(self.language, word.clone())).or_insert(next);
        if number == next {
            self.lists.push((0, Vec::new()));
        }
        self.known.insert(word, number);
        number
    }
}

fn write(out: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

#[inline]
fn read(bytes: &mut &[u8]) -> Option<u32> {
    let (mut number, mut shift) = (0, 0);
    loop {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u32::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
        shift += 7;
    }
}
