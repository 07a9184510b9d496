//! The table of contents lists every page, and every program is tested.

use crate::pages::{files, pages, root, source};
use bobak_book::TESTED_PAGES;
use std::collections::BTreeSet;

#[test]
fn summary_lists_every_page_once() {
    let pages: BTreeSet<String> = pages().into_iter().map(|page| page.link).collect();
    let summary = std::fs::read_to_string(source().join("SUMMARY.md")).expect("reads SUMMARY.md");
    let link = |line: &str| line.split_once("](")?.1.strip_suffix(')').map(str::to_owned);
    let links: Vec<String> = summary.lines().filter_map(link).collect();
    assert_eq!(links.iter().cloned().collect::<BTreeSet<_>>(), pages);
    assert_eq!(links.len(), pages.len());
}

#[test]
fn book_includes_every_page_of_docs() {
    let included: BTreeSet<String> = pages().into_iter().map(|page| page.name).collect();
    for path in files(&root().join("docs"), "md") {
        let file = path.file_name().expect("has a name").to_string_lossy();
        assert!(included.contains(&format!("../../docs/{file}")), "docs/{file} is not in the book");
    }
}

#[test]
fn every_page_with_a_program_is_tested() {
    for page in pages() {
        let programs = page.text.lines().filter(|line| is_program(line)).count();
        let is_tested = TESTED_PAGES.contains(&page.name.as_str());
        assert_eq!(programs > 0, is_tested, "{} has {programs} programs", page.name);
    }
}

/// Whether a line begins a Rust program of this project; `ignore` marks those of other libraries.
fn is_program(line: &str) -> bool {
    line.starts_with("```rust") && !line.contains("ignore")
}

#[test]
fn programs_are_ignored_on_pages_about_other_libraries_only() {
    for page in pages() {
        let is_ignored = |line: &str| line.starts_with("```rust") && line.contains("ignore");
        let ignored = page.text.lines().any(is_ignored);
        assert!(!ignored || page.name.starts_with("coming-from/"), "{}", page.name);
    }
}

#[test]
fn there_are_at_least_twenty_recipes() {
    let recipes = pages().into_iter().filter(|page| page.name.starts_with("recipes/"));
    let titles = |text: &str| text.lines().filter(|line| line.starts_with("## ")).count();
    assert!(recipes.map(|page| titles(&page.text)).sum::<usize>() >= 20);
}

#[test]
fn front_pages_are_short() {
    for (name, most) in [("README.md", 120), ("ARCHITECTURE.md", 250)] {
        let text = std::fs::read_to_string(root().join(name)).expect("reads the page");
        assert!(text.lines().count() <= most, "{name} has more than {most} lines");
    }
}
