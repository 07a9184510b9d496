//! The patterns of LIKE and GLOB.

use crate::{Error, ErrorKind, Interrupt, Result};
use std::str::Chars;

/// After this number of steps the matcher checks whether the call is interrupted: a long pattern over a long text
/// takes the product of their lengths.
const STEPS: u64 = 1 << 16;

/// The maximum length of a pattern of LIKE or GLOB, in bytes: SQLite's own. A comparison takes at most the product of
/// this number and the text's length.
pub const MAX_PATTERN_BYTES: usize = 50_000;

/// Checks the length of a pattern.
///
/// ```
/// use bobak_core::{ErrorKind, MAX_PATTERN_BYTES, check_pattern};
/// let error = check_pattern(&"a".repeat(MAX_PATTERN_BYTES + 1)).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::OutOfRange);
/// ```
///
/// # Errors
/// `OutOfRange` for more than [`MAX_PATTERN_BYTES`].
pub fn check_pattern(pattern: &str) -> Result<()> {
    if pattern.len() > MAX_PATTERN_BYTES {
        let message = format!(
            "a pattern of {} bytes is too long: it may have {MAX_PATTERN_BYTES}",
            pattern.len()
        );
        return Err(Error::new(ErrorKind::OutOfRange, message));
    }
    Ok(())
}

/// Checks the escape character of a pattern.
///
/// # Errors
/// `Syntax` for `%` and `_`.
pub fn check_escape(escape: char) -> Result<()> {
    if matches!(escape, '%' | '_') {
        let message = format!("'{escape}' cannot be an escape character: choose another one");
        return Err(Error::new(ErrorKind::Syntax, message));
    }
    Ok(())
}

/// One part of a pattern.
#[derive(Clone, Copy)]
enum PatternPart<'p> {
    /// Any number of characters.
    Many,
    /// One character.
    One,
    /// This character.
    Exactly(char),
    /// This character, ASCII letters in either case.
    Letter(char),
    /// A character of this set, such as `a-z` or `^,;`.
    Set(&'p str),
    /// Nothing: the pattern is malformed.
    Never,
}

/// SQL's LIKE: `%` stands for any characters, `_` for one, ASCII letters match in either case, and
/// there is no escape character.
///
/// `false` if an [`Interrupt`] ends the comparison: the caller's next check fails.
///
/// ```
/// assert!(bobak_core::like("n_m%", "Name"));
/// ```
#[must_use]
pub fn like(pattern: &str, text: &str) -> bool {
    matches(LikeParts { rest: pattern.chars(), escape: None }, text)
}

/// [`like`] with an escape character: after it, a character of the pattern stands for itself.
///
/// ```
/// assert!(bobak_core::like_with_escape(r"100\%%", "100% wool", '\\'));
/// ```
#[must_use]
pub fn like_with_escape(pattern: &str, text: &str, escape: char) -> bool {
    matches(LikeParts { rest: pattern.chars(), escape: Some(escape) }, text)
}

/// The same pattern of LIKE with `to` as its escape character, instead of `escape` or none; `None` if it ends
/// with `escape`, and matches nothing.
///
/// ```
/// use bobak_core::replace_escape;
/// assert_eq!(replace_escape("50!%_|", Some('!'), '|').as_deref(), Some("50|%_||"));
/// assert_eq!(replace_escape("a!", Some('!'), '|'), None);
/// ```
#[must_use]
pub fn replace_escape(pattern: &str, escape: Option<char>, to: char) -> Option<String> {
    let mut text = String::with_capacity(pattern.len() + 4);
    let mut rest = pattern.chars();
    while let Some(next) = rest.next() {
        let (literal, is_escaped) = match escape {
            Some(escape) if next == escape => (rest.next()?, true),
            _ => (next, false),
        };
        if literal == to || (is_escaped && matches!(literal, '%' | '_')) {
            text.push(to);
        }
        text.push(literal);
    }
    Some(text)
}

/// SQLite's GLOB: `*` stands for any characters, `?` for one, `[a-z]` for one of a set, `[^a-z]` for one that is
/// not in it. Letters match in their own case only.
///
/// ```
/// assert!(bobak_core::glob("[A-Z]a*", "Name"));
/// assert!(!bobak_core::glob("[A-Z]A*", "Name"));
/// ```
#[must_use]
pub fn glob(pattern: &str, text: &str) -> bool {
    matches(GlobParts { rest: pattern.chars() }, text)
}

#[derive(Clone)]
struct LikeParts<'p> {
    rest: Chars<'p>,
    escape: Option<char>,
}

impl<'p> Iterator for LikeParts<'p> {
    type Item = PatternPart<'p>;

    #[inline]
    fn next(&mut self) -> Option<PatternPart<'p>> {
        Some(match self.rest.next()? {
            c if Some(c) == self.escape => {
                self.rest.next().map_or(PatternPart::Never, PatternPart::Letter)
            }
            '%' => PatternPart::Many,
            '_' => PatternPart::One,
            c => PatternPart::Letter(c),
        })
    }
}

#[derive(Clone)]
struct GlobParts<'p> {
    rest: Chars<'p>,
}

impl<'p> Iterator for GlobParts<'p> {
    type Item = PatternPart<'p>;

