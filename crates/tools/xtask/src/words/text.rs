//! A file as words, each with its line and whether it stands in a comment, in a string or in code.

/// Where a word stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Region {
    /// A comment, or running text.
    Comment,
    /// A string literal: an error message, help, SQL.
    String,
    /// A name in code.
    Code,
}

/// One word. A name such as `write_queue` or `WriteQueue` is two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// In lower case.
    pub text: String,
    /// Counted from 1.
    pub line: usize,
    pub region: Region,
    /// Whether a phrase can begin here but not reach over it: the first word of a sentence or of a name.
    pub first: bool,
    /// Whether it is written in capitals, as SQL and constants are.
    pub capitals: bool,
}

/// The words of a Rust file.
pub fn of_rust(text: &str) -> Vec<Word> {
    let mut words = Words::default();
    let mut rest = text;
    while !rest.is_empty() {
        let (length, region) = next_region(rest);
        let (part, tail) = rest.split_at(length);
        match region {
            // Not the prefix of a raw string or of one of bytes.
            Region::String => words.add(part.trim_start_matches(['b', 'c', 'r']), region),
            _ => words.add(part, region),
        }
        rest = tail;
    }
    words.all
}

/// The words of a file in which every word counts as running text.
pub fn of_prose(text: &str) -> Vec<Word> {
    let mut words = Words::default();
    words.add(text, Region::Comment);
    words.all
}

/// The length of what `text` begins with, up to where another region begins.
fn next_region(text: &str) -> (usize, Region) {
    if let Some(length) = comment(text) {
        return (length, Region::Comment);
    }
    if let Some(length) = string(text) {
        return (length, Region::String);
    }
    let mut length = 0;
    let mut after_letter = false;
    for (at, letter) in text.char_indices() {
        let rest = &text[at..];
        let begins = comment(rest).is_some() || !after_letter && string(rest).is_some();
        if at > 0 && begins {
            return (at, Region::Code);
        }
        after_letter = letter.is_alphanumeric() || letter == '_';
        length = at + letter.len_utf8();
    }
    (length, Region::Code)
}

/// The length of the comment that `text` begins with. Lines of comments in a row are one, so that a phrase is found over
/// a line's end.
fn comment(text: &str) -> Option<usize> {
    if let Some(rest) = text.strip_prefix("/*") {
        return Some(rest.find("*/").map_or(text.len(), |end| end + 4));
    }
    text.strip_prefix("//")?;
    let mut length = text.find('\n').map_or(text.len(), |end| end + 1);
    while let Some(rest) = text.get(length..) {
        let indent = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        if !rest[indent..].starts_with("//") {
            break;
        }
        length += rest.find('\n').map_or(rest.len(), |end| end + 1);
    }
    Some(length)
}

/// The length of the string or character literal that `text` begins with.
fn string(text: &str) -> Option<usize> {
    let bare = text.trim_start_matches(['b', 'c', 'r']);
    let prefix = text.len() - bare.len();
    if prefix > 2 {
        return None;
    }
    let hashes = bare.len() - bare.trim_start_matches('#').len();
    if text[..prefix].contains('r') && bare[hashes..].starts_with('"') {
        let end = format!("\"{}", "#".repeat(hashes));
        let start = prefix + hashes + 1;
        return Some(text[start..].find(&end).map_or(text.len(), |at| start + at + end.len()));
    }
    if hashes == 0 && bare.starts_with('"') {
        return Some(prefix + quoted(bare, '"')?);
    }
    // A lifetime has no closing quote behind one letter.
    let mut letters = bare.chars();
    let is_character = letters.next() == Some('\'')
        && match letters.next()? {
            '\\' => true,
            _ => letters.next() == Some('\''),
        };
    is_character.then(|| quoted(bare, '\'').map(|length| prefix + length)).flatten()
}

/// The length of a literal with escapes, its quotes included.
fn quoted(text: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if letter == quote => return Some(at + 1),
            _ => {}
        }
    }
    Some(text.len())
}

struct Words {
    all: Vec<Word>,
    line: usize,
}

impl Default for Words {
    fn default() -> Self {
        Self { all: Vec::new(), line: 1 }
    }
}

impl Words {
    fn add(&mut self, text: &str, region: Region) {
        let mut first = true;
        let mut word = String::new();
        let mut previous = ' ';
        for letter in text.chars().chain(['\n']) {
            let starts_word = letter.is_uppercase() && previous.is_lowercase();
            if !word.is_empty() && (!letter.is_alphabetic() || starts_word) {
                self.push(std::mem::take(&mut word), region, first);
                first = false;
            }
            if letter.is_alphabetic() {
                word.push(letter);
            } else {
                first |= ends_phrase(letter, previous, region);
            }
            self.line += usize::from(letter == '\n');
            previous = letter;
        }
        // The line end that was added above.
        self.line -= 1;
    }

    fn push(&mut self, word: String, region: Region, first: bool) {
        // What stands behind an apostrophe is no word of its own: `the caller's`, `can't`.
        if word.len() == 1 && !first && ["s", "t", "d"].contains(&word.as_str()) {
            return;
        }
        let capitals = word.len() > 1 && word.chars().all(char::is_uppercase);
        let text = word.to_lowercase();
        self.all.push(Word { text, line: self.line, region, first, capitals });
    }
}

/// Whether no phrase reaches over `letter`.
fn ends_phrase(letter: char, previous: char, region: Region) -> bool {
    match letter {
        '_' | '-' | '\'' | '`' | '*' => false,
        '\n' => previous == '\n',
        ' ' | '/' | '!' if region != Region::Code => false,
        _ => region == Region::Code || !letter.is_whitespace(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, region: Region) -> Vec<(String, usize)> {
        let words = of_rust(text).into_iter().filter(|word| word.region == region);
        words.map(|word| (word.text, word.line)).collect()
    }

    fn joined(text: &str, region: Region) -> String {
        found(text, region).into_iter().map(|(word, _)| word).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn comments_strings_and_code_are_told_apart() {
        let text = "// A note\nfn write_queue<'a>(x: &'a str) { let AnyName = 'q'; r#\"raw \"text\"# }\n\"str // ing\" /* more */";
        assert_eq!(joined(text, Region::Comment), "a note more");
        assert_eq!(joined(text, Region::String), "q raw text str ing");
        assert_eq!(joined(text, Region::Code), "fn write queue a x a str let any name");
    }

    #[test]
    fn words_have_their_lines() {
        let text = "one\n// two\n// three\n\nfour \"five\n six\"\nseven";
        assert_eq!(found(text, Region::Comment), [("two".into(), 2), ("three".into(), 3)]);
        assert_eq!(found(text, Region::Code).last(), Some(&("seven".into(), 7)));
        assert_eq!(found(text, Region::String), [("five".into(), 5), ("six".into(), 6)]);
    }

    #[test]
    fn phrases_end_with_sentences_and_names() {
        let words = of_rust("/// the caller's\n/// request. It");
        let firsts: Vec<&str> = words.iter().filter(|w| w.first).map(|w| &*w.text).collect();
        assert_eq!(firsts, ["the", "it"]);
        let words = of_rust("put_aside(in_turns)");
        let firsts: Vec<&str> = words.iter().filter(|w| w.first).map(|w| &*w.text).collect();
        assert_eq!(firsts, ["put", "in"]);
    }
}
