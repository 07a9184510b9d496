//! The characters that words have.

/// Whether a character is part of a word: a letter, a decimal digit, a letter number such as Ⅷ, or a mark of these, such as
/// an accent or a vowel sign. So `x²` is the word `x`: engines disagree about other numbers, and about letters in circles.
pub(super) fn is_of_word(char: char) -> bool {
    if char.is_ascii() {
        return char.is_ascii_alphanumeric();
    }
    if char.is_alphanumeric() {
        return !is_in(OTHER_NUMBERS, char);
    }
    is_in(MARKS, char)
}

fn is_in(ranges: &[(char, char)], char: char) -> bool {
    let after = ranges.partition_point(|range| range.0 <= char);
    ranges.get(..after).and_then(<[_]>::last).is_some_and(|range| char <= range.1)
}

/// Unicode's marks (Mn and Mc) of the basic plane except variation selectors, in ascending ranges. The ranges have letters
/// and digits too that are between marks, and nothing else. A fixed table, so that it is the same in all indexes.
pub const MARKS: &[(char, char)] = &[
    ('\u{300}', '\u{36f}'),
    ('\u{483}', '\u{487}'),
    ('\u{591}', '\u{5bd}'),
    ('\u{5bf}', '\u{5bf}'),
    ('\u{5c1}', '\u{5c2}'),
    ('\u{5c4}', '\u{5c5}'),
    ('\u{5c7}', '\u{5c7}'),
    ('\u{610}', '\u{61a}'),
    ('\u{64b}', '\u{65f}'),
    ('\u{670}', '\u{670}'),
    ('\u{6d6}', '\u{6dc}'),
    ('\u{6df}', '\u{6e8}'),
    ('\u{6ea}', '\u{6ed}'),
    ('\u{711}', '\u{7f3}'),
    ('\u{7fd}', '\u{7fd}'),
    ('\u{816}', '\u{82d}'),
    ('\u{859}', '\u{85b}'),
    ('\u{898}', '\u{8e1}'),
    ('\u{8e3}', '\u{963}'),
    ('\u{981}', '\u{9e3}'),
    ('\u{9fe}', '\u{a75}'),
    ('\u{a81}', '\u{ae3}'),
    ('\u{afa}', '\u{b63}'),
    ('\u{b82}', '\u{bd7}'),
    ('\u{c00}', '\u{c63}'),
    ('\u{c81}', '\u{c83}'),
    ('\u{cbc}', '\u{d4d}'),
    ('\u{d57}', '\u{d57}'),
    ('\u{d62}', '\u{d63}'),
    ('\u{d81}', '\u{df3}'),
    ('\u{e31}', '\u{e3a}'),
    ('\u{e47}', '\u{e4e}'),
    ('\u{eb1}', '\u{ecd}'),
    ('\u{f18}', '\u{f19}'),
    ('\u{f35}', '\u{f35}'),
    ('\u{f37}', '\u{f37}'),
    ('\u{f39}', '\u{f39}'),
    ('\u{f3e}', '\u{f84}'),
    ('\u{f86}', '\u{fbc}'),
    ('\u{fc6}', '\u{fc6}'),
    ('\u{102b}', '\u{103e}'),
    ('\u{1056}', '\u{109d}'),
    ('\u{135d}', '\u{135f}'),
    ('\u{1712}', '\u{1734}'),
    ('\u{1752}', '\u{17d3}'),
    ('\u{17dd}', '\u{17dd}'),
    ('\u{180b}', '\u{180d}'),
    ('\u{180f}', '\u{193b}'),
    ('\u{1a17}', '\u{1a1b}'),
    ('\u{1a55}', '\u{1a7f}'),
    ('\u{1ab0}', '\u{1abd}'),
    ('\u{1abf}', '\u{1b44}'),
    ('\u{1b6b}', '\u{1b73}'),
    ('\u{1b80}', '\u{1bf3}'),
    ('\u{1c24}', '\u{1c37}'),
    ('\u{1cd0}', '\u{1cd2}'),
    ('\u{1cd4}', '\u{1dff}'),
    ('\u{20d0}', '\u{20dc}'),
    ('\u{20e1}', '\u{20e1}'),
    ('\u{20e5}', '\u{20f0}'),
    ('\u{2cef}', '\u{2cf1}'),
    ('\u{2d7f}', '\u{2dff}'),
    ('\u{302a}', '\u{302f}'),
    ('\u{3099}', '\u{309a}'),
    ('\u{a66f}', '\u{a66f}'),
    ('\u{a674}', '\u{a67d}'),
    ('\u{a69e}', '\u{a6f1}'),
    ('\u{a802}', '\u{a827}'),
    ('\u{a82c}', '\u{a82c}'),
    ('\u{a880}', '\u{a8c5}'),
    ('\u{a8e0}', '\u{a8f1}'),
    ('\u{a8ff}', '\u{a92d}'),
    ('\u{a947}', '\u{a953}'),
    ('\u{a980}', '\u{a9c0}'),
    ('\u{a9e5}', '\u{aa4d}'),
    ('\u{aa7b}', '\u{aac1}'),
    ('\u{aaeb}', '\u{aaef}'),
    ('\u{aaf5}', '\u{aaf6}'),
    ('\u{abe3}', '\u{abea}'),
    ('\u{abec}', '\u{abed}'),
    ('\u{fb1e}', '\u{fb1e}'),
    ('\u{fe20}', '\u{fe2f}'),
];