    #[inline]
    fn next(&mut self) -> Option<PatternPart<'p>> {
        Some(match self.rest.next()? {
            '*' => PatternPart::Many,
            '?' => PatternPart::One,
            '[' => self.set(),
            c => PatternPart::Exactly(c),
        })
    }
}

impl<'p> GlobParts<'p> {
    /// The set up to its `]`, which is an ordinary character in the first position.
    fn set(&mut self) -> PatternPart<'p> {
        let set = self.rest.as_str();
        let start = usize::from(set.starts_with('^'));
        let first = usize::from(set.get(start..).is_some_and(|s| s.starts_with(']')));
        let from = start + first;
        let Some(end) = set.get(from..).and_then(|s| s.find(']')) else {
            return PatternPart::Never;
        };
        let end = from + end;
        self.rest = set.get(end + 1..).unwrap_or_default().chars();
        PatternPart::Set(set.get(..end).unwrap_or_default())
    }
}

/// Whether a set has the character. A `-` between two characters makes them a range.
fn set_contains(set: &str, c: char) -> bool {
    let (inverted, set) = set.strip_prefix('^').map_or((false, set), |rest| (true, rest));
    let (mut found, set) = set.strip_prefix(']').map_or((false, set), |rest| (c == ']', rest));
    let mut previous = None;
    let mut chars = set.chars();
    while let Some(member) = chars.next() {
        let mut rest = chars.clone();
        match (member, previous, rest.next()) {
            ('-', Some(low), Some(high)) => {
                found |= (low..=high).contains(&c);
                previous = None;
                chars = rest;
            }
            _ => {
                found |= member == c;
                previous = Some(member);
            }
        }
    }
    found != inverted
}

fn matches<'p>(mut parts: impl Iterator<Item = PatternPart<'p>> + Clone, text: &str) -> bool {
    let mut text = text.chars();
    // The position after the last `Many`, to retry from one character further if a later part does not match.
    let mut retry = None;
    for step in 1_u64.. {
        if step.is_multiple_of(STEPS) && Interrupt::is_now() {
            return false;
        }
        let before = text.clone();
        let fits = match (parts.next(), text.next()) {
            (None, None) => return true,
            (Some(PatternPart::Many), _) => {
                retry = Some((parts.clone(), before.clone()));
                text = before;
                true
            }
            (Some(PatternPart::One), Some(_)) => true,
            (Some(PatternPart::Exactly(a)), Some(b)) => a == b,
            (Some(PatternPart::Letter(a)), Some(b)) => a.eq_ignore_ascii_case(&b),
            (Some(PatternPart::Set(set)), Some(c)) => set_contains(set, c),
            (Some(_), None) | (None, Some(_)) | (Some(PatternPart::Never), _) => false,
        };
        if !fits {
            let Some((after, from)) = &mut retry else { return false };
            if from.next().is_none() {
                return false;
            }
            (parts, text) = (after.clone(), from.clone());
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn like_matches_as_sqlite_does() {
        for (pattern, text, expected) in [
            ("", "", true),
            ("%", "", true),
            ("_", "", false),
            ("a%", "Abc", true),
            ("%c", "abC", true),
            ("a%b%c", "axxbyyc", true),
            ("a%b%c", "axxbyy", false),
            ("%ab%", "aab", true),
            ("_é_", "xéy", true),
            ("É", "é", false),
            ("a_c%%", "abc", true),
            ("%%%x", "aaaa", false),
        ] {
            assert_eq!(like(pattern, text), expected, "{text} like {pattern}");
        }
    }

    #[test]
    fn escaped_characters_stand_for_themselves() {
        for (pattern, text, expected) in [
            ("!%", "%", true),
            ("!%", "a", false),
            ("a!_c", "a_c", true),
            ("a!_c", "abc", false),
            ("!!", "!", true),
            ("!a%", "Abc", true),
            ("a!", "a", false),
            ("a!", "a!", false),
        ] {
            assert_eq!(like_with_escape(pattern, text, '!'), expected, "{text} like {pattern}");
        }
    }

    #[test]
    fn glob_matches_as_sqlite_does() {
        for (pattern, text, expected) in [
            ("a*", "abc", true),
            ("A*", "abc", false),
            ("a?c", "aéc", true),
            ("[a-c]x", "bx", true),
            ("[a-c]x", "dx", false),
            ("[^a-c]x", "dx", true),
            ("[]x]", "]", true),
            ("[^]x]", "]", false),
            ("[a-]", "-", true),
            ("[-a]", "-", true),
            ("[a", "a", false),
            ("*[0-9]", "ab7", true),
            ("[]", "x", false),
        ] {
            assert_eq!(glob(pattern, text), expected, "{text} glob {pattern}");
        }
    }

    #[test]
    fn interrupt_ends_a_long_comparison() {
        let (pattern, text) = (format!("%{}b", "a".repeat(500_000)), "a".repeat(5_000_000));
        let interrupt = Interrupt::new();
        let theirs = interrupt.clone();
        let other = std::thread::spawn(move || theirs.interrupt());
        assert!(!interrupt.run(|| like(&pattern, &text)));
        other.join().unwrap();
    }
}
