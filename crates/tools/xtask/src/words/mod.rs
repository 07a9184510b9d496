//! The vocabulary of the project: standard terms in names, comments, messages and documentation.
//!
//! ```text
//! text   a file as words: comment, string or code
//! rules  words that are not used, and the standard term for each
//! types  names of types that name no thing, or two
//! ```

mod rules;
mod text;
mod types;

use std::collections::BTreeMap;

use crate::failure::{Failure, Outcome};
use crate::rust::members::{self, Member};
use crate::tree::Tree;
use rules::Patterns;

/// Files that are not read: they quote the words, are generated, or are data.
const NOT_READ: &[&str] = &[
    "crates/tools/xtask/src/words/",
    "docs/glossary.md",
    "book/src/glossary.md",
    "vectors/",
    "/tests/fixtures/",
    "/package-lock.json",
    "examples/flights/data",
];

/// Words that mean something else in a part of the repository, with the reason.
const EXEMPT: &[(&str, &str, &str)] = &[
    ("crates/tools/testkit/", "seat", "a table of the suite: the seats of a theatre"),
    ("crates/tools/testkit/", "seats", "the same"),
    ("crates/bobak/src/cache/tests.rs", "seat", "the same"),
    ("crates/federation/tests/", "seat", "the same"),
    ("crates/permissions/tests/", "seat", "the same"),
    ("crates/listeners/http/tests/", "seat", "the same, over HTTP"),
    ("crates/listeners/http/tests/", "seats", "the same"),
    ("crates/cli/tests/", "seats", "the seats of an aircraft"),
    ("crates/tools/fuzz/", "seats", "the same"),
    ("crates/tools/bench/src/join/", "seats", "the same"),
    ("crates/listeners/http/src/json/", "visitor", "the trait of serde"),
    ("crates/core/src/types/", "visitor", "the same"),
    ("crates/cli/", "quiet", "the flag --quiet, as most commands have it"),
    ("examples/flights/", "seat", "the same"),
    ("examples/flights/", "seats", "the same"),
];

/// The files whose words are read.
const EXTENSIONS: [&str; 7] = ["rs", "md", "toml", "py", "go", "ts", "sh"];

/// So many findings of one part are shown.
const SHOWN: usize = 40;

/// Something to rewrite, and the part of the repository that it counts for.
type Finding = (String, String);

/// Checks every file, and shows the findings.
pub fn check(tree: &Tree) -> Outcome {
    run(tree, &[])
}

/// Checks every file. `--counts` shows the number of findings for each part of the repository; words that are parts of
/// paths show all findings there.
///
/// # Errors
/// If there are findings, unless their number or those of a path are requested.
pub fn run(tree: &Tree, arguments: &[String]) -> Outcome {
    let members = members::read(tree)?;
    let mut findings = types::problems(tree, &members)?;
    let patterns = rules::patterns();
    for extension in EXTENSIONS {
        for file in tree.with_extension(extension) {
            if !NOT_READ.iter().any(|part| file.contains(part)) {
                let part = part_of(file, &members);
                let found = in_file(file, &tree.read(file)?, &patterns);
                findings.extend(found.into_iter().map(|text| (part.clone(), text)));
            }
        }
    }
    let paths: Vec<&String> = arguments.iter().filter(|word| !word.starts_with('-')).collect();
    if !paths.is_empty() {
        for (_, text) in
            findings.iter().filter(|(_, text)| paths.iter().any(|path| text.contains(*path)))
        {
            println!("{text}");
        }
        return Ok(());
    }
    judge(&findings, arguments.iter().any(|word| word == "--counts"))
}

/// The crate, client or folder that a file belongs to.
fn part_of(file: &str, members: &[Member]) -> String {
    let within = |folder: &str| file.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
    if let Some(member) = members.iter().find(|member| within(&member.folder)) {
        return member.folder.clone();
    }
    let folders = file.rsplit_once('/').map_or("", |(folders, _)| folders);
    let depth = if file.starts_with("clients/") || file.starts_with("crates/") { 2 } else { 1 };
    let part: Vec<&str> = folders.split('/').take(depth).collect();
    if folders.is_empty() { ".".to_owned() } else { part.join("/") }
}

/// One line for each phrase of a file that is not used.
fn in_file(file: &str, content: &str, patterns: &Patterns) -> Vec<String> {
    let words =
        if file.ends_with(".rs") { text::of_rust(content) } else { text::of_prose(content) };
    let mut found = Vec::new();
    for at in 0..words.len() {
        let rest = &words[at..];
        let candidates = patterns.get(&*rest[0].text).into_iter().flatten();
        if let Some(pattern) = candidates.into_iter().find(|pattern| pattern.matches(rest)) {
            let is_exempt = EXEMPT
                .iter()
                .any(|(part, word, _)| file.starts_with(part) && *word == rest[0].text);
            if is_exempt || rules::is_ordinary(rest) {
                continue;
            }
            let (phrase, _, term) = pattern.rule;
            let length = phrase.split(' ').count();
            let phrase: Vec<&str> = rest.iter().take(length).map(|word| &*word.text).collect();
            found.push(format!("{file}:{}: \"{}\": write: {term}", rest[0].line, phrase.join(" ")));
        }
    }
    found
}

fn judge(findings: &[Finding], counts: bool) -> Outcome {
    let mut parts: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (part, text) in findings {
        parts.entry(part).or_default().push(text);
    }
    let mut failed = Vec::new();
    for (part, texts) in &parts {
        if counts {
            println!("{:>6}  {part}", texts.len());
        } else {
            texts.iter().take(SHOWN).for_each(|text| println!("{text}"));
            failed.push(format!("{part} ({})", texts.len()));
        }
    }
    if failed.is_empty() || counts {
        return Ok(());
    }
    Err(Failure::new(
        format!(
            "words that are not standard terms, or names with several meanings: {}",
            failed.join(", ")
        ),
        "rewrite the sentences, not only the words; `cargo xtask words PATH` shows all findings below a path",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(file: &str, content: &str) -> Vec<String> {
        in_file(file, content, &rules::patterns())
    }

    #[test]
    fn a_finding_names_the_standard_term() {
        let found = found("a.rs", "/// It is put\n/// aside.\nstruct Follower;\n");
        assert_eq!(
            found,
            [
                "a.rs:1: \"put aside\": write: moved, renamed",
                "a.rs:3: \"follower\": write: replica"
            ]
        );
    }

    #[test]
    fn ordinary_uses_are_not_findings() {
        for text in [
            "fn f<T>() where it: Iterator {}",
            "// The bytes are laid out as in C.",
            "let sql = \"SELECT 1 WHERE IT IS NOT NULL\";",
            "// Rest in turn. Sit",
            "// the folder where it lies",
        ] {
            assert!(found("a.rs", text).is_empty(), "{text}: {:?}", found("a.rs", text));
        }
    }

    #[test]
    fn findings_count_for_the_nearest_crate() {
        let member = |folder: &str| Member {
            folder: folder.to_owned(),
            package: String::new(),
            dependencies: Vec::new(),
            features: Vec::new(),
            published: true,
        };
        let members = [member("crates/core"), member("crates/engines/sqlite")];
        assert_eq!(part_of("crates/engines/sqlite/src/a.rs", &members), "crates/engines/sqlite");
        assert_eq!(part_of("crates/engines/README.md", &members), "crates/engines");
        assert_eq!(part_of("clients/go/a.go", &members), "clients/go");
        assert_eq!(part_of("README.md", &members), ".");
    }
}
