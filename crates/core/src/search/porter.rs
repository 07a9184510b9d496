//! English stems by Porter's algorithm, as SQLite's FTS5 makes them: both find the same words.

/// The longest word that has a stem.
const MAX_BYTES: usize = 64;

/// A condition on the letters before a suffix.
type Condition = fn(&[u8]) -> bool;

/// Suffixes and what replaces them. The first one that a word has counts, even if its condition does not hold.
type Rules = &'static [(&'static str, &'static str, Condition)];

const STEP_2: Rules = &[
    ("ational", "ate", is_long),
    ("tional", "tion", is_long),
    ("enci", "ence", is_long),
    ("anci", "ance", is_long),
    ("izer", "ize", is_long),
    ("logi", "log", is_long),
    ("bli", "ble", is_long),
    ("alli", "al", is_long),
    ("entli", "ent", is_long),
    ("eli", "e", is_long),
    ("ousli", "ous", is_long),
    ("ization", "ize", is_long),
    ("ation", "ate", is_long),
    ("ator", "ate", is_long),
    ("alism", "al", is_long),
    ("iveness", "ive", is_long),
    ("fulness", "ful", is_long),
    ("ousness", "ous", is_long),
    ("aliti", "al", is_long),
    ("iviti", "ive", is_long),
    ("biliti", "ble", is_long),
];

const STEP_3: Rules = &[
    ("ical", "ic", is_long),
    ("ness", "", is_long),
    ("icate", "ic", is_long),
    ("iciti", "ic", is_long),
    ("ful", "", is_long),
    ("ative", "", is_long),
    ("alize", "al", is_long),
];

const STEP_4: Rules = &[
    ("al", "", is_longer),
    ("ance", "", is_longer),
    ("ence", "", is_longer),
    ("er", "", is_longer),
    ("ic", "", is_longer),
    ("able", "", is_longer),
    ("ible", "", is_longer),
    ("ant", "", is_longer),
    ("ement", "", is_longer),
    ("ment", "", is_longer),
    ("ent", "", is_longer),
    ("ion", "", |stem| matches!(stem.last(), Some(b's' | b't')) && is_longer(stem)),
    ("ou", "", is_longer),
    ("ism", "", is_longer),
    ("ate", "", is_longer),
    ("iti", "", is_longer),
    ("ous", "", is_longer),
    ("ive", "", is_longer),
    ("ize", "", is_longer),
];

/// The stem of a word in lower case.
pub(super) fn stem(word: String) -> String {
    if !(3..=MAX_BYTES).contains(&word.len()) {
        return word;
    }
    let mut bytes = word.into_bytes();
    plurals(&mut bytes);
    past(&mut bytes);
    if let Some((b'y', before)) = bytes.split_last()
        && has_vowel(before)
    {
        replace(&mut bytes, 1, "i");
    }
    for rules in [STEP_2, STEP_3, STEP_4] {
        apply(&mut bytes, rules);
    }
    last_letters(&mut bytes);
    // Only ASCII letters were removed.
    String::from_utf8(bytes).unwrap_or_default()
}

/// `caresses` → `caress`, `ponies` → `poni`, `cats` → `cat`.
fn plurals(word: &mut Vec<u8>) {
    let removed = match word[..] {
        [.., b's', b's', b'e', b's'] if word.len() > 4 => 2,
        [.., b'i', b'e', b's'] if word.len() > 3 => 2,
        [.., b's', b's'] => 0,
        [.., b's'] => 1,
        _ => 0,
    };
    word.truncate(word.len() - removed);
}

/// `agreed` → `agree`, `plastered` → `plaster`, `hopping` → `hop`, `filing` → `file`.
fn past(word: &mut Vec<u8>) {
    if let Some(before) = before(word, "eed") {
        if is_long(before) {
            replace(word, 1, "");
        }
        return;
    }
    let removed = match (before(word, "ed"), before(word, "ing")) {
        (Some(before), _) if has_vowel(before) => 2,
        (None, Some(before)) if has_vowel(before) => 3,
        _ => return,
    };
    replace(word, removed, "");
    if ["at", "bl", "iz"].into_iter().any(|end| before(word, end).is_some()) {
        word.push(b'e');
        return;
    }
    match word[..] {
        [.., a, b] if a == b && b.is_ascii() && !is_vowel(b, false) && !b"lsz".contains(&b) => {
            replace(word, 1, "");
        }
        _ if is_short(word) && ends_openly(word) => word.push(b'e'),
        _ => {}
    }
}

