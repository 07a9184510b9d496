//! The names of types: each names a thing, and no two crates mean different things by one name.

use std::collections::BTreeMap;

use crate::failure::Outcome;
use crate::rust::members::Member;
use crate::rust::modules::{self, Modules};
use crate::tree::Tree;

/// Names that say nothing by themselves: participles, function words, and nouns that fit any type.
const VAGUE: &str = "
    Above Again Ahead Aheads All Alone Also Any Apart Aside Away Back Before Begun Behind Below Beneath Beside Beyond \
    Born Both Bound Brought Built By Come Done Early Else Fit For Found From Given Gone Grown Held Here How Kept Known \
    Laid Lack Late Left Lent Lone Lost Made Many Met More Near Never New Next Not Now Off Old On Once Only Other Out \
    Over Own Past Put Read Said Same Seen Sent Set Shown Since So Some Spent Still Such Taken Then There Thought Through \
    To Together Told Twice Under Until Up Upon What When Where Whether Which Who Whole Whom Why With Within Without Won \
    Worn Written Yet \
    Inner Kind Lane Line Lines Part Place Seat Stuff State Thing";

/// Words that end like participles and are nouns.
const NOUNS: &[&str] = &[
    "Binding", "Building", "Coding", "Counting", "Embed", "Encoding", "Feed", "Finding", "Heading",
    "Mapping", "Meaning", "Ordering", "Padding", "Rounding", "Seed", "Setting", "Shed", "Speed",
    "Spelling", "String", "Thing", "Timing", "Warning",
];

/// Vague names that stay, with the reason. At most ten.
const VAGUE_ALLOWED: &[(&str, &str)] = &[(
    "Sealed",
    "Rust programmers know the trait that keeps others from implementing one by this name",
)];

/// Names that several crates define with one meaning, each for its own subject.
const SHARED: &[(&str, &str)] = &[
    ("Error", "each tool's own error, as the standard library's modules have"),
    ("Result", "the result with that error"),
    ("Settings", "the settings of the engine or listener that the crate is"),
    ("Connection", "each engine's connection to its database, each listener's to its client"),
    ("Pool", "each engine's pool of its own connections"),
    ("PooledConnection", "each engine's connection that it borrowed from its pool"),
    ("Database", "the open database behind an engine or a program: connections and caches"),
    ("OpenCursor", "each engine's cursor of a session"),
    ("TableInfo", "what an engine prepares and keeps for a table"),
    ("Host", "one server in the settings of an engine"),
    ("Router", "the same, with and without the feature that it needs"),
    ("TlsStream", "each protocol's stream over TLS"),
    ("Isolation", "each database's own levels"),
];

/// Crates whose names are those of examples and tools, and mean what programs mean by them.
const NOT_COMPARED: &[&str] = &["examples/", "crates/tools/"];

/// A type at the place of its definition.
struct Definition {
    folder: String,
    place: String,
    exported: bool,
}

impl Definition {
    fn file(&self) -> &str {
        self.place.split(':').next().unwrap_or_default()
    }
}

/// One problem for each name, with the folder of the crate that it is counted for.
pub fn problems(tree: &Tree, members: &[Member]) -> Outcome<Vec<(String, String)>> {
    let mut names: BTreeMap<String, Vec<Definition>> = BTreeMap::new();
    for member in members {
        for root in modules::roots(tree, &member.folder) {
            for module in Modules::read(tree, &root)?.all() {
                for one in &module.source.types {
                    let place = format!("{}:{}", module.file, one.line);
                    let folder = member.folder.clone();
                    let definition = Definition { folder, place, exported: one.exported };
                    names.entry(one.name.clone()).or_default().push(definition);
                }
            }
        }
    }
    let mut problems = Vec::new();
    for (name, definitions) in &names {
        if is_vague(name) {
            problems.extend(definitions.iter().map(|one| {
                let why = "names no thing: name a type after what it is";
                (one.folder.clone(), format!("{}: the type `{name}` {why}", one.place))
            }));
        }
        problems.extend(several_meanings(name, definitions));
    }
    Ok(problems)
}

/// A problem if a name that others can see is defined in several places.
fn several_meanings(name: &str, definitions: &[Definition]) -> Option<(String, String)> {
    let mut exported: Vec<&Definition> = definitions
        .iter()
        .filter(|one| one.exported && !NOT_COMPARED.iter().any(|part| one.folder.starts_with(part)))
        .collect();
    // Two in one file are one thing under two conditions of `cfg`.
    exported.dedup_by_key(|one| one.file());
    if exported.len() < 2 || SHARED.iter().any(|(shared, _)| *shared == name) {
        return None;
    }
    let places: Vec<&str> = exported.iter().map(|one| &*one.place).collect();
    let text =
        format!("{}: the name `{name}` has several meanings: {}", places[0], places.join(", "));
    Some((exported.last()?.folder.clone(), text))
}

fn is_vague(name: &str) -> bool {
    let one_word = name.chars().skip(1).all(char::is_lowercase);
    let participle = one_word && name.len() > 3 && (name.ends_with("ed") || name.ends_with("ing"));
    (VAGUE.split_whitespace().any(|vague| vague == name) || participle && !NOUNS.contains(&name))
        && !VAGUE_ALLOWED.iter().any(|(allowed, _)| *allowed == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn participles_and_function_words_are_vague() {
        for name in ["Held", "Why", "Within", "Tracked", "Standing", "Place"] {
            assert!(is_vague(name), "{name}");
        }
        for name in ["PinnedRead", "Encoding", "Feed", "Value", "TrackedTable"] {
            assert!(!is_vague(name), "{name}");
        }
        assert!(VAGUE_ALLOWED.len() <= 10);
    }

    #[test]
    fn a_name_has_one_meaning() {
        let one = |place: &str, exported| Definition {
            folder: place.to_owned(),
            place: place.to_owned(),
            exported,
        };
        assert!(several_meanings("Keys", &[one("a", true), one("b", false)]).is_none());
        assert!(several_meanings("Error", &[one("a", true), one("b", true)]).is_none());
        let (folder, text) = several_meanings("Keys", &[one("a", true), one("b", true)]).unwrap();
        assert_eq!(folder, "b");
        assert!(text.contains("a, b"), "{text}");
    }
}