/// Unicode's other numbers (No) and letters in circles and squares (So), in ascending ranges, which have no words' characters.
const OTHER_NUMBERS: &[(char, char)] = &[
    ('\u{b2}', '\u{b3}'),
    ('\u{b9}', '\u{b9}'),
    ('\u{bc}', '\u{be}'),
    ('\u{9f4}', '\u{9f9}'),
    ('\u{b72}', '\u{b77}'),
    ('\u{bf0}', '\u{bf2}'),
    ('\u{c78}', '\u{c7e}'),
    ('\u{d58}', '\u{d5e}'),
    ('\u{d70}', '\u{d78}'),
    ('\u{f2a}', '\u{f33}'),
    ('\u{1369}', '\u{137c}'),
    ('\u{17f0}', '\u{17f9}'),
    ('\u{19da}', '\u{19da}'),
    ('\u{2070}', '\u{2070}'),
    ('\u{2074}', '\u{2079}'),
    ('\u{2080}', '\u{2089}'),
    ('\u{2150}', '\u{215f}'),
    ('\u{2189}', '\u{2793}'),
    ('\u{2cfd}', '\u{2cfd}'),
    ('\u{3192}', '\u{3195}'),
    ('\u{3220}', '\u{32bf}'),
    ('\u{a830}', '\u{a835}'),
    ('\u{10107}', '\u{10133}'),
    ('\u{10175}', '\u{1018b}'),
    ('\u{102e1}', '\u{102fb}'),
    ('\u{10320}', '\u{10323}'),
    ('\u{10858}', '\u{1085f}'),
    ('\u{10879}', '\u{1087f}'),
    ('\u{108a7}', '\u{108af}'),
    ('\u{108fb}', '\u{108ff}'),
    ('\u{10916}', '\u{1091b}'),
    ('\u{109bc}', '\u{109bd}'),
    ('\u{109c0}', '\u{109ff}'),
    ('\u{10a40}', '\u{10a48}'),
    ('\u{10a7d}', '\u{10a7e}'),
    ('\u{10a9d}', '\u{10a9f}'),
    ('\u{10aeb}', '\u{10aef}'),
    ('\u{10b58}', '\u{10b5f}'),
    ('\u{10b78}', '\u{10b7f}'),
    ('\u{10ba9}', '\u{10baf}'),
    ('\u{10cfa}', '\u{10cff}'),
    ('\u{10e60}', '\u{10e7e}'),
    ('\u{10f1d}', '\u{10f26}'),
    ('\u{10f51}', '\u{10f54}'),
    ('\u{10fc5}', '\u{10fcb}'),
    ('\u{11052}', '\u{11065}'),
    ('\u{111e1}', '\u{111f4}'),
    ('\u{1173a}', '\u{1173b}'),
    ('\u{118ea}', '\u{118f2}'),
    ('\u{11c5a}', '\u{11c6c}'),
    ('\u{11fc0}', '\u{11fd4}'),
    ('\u{16b5b}', '\u{16b61}'),
    ('\u{16e80}', '\u{16e96}'),
    ('\u{1d2e0}', '\u{1d378}'),
    ('\u{1e8c7}', '\u{1e8cf}'),
    ('\u{1ec71}', '\u{1ed3d}'),
    ('\u{1f100}', '\u{1f189}'),
];

#[cfg(test)]
mod tests {
    use super::{MARKS, OTHER_NUMBERS, is_of_word};

    #[test]
    fn words_have_letters_digits_and_their_marks() {
        for char in "aZ9éß日अि्ًกู９Ⅷ\u{301}𐐀".chars() {
            assert!(is_of_word(char), "{char:?}");
        }
        for char in "_-'’…“ \u{ad}²½①Ⓐ🄰🦊🎉₽\u{fe0f}\u{200d}\u{20e3}।\u{e000}".chars()
        {
            assert!(!is_of_word(char), "{char:?}");
        }
        for ranges in [MARKS, OTHER_NUMBERS] {
            assert!(ranges.iter().all(|range| range.0 <= range.1));
            assert!(ranges.is_sorted_by(|a, b| a.1 < b.0));
        }
    }
}