/// `probate` → `probat`, `controll` → `control`.
fn last_letters(word: &mut Vec<u8>) {
    if let Some((b'e', before)) = word.split_last()
        && (is_longer(before) || is_short(before) && !ends_openly(before))
    {
        replace(word, 1, "");
    }
    if let [.., b'l', b'l'] = word[..]
        && word.split_last().is_some_and(|(_, before)| is_longer(before))
    {
        replace(word, 1, "");
    }
}

fn apply(word: &mut Vec<u8>, rules: Rules) {
    for (suffix, replacement, condition) in rules {
        if let Some(before) = before(word, suffix) {
            if condition(before) {
                replace(word, suffix.len(), replacement);
            }
            return;
        }
    }
}

/// The letters before a suffix: one at least.
fn before<'w>(word: &'w [u8], suffix: &str) -> Option<&'w [u8]> {
    word.strip_suffix(suffix.as_bytes()).filter(|before| !before.is_empty())
}

fn replace(word: &mut Vec<u8>, removed: usize, by: &str) {
    word.truncate(word.len().saturating_sub(removed));
    word.extend_from_slice(by.as_bytes());
}

const fn is_vowel(letter: u8, y_is_vowel: bool) -> bool {
    matches!(letter, b'a' | b'e' | b'i' | b'o' | b'u') || (y_is_vowel && letter == b'y')
}

fn has_vowel(stem: &[u8]) -> bool {
    stem.iter().enumerate().any(|(at, letter)| is_vowel(*letter, at > 0))
}

/// How many bytes the first run of vowels has with the consonant after it; `None` without one.
fn first_measure(stem: &[u8], after_consonant: bool) -> Option<usize> {
    let (mut consonant, mut vowels) = (after_consonant, false);
    for (at, letter) in stem.iter().enumerate() {
        consonant = !is_vowel(*letter, consonant);
        if vowels && consonant {
            return Some(at + 1);
        }
        vowels |= !consonant;
    }
    None
}

/// Whether a vowel and a consonant follow after the first such pair.
fn second_measure(stem: &[u8]) -> Option<bool> {
    let first = first_measure(stem, false)?;
    Some(first_measure(stem.get(first..).unwrap_or_default(), true).is_some())
}

/// Porter's m > 0.
fn is_long(stem: &[u8]) -> bool {
    second_measure(stem).is_some()
}

/// Porter's m = 1.
fn is_short(stem: &[u8]) -> bool {
    second_measure(stem) == Some(false)
}

/// Porter's m > 1.
fn is_longer(stem: &[u8]) -> bool {
    second_measure(stem) == Some(true)
}

/// Porter's *o: consonant, vowel, consonant, and the last one is not w, x or y.
fn ends_openly(stem: &[u8]) -> bool {
    let mut consonant = false;
    let kinds: Vec<bool> = stem
        .iter()
        .map(|letter| {
            consonant = !is_vowel(*letter, consonant);
            consonant
        })
        .collect();
    kinds.ends_with(&[true, false, true]) && !matches!(stem.last(), Some(b'w' | b'x' | b'y'))
}

#[cfg(test)]
mod tests {
    use super::stem;

    #[test]
    fn words_have_the_stems_of_porters_paper() {
        let pairs = [
            ("caresses", "caress"),
            ("ponies", "poni"),
            ("cats", "cat"),
            ("agreed", "agre"),
            ("plastered", "plaster"),
            ("motoring", "motor"),
            ("hopping", "hop"),
            ("falling", "fall"),
            ("filing", "file"),
            ("happy", "happi"),
            ("sky", "sky"),
            ("relational", "relat"),
            ("electricity", "electr"),
            ("hopefulness", "hope"),
            ("adjustment", "adjust"),
            ("controlling", "control"),
            ("rolling", "roll"),
            ("quickly", "quickli"),
            ("running", "run"),
            ("as", "as"),
            ("été", "été"),
        ];
        for (word, expected) in pairs {
            assert_eq!(stem(word.to_owned()), expected, "{word}");
        }
    }
}
