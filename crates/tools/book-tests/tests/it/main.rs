//! The book as a whole: nothing is left out of its table of contents or of the tests.

use bobak::ErrorKind;
use bobak_book::TESTED_PAGES;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../book/src")
}

/// All pages of the book with their text, by their path in `book/src`.
fn pages() -> Vec<(String, String)> {
    let mut pages = Vec::new();
    let mut folders = vec![source()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("reads a folder") {
            let path = entry.expect("reads an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                let name = path.strip_prefix(source()).expect("is inside").display().to_string();
                pages.push((name, std::fs::read_to_string(path).expect("reads a page")));
            }
        }
    }
    pages
}

#[test]
fn summary_lists_every_page_once() {
    let pages: BTreeSet<String> =
        pages().into_iter().map(|(name, _)| name).filter(|name| name != "SUMMARY.md").collect();
    let summary = std::fs::read_to_string(source().join("SUMMARY.md")).expect("reads SUMMARY.md");
    let links: Vec<String> = summary
        .lines()
        .filter_map(|line| line.split_once("](")?.1.strip_suffix(')').map(str::to_owned))
        .collect();
    assert_eq!(links.iter().cloned().collect::<BTreeSet<_>>(), pages);
    assert_eq!(links.len(), pages.len());
}

#[test]
fn every_page_with_a_program_is_tested() {
    for (name, text) in pages() {
        let programs = text.lines().filter(|line| is_program(line)).count();
        let is_tested = TESTED_PAGES.contains(&name.as_str());
        assert_eq!(programs > 0, is_tested, "{name} has {programs} programs");
    }
}

/// Whether a line begins a Rust program of this project; `ignore` marks those of other libraries.
fn is_program(line: &str) -> bool {
    line.starts_with("```rust") && !line.contains("ignore")
}

#[test]
fn programs_are_ignored_on_pages_about_other_libraries_only() {
    for (name, text) in pages() {
        let ignored =
            text.lines().any(|line| line.starts_with("```rust") && line.contains("ignore"));
        assert!(!ignored || name.starts_with("coming-from/"), "{name}");
    }
}

#[test]
fn there_are_at_least_twenty_recipes() {
    let recipes = pages().into_iter().filter(|(name, _)| name.starts_with("recipes/"));
    let titles =
        recipes.map(|(_, text)| text.lines().filter(|line| line.starts_with("## ")).count());
    assert!(titles.sum::<usize>() >= 20);
}

#[test]
fn every_kind_of_error_has_a_section() {
    let (_, text) = pages().into_iter().find(|(name, _)| name == "errors.md").expect("is a page");
    let sections: BTreeSet<&str> =
        text.lines().filter_map(|line| line.strip_prefix("### ")).collect();
    let kinds: Vec<String> = ErrorKind::ALL.iter().map(|kind| format!("{kind:?}")).collect();
    assert_eq!(sections, kinds.iter().map(String::as_str).collect());
    for part in text.split("\n### ").skip(1) {
        assert!(part.contains("**Cause:**") && part.contains("**Remedy:**"), "{part}");
    }
}
