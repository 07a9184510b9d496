//! What pages state about the code is compared with it.

use crate::pages::{files, pages, root};
use bobak::{Db, ErrorKind};
use std::collections::BTreeSet;

fn page(name: &str) -> String {
    pages().into_iter().find(|page| page.name == name).expect("is a page").text
}

/// What is between backticks in a text, outside of blocks.
fn code_spans(text: &str) -> impl Iterator<Item = &str> {
    text.lines().flat_map(|line| line.split('`').skip(1).step_by(2))
}

#[test]
fn every_kind_of_error_has_a_section() {
    let text = page("errors.md");
    let sections: BTreeSet<&str> =
        text.lines().filter_map(|line| line.strip_prefix("### ")).collect();
    let kinds: Vec<String> = ErrorKind::ALL.iter().map(|kind| format!("{kind:?}")).collect();
    assert_eq!(sections, kinds.iter().map(String::as_str).collect());
    for section in text.split("\n### ").skip(1) {
        assert!(section.contains("**Cause:**") && section.contains("**Remedy:**"), "{section}");
    }
}

#[test]
fn every_test_that_the_robustness_page_names_exists() {
    let mut functions = BTreeSet::new();
    for path in files(&root().join("crates"), "rs") {
        let text = std::fs::read_to_string(path).expect("reads a file");
        let name = |line: &str| Some(line.split_once("fn ")?.1.split_once('(')?.0.to_owned());
        functions.extend(text.lines().filter_map(name));
    }
    let page = page("../../docs/robustness.md");
    let is_test = |span: &&str| {
        span.split('_').count() > 2 && span.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
    };
    let named: BTreeSet<&str> = code_spans(&page).filter(is_test).collect();
    assert!(named.len() > 50, "{}", named.len());
    let missing: Vec<_> = named.iter().filter(|name| !functions.contains(**name)).collect();
    assert!(missing.is_empty(), "no tests: {missing:?}");
}

#[test]
fn introduction_lists_the_features_of_the_crate() {
    let manifest = std::fs::read_to_string(root().join("crates/bobak/Cargo.toml")).expect("reads");
    let features = manifest.split("\n[features]\n").nth(1).expect("has features");
    let features = features.split("\n[").next().unwrap_or_default().lines();
    let names = features.filter_map(|line| line.split_once(" = [").map(|(name, _)| name));
    let expected: BTreeSet<&str> = names.filter(|name| *name != "default").collect();
    let page = page("introduction.md");
    let rows = page.split("| feature | adds |").nth(1).expect("has a table of features").lines();
    let cells = rows.filter_map(|row| row.strip_prefix("| `")?.split('|').next());
    let listed: BTreeSet<&str> = cells.flat_map(|cell| cell.split('`').step_by(2)).collect();
    assert_eq!(
        listed.into_iter().filter(|name| !name.is_empty()).collect::<BTreeSet<_>>(),
        expected
    );
}

/// The settings that the page about URLs lists under a heading.
fn listed(heading: &str) -> BTreeSet<String> {
    let text = page("reference/urls.md");
    let section = text.split("\n## ").find(|section| section.starts_with(heading));
    let rows = section.expect("is a section").lines().filter(|line| line.starts_with("| `"));
    let cells = rows.filter_map(|row| row.split('|').nth(1));
    cells.flat_map(|cell| code_spans(cell).map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// The settings that an engine names when one is unknown.
fn known(url: &str) -> BTreeSet<String> {
    let error = Db::open(&format!("{url}?no_such_setting=1")).err().expect("is unknown");
    assert_eq!(error.kind(), ErrorKind::Config);
    let text = error.message();
    let (_, names) = text.split_once("there are: ").expect("lists the settings");
    names.split(", ").map(|name| name.trim().to_owned()).collect()
}

#[test]
fn urls_page_lists_the_settings_of_each_engine() {
    for (heading, url) in [
        ("SQLite", "sqlite:a.db"),
        ("Memory", "memory:"),
        ("PostgreSQL", "postgres://localhost/a"),
        ("MariaDB", "mysql://localhost/a"),
    ] {
        assert_eq!(listed(heading), known(url), "{heading}");
    }
}

#[test]
fn urls_page_lists_the_settings_of_servers() {
    // Which of them there are depends on the transport, so the message is a sentence.
    let sentence: Vec<String> = known("bobak://localhost/a").into_iter().collect();
    let sentence = sentence.join(" ");
    let words: BTreeSet<&str> = sentence.split(' ').collect();
    for setting in listed("Bobak server") {
        assert!(words.contains(setting.as_str()), "{setting} is not in {sentence}");
    }
}

/// Texts of messages that pages quote, with the page.
const QUOTED: &[(&str, &str)] = &[
    ("../../docs/backup.md", "the file was replaced or removed while it was open"),
    ("../../docs/backup.md", "no checksum"),
    ("../../docs/http.md", "the column has no value and no default, and must not be NULL"),
];

#[test]
fn messages_that_pages_quote_exist() {
    let read = |path| std::fs::read_to_string(path).expect("reads a file");
    let code: Vec<String> = files(&root().join("crates"), "rs")
        .into_iter()
        .filter(|path| path.components().any(|part| part.as_os_str() == "src"))
        .map(read)
        .collect();
    for (name, message) in QUOTED {
        let text = page(name).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(message), "{name} does not quote '{message}'");
        assert!(code.iter().any(|file| file.contains(message)), "no code has '{message}'");
    }
}

#[test]
fn items_that_pages_name_exist() {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut words = BTreeSet::new();
    for path in files(&root().join("crates"), "rs") {
        let text = std::fs::read_to_string(path).expect("reads a file");
        words.extend(text.split(|c| !is_word(c)).map(str::to_owned));
    }
    // `Type::name`, with what may follow it.
    let item = |span: &str| {
        let (ty, rest) = span.split_once("::")?;
        let name: String = rest.chars().take_while(|&c| is_word(c)).collect();
        let is_type = ty.starts_with(|c: char| c.is_ascii_uppercase()) && ty.chars().all(is_word);
        is_type.then(|| (ty.to_owned(), name))
    };
    let mut missing = BTreeSet::new();
    for page in pages().iter().filter(|page| !page.name.starts_with("coming-from/")) {
        for (ty, name) in code_spans(&page.text).filter_map(item) {
            if !words.contains(&ty) || !words.contains(&name) {
                missing.insert(format!("{ty}::{name} in {}", page.name));
            }
        }
    }
    assert!(missing.is_empty(), "no code has {missing:#?}");
}
