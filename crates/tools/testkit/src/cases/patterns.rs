//! Patterns with an escape character, parts and suffixes of texts.

use super::conditions::{ANY, NOCASE, PLAIN, UNICODE, ask};
use crate::{Check, Harness};
use bobak_core::Condition;

/// After an escape character, a wildcard stands for itself; a pattern that ends with one matches nothing.
pub fn like_with_an_escape(harness: &dyn Harness) -> Check {
    let patterns = [
        ("a!%", '!'),
        ("a!_", '!'),
        ("!%%", '!'),
        ("%!%%", '!'),
        ("%!_%", '!'),
        ("a!!", '!'),
        ("a!b", '!'),
        ("A!%b", '!'),
        ("a%!", '!'),
        ("aXb%", 'X'),
        ("axB%", 'X'),
        ("|%%", '|'),
        ("a|%", '!'),
        ("a\\%", '\\'),
        ("%é%%", 'é'),
        ("%", '!'),
        ("", '!'),
        ("!", '!'),
    ];
    let columns = [PLAIN, NOCASE, UNICODE, ANY];
    let all = patterns.iter().flat_map(|&(pattern, escape)| {
        columns.map(|column| Condition::LikeEscape { column, pattern: pattern.to_owned(), escape })
    });
    ask(harness, &all.collect::<Vec<_>>())
}

/// Parts and suffixes are compared byte for byte, whatever the column's collation; nothing in them is a
/// wildcard.
pub fn parts_and_suffixes(harness: &dyn Harness) -> Check {
    let texts = [
        "",
        "a",
        "A",
        "b",
        "a\0",
        "\0b",
        "a%",
        "%",
        "_",
        "é",
        "\u{10ffff}",
        "ab",
        "abc",
        "\\",
        "'",
    ];
    let columns = [PLAIN, NOCASE, UNICODE, ANY];
    let all = texts.iter().flat_map(|text| {
        columns.into_iter().flat_map(move |column| {
            let part = Condition::Contains { column, part: (*text).to_owned() };
            [part, Condition::EndsWith { column, suffix: (*text).to_owned() }]
        })
    });
    ask(harness, &all.collect::<Vec<_>>())
}
