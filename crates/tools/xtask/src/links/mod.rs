//! Dead links and paths in the Markdown files of the repository.
//!
//! Checked are links and images (files, folders, `#anchors` of headings, `#L10` lines of files, and the repository's
//! own address on the web), reference links without a definition, and paths in code: `crates/core/src/lib.rs`, also
//! with a line behind, also as an argument of a command. Addresses of other sites are not opened: a check that needs
//! the network fails for reasons that are not ours.

mod markdown;
mod paths;

use std::collections::BTreeMap;

use crate::failure::{Failure, Outcome};
use crate::tree::Tree;
use markdown::{Document, Reference};

/// Where the repository is on the web; links to files there are links to this tree.
const REPOSITORY: &str = env!("CARGO_PKG_REPOSITORY");

/// Checks every Markdown file, and names each dead reference with its file and line.
pub fn run(tree: &Tree) -> Outcome {
    let dead = dead_references(tree)?;
    for line in &dead {
        println!("{line}");
    }
    if dead.is_empty() {
        return Ok(());
    }
    Err(Failure::new(
        format!("dead references in Markdown: {}", dead.len()),
        "fix the text, or bring back what it names; a path that is only an example is written with a \
         placeholder, as in `crates/<name>`",
    ))
}

/// One line `file:line: what is wrong` for each dead reference.
fn dead_references(tree: &Tree) -> Outcome<Vec<String>> {
    let mut documents = BTreeMap::new();
    for file in tree.with_extension("md") {
        documents.insert(file, Document::parse(&tree.read(file)?));
    }
    let mut dead = Vec::new();
    for (file, document) in &documents {
        for found in &document.references {
            let problem = match &found.reference {
                Reference::Link(address) => dead_link(tree, &documents, file, address)?,
                Reference::Undefined(name) => Some(format!("the link [{name}] has no definition")),
                Reference::Code(word) => dead_path(tree, file, word, true)?,
                Reference::Command(word) => dead_path(tree, file, word, false)?,
            };
            if let Some(problem) = problem {
                dead.push(format!("{file}:{}: {problem}", found.line));
            }
        }
    }
    Ok(dead)
}

/// What is wrong with a link in `file`, if anything.
fn dead_link(
    tree: &Tree,
    documents: &BTreeMap<&str, Document>,
    file: &str,
    address: &str,
) -> Outcome<Option<String>> {
    let Some((path, anchor)) = paths::local(REPOSITORY, address) else {
        return Ok(None);
    };
    let in_same_file = path.is_empty().then(|| file.to_string());
    let Some(target) = in_same_file.or_else(|| paths::resolve(file, &path)) else {
        return Ok(Some(format!("`{address}` leads out of the repository")));
    };
    if !tree.has(&target) {
        return Ok(Some(format!("`{address}` leads to `{target}`, which does not exist")));
    }
    let Some(anchor) = anchor else {
        return Ok(None);
    };
    if let Some(last) = paths::last_line(&anchor) {
        return dead_line(tree, &target, last);
    }
    match documents.get(target.as_str()) {
        Some(document) if !document.anchors.contains(&anchor) => {
            Ok(Some(format!("`{address}`: `{target}` has no heading with the anchor `#{anchor}`")))
        }
        // Anchors in other kinds of files are the business of whatever shows them.
        _ => Ok(None),
    }
}

/// What is wrong with a word in code, if it is a path of this repository at all.
///
/// A word that begins with a folder of the root must exist from the root, or from the document's own folder. With
/// `tails`, a source file may also be named by the end of its path, as in `src/lib.rs`.
fn dead_path(tree: &Tree, file: &str, word: &str, tails: bool) -> Outcome<Option<String>> {
    let Some((path, line)) = paths::in_code(word) else {
        return Ok(None);
    };
    let from_root = path.split('/').next().is_some_and(|first| tree.has_top_folder(first));
    let by_tail = tails && !from_root && paths::is_source(path);
    if !from_root && !by_tail {
        return Ok(None);
    }
    let nearby = paths::resolve(file, path);
    let plain = path.trim_end_matches('/');
    let found = [Some(plain), nearby.as_deref()].into_iter().flatten().find(|path| tree.has(path));
    let found = found.or_else(|| {
        let ends_so =
            |full: &&str| full.strip_suffix(plain).is_some_and(|rest| rest.ends_with('/'));
        tree.files().filter(|_| by_tail).find(ends_so)
    });
    match (found, line) {
        (Some(found), Some(line)) => dead_line(tree, found, line),
        (Some(_), None) => Ok(None),
        (None, _) if paths::matches_any(plain, tree.files()) => Ok(None),
        (None, _) => Ok(Some(format!("the path `{path}` does not exist"))),
    }
}

