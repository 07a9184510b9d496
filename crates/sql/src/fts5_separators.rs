//! What separates words in texts, but not for SQLite's FTS5.

use crate::writer::Writer;

/// Adds what FTS5's tokenizer must be told separates words. It knows the characters of Unicode 6.1 of 2012, and takes those
/// that it does not know for letters, such as many emojis.
pub(crate) fn push_separators(writer: &mut Writer<'_>) {
    let separators = SEPARATORS.iter().flat_map(|(first, last)| *first..=*last);
    writer.raw(&separators.collect::<String>());
}

/// All such characters of today's Unicode in the basic plane, and what is or will be a symbol from U+1F000 on, in ascending
/// ranges. Left out are those of scripts in other planes, and private ones.
const SEPARATORS: &[(char, char)] = &[
    ('\u{58d}', '\u{58e}'),
    ('\u{605}', '\u{605}'),
    ('\u{61c}', '\u{61d}'),
    ('\u{7fe}', '\u{7ff}'),
    ('\u{888}', '\u{888}'),
    ('\u{890}', '\u{891}'),
    ('\u{8e2}', '\u{8e2}'),
    ('\u{9fd}', '\u{9fd}'),
    ('\u{a76}', '\u{a76}'),
    ('\u{c77}', '\u{c77}'),
    ('\u{c84}', '\u{c84}'),
    ('\u{d4f}', '\u{d4f}'),
    ('\u{d58}', '\u{d5e}'),
    ('\u{d76}', '\u{d78}'),
    ('\u{1abe}', '\u{1abe}'),
    ('\u{1b7d}', '\u{1b7e}'),
    ('\u{2065}', '\u{2069}'),
    ('\u{2072}', '\u{2073}'),
    ('\u{208f}', '\u{208f}'),
    ('\u{209d}', '\u{209f}'),
    ('\u{20ba}', '\u{20cf}'),
    ('\u{20f1}', '\u{20ff}'),
    ('\u{218a}', '\u{218f}'),
    ('\u{23f4}', '\u{23ff}'),
    ('\u{2427}', '\u{243f}'),
    ('\u{244b}', '\u{245f}'),
    ('\u{2700}', '\u{2700}'),
    ('\u{2b4d}', '\u{2b4f}'),
    ('\u{2b5a}', '\u{2bff}'),
    ('\u{2e3c}', '\u{2e7f}'),
    ('\u{32ff}', '\u{32ff}'),
    ('\u{a8fc}', '\u{a8fc}'),
    ('\u{ab5b}', '\u{ab5b}'),
    ('\u{ab6a}', '\u{ab6b}'),
    ('\u{fbc2}', '\u{fbc2}'),
    ('\u{fd40}', '\u{fd4f}'),
    ('\u{fdcf}', '\u{fdcf}'),
    ('\u{fdfe}', '\u{fe0f}'),
    ('\u{1f02c}', '\u{1f02f}'),
    ('\u{1f094}', '\u{1f09f}'),
    ('\u{1f0af}', '\u{1f0b0}'),
    ('\u{1f0bf}', '\u{1f0c0}'),
    ('\u{1f0d0}', '\u{1f0d0}'),
    ('\u{1f0e0}', '\u{1f0ff}'),
    ('\u{1f10b}', '\u{1f10f}'),
    ('\u{1f12f}', '\u{1f12f}'),
    ('\u{1f16c}', '\u{1f16f}'),
    ('\u{1f19b}', '\u{1f1e5}'),
    ('\u{1f203}', '\u{1f20f}'),
    ('\u{1f23b}', '\u{1f23f}'),
    ('\u{1f249}', '\u{1f2ff}'),
    ('\u{1f321}', '\u{1f32f}'),
    ('\u{1f336}', '\u{1f336}'),
    ('\u{1f37d}', '\u{1f37f}'),
    ('\u{1f394}', '\u{1f39f}'),
    ('\u{1f3c5}', '\u{1f3c5}'),
    ('\u{1f3cb}', '\u{1f3df}'),
    ('\u{1f3f1}', '\u{1f3ff}'),
    ('\u{1f43f}', '\u{1f441}'),
    ('\u{1f4f8}', '\u{1f4ff}'),
    ('\u{1f53e}', '\u{1f54f}'),
    ('\u{1f568}', '\u{1f5fa}'),
    ('\u{1f641}', '\u{1f644}'),
    ('\u{1f650}', '\u{1f67f}'),
    ('\u{1f6c6}', '\u{1f6ff}'),
    ('\u{1f774}', '\u{1faff}'),
];

#[cfg(test)]
mod tests {
    use super::SEPARATORS;
    use bobak_core::search::words;

    #[test]
    fn separators_are_in_no_word() {
        let text: String = SEPARATORS.iter().flat_map(|(first, last)| *first..=*last).collect();
        assert_eq!(words(&text).next(), None);
        assert!(SEPARATORS.is_sorted_by(|a, b| a.1 < b.0));
    }
}