/// What is wrong with the line number `line` of `path`, if anything.
fn dead_line(tree: &Tree, path: &str, line: usize) -> Outcome<Option<String>> {
    if !tree.has_file(path) {
        return Ok(Some(format!("`{path}` is a folder and has no line {line}")));
    }
    let lines = tree.read(path)?.lines().count();
    Ok((line == 0 || line > lines).then(|| format!("`{path}` has {lines} lines, not {line}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::fixture;

    const FILES: &[(&str, &str)] = &[
        ("crates/core/src/lib.rs", "1\n2\n3\n"),
        ("docs/guide.md", "# The guide\n\n## A row's *path*\n"),
        ("docs/with space.md", ""),
        (".ci/run", ""),
    ];

    /// What is dead in a file with the text `markdown` at `path`, in addition to [`FILES`].
    fn dead_in(path: &str, markdown: &str) -> Vec<String> {
        let mut files = FILES.to_vec();
        files.push((path, markdown));
        let (_folder, tree) = fixture::tree(&files);
        dead_references(&tree).unwrap()
    }

    #[track_caller]
    fn alive(path: &str, markdown: &str) {
        assert_eq!(dead_in(path, markdown), Vec::<String>::new(), "{markdown}");
    }

    #[track_caller]
    fn dead(path: &str, markdown: &str, place: &str, word: &str) {
        let dead = dead_in(path, markdown);
        assert_eq!(dead.len(), 1, "{markdown}: {dead:?}");
        assert!(
            dead[0].starts_with(&format!("{path}:{place}: ")) && dead[0].contains(word),
            "{dead:?}"
        );
    }

    #[test]
    fn links_lead_to_files_and_folders() {
        alive(
            "README.md",
            "[a](docs/guide.md) [b](./docs/) [c](crates/core) [d](/docs/guide.md) ![e](.ci/run)",
        );
        alive(
            "docs/more.md",
            "[a](guide.md) [b](../README.md/../docs/guide.md) [root](..) [c](/docs)",
        );
        alive("README.md", "[a](docs/with%20space.md) [b](<docs/with space.md>)");
        dead("README.md", "one\n\n[a](docs/gone.md)", "3", "docs/gone.md");
        dead("docs/more.md", "[a](docs/guide.md)", "1", "docs/docs/guide.md");
        dead("README.md", "[a](docs/Guide.md)", "1", "docs/Guide.md");
        dead("README.md", "[a](../elsewhere)", "1", "out of the repository");
        dead("README.md", "<img src=\"docs/chart.svg\">", "1", "docs/chart.svg");
    }

    #[test]
    fn other_sites_are_left_alone() {
        alive(
            "README.md",
            "[a](https://example.org/docs/gone.md#x) <mailto:a@example.org> <https://example.org/x>",
        );
    }

    #[test]
    fn the_repository_on_the_web_is_this_tree() {
        alive(
            "README.md",
            &format!(
                "[a]({REPOSITORY}/blob/main/docs/guide.md#the-guide) [b]({REPOSITORY}/issues)"
            ),
        );
        dead(
            "README.md",
            &format!("[a]({REPOSITORY}/blob/main/docs/gone.md)"),
            "1",
            "docs/gone.md",
        );
        dead("README.md", &format!("[a]({REPOSITORY}/tree/main/gone)"), "1", "gone");
    }

    #[test]
    fn anchors_are_headings() {
        alive("README.md", "# First program\n[a](#first-program) [b](docs/guide.md#a-rows-path)");
        dead("README.md", "# First program\n[a](#second)", "2", "#second");
        dead("README.md", "[a](docs/guide.md#a-row)", "1", "#a-row");
    }

    #[test]
    fn lines_exist() {
        alive(
            "README.md",
            "[a](crates/core/src/lib.rs#L3) [b](crates/core/src/lib.rs#L1-L2) `crates/core/src/lib.rs:3`",
        );
        dead("README.md", "[a](crates/core/src/lib.rs#L4)", "1", "3 lines");
        dead("README.md", "[a](crates/core/src/lib.rs#L2-L9)", "1", "3 lines");
        dead("README.md", "`crates/core/src/lib.rs:4`", "1", "3 lines");
        dead("README.md", "[a](crates/core#L1)", "1", "folder");
    }

    #[test]
    fn reference_links_need_a_definition() {
        alive("README.md", "[a][guide] and [guide]\n\n[guide]: docs/guide.md");
        dead("README.md", "see [a][guide]", "1", "[guide] has no definition");
        dead("README.md", "[a][guide]\n\n[guide]: docs/gone.md", "1", "docs/gone.md");
        alive("README.md", "an [ordinary] bracket");
    }

    #[test]
    fn paths_in_code_exist() {
        alive(
            "README.md",
            "`crates/core/src/lib.rs`, `crates/core/`, `.ci/run`, `crates/*/src/lib.rs`, `src/lib.rs`",
        );
        alive(
            "docs/more.md",
            "`crates/core`; `crates/<name>/src/lib.rs`; `text/plain`; `a/b`; `and/or.`",
        );
        dead("README.md", "`crates/core/src/gone.rs`", "1", "crates/core/src/gone.rs");
        dead("README.md", "a\n`src/gone.rs`", "2", "src/gone.rs");
        dead("README.md", "`crates/*/src/gone.rs`", "1", "gone.rs");
        dead("README.md", "`core/lib.rs`", "1", "core/lib.rs");
    }

    #[test]
    fn a_name_that_only_ends_alike_is_not_the_file() {
        dead("README.md", "`rc/lib.rs`", "1", "rc/lib.rs");
    }

    #[test]
    fn commands_are_read_word_by_word() {
        alive("README.md", "```sh\n.ci/run && cat crates/core/src/lib.rs\n```");
        alive("README.md", "```sh\ncargo new x; cat src/gone.rs\n```");
        dead("README.md", "x\n\n```console\n$ ls\n$ ls docs/gone\n```", "5", "docs/gone");
        dead("README.md", "`cat docs/gone.md`", "1", "docs/gone.md");
    }

    #[test]
    fn code_that_is_no_command_is_not_read() {
        alive("README.md", "```rust\n// [a](docs/gone.md) docs/gone.md\n```\n\n    docs/gone.md\n");
    }
}
