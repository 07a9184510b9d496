//! Pages that name tests and capabilities name all of those that exist, and no others.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn every_test_that_the_page_names_is_there() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/durability.md");
    let page = std::fs::read_to_string(page).unwrap();
    let list = Command::new(std::env::current_exe().unwrap()).arg("--list").output().unwrap();
    let list = String::from_utf8(list.stdout).unwrap();
    let tests: Vec<&str> = list.lines().filter_map(|line| line.strip_suffix(": test")).collect();
    // Code spans are every other part.
    let spans = page.split('`').skip(1).step_by(2);
    let named: Vec<&str> = spans
        .filter(|span| ["crash::", "kill::"].iter().any(|start| span.starts_with(start)))
        .collect();
    assert!(named.len() > 15, "{named:?}");
    for name in &named {
        assert!(tests.contains(name), "docs/durability.md names {name}, which is no test");
    }
    let shown = |test: &&&str| {
        let about = test.starts_with("crash::") || test.starts_with("kill::");
        about && **test != "kill::writes_until_it_is_killed"
    };
    for test in tests.iter().filter(shown) {
        assert!(named.contains(test), "docs/durability.md does not name {test}");
    }
}

#[test]
fn the_page_about_engines_names_every_capability() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/adding-an-engine.md");
    let page = fs::read_to_string(page).unwrap();
    let shown = format!("{:?}", bobak_core::Capabilities::NONE);
    let fields = shown.split(['{', ',']).skip(1);
    let names: Vec<&str> = fields.filter_map(|part| Some(part.split_once(':')?.0.trim())).collect();
    assert!(names.contains(&"sql") && names.len() > 15, "{names:?}");
    for name in names {
        assert!(page.contains(&format!("`{name}`")), "docs/adding-an-engine.md lacks {name}");
    }
}

/// Tests of other crates are looked for in their text: `module::name` in `tests/it/module.rs`, and
/// `module::part::name` in `tests/it/module/part.rs`.
#[test]
fn every_test_of_other_crates_that_pages_name_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let cases = bobak_testkit::CASES.iter().map(|case| case.name.to_owned());
    let mut there: BTreeSet<String> = cases.collect();
    for krate in crates(&root.join("crates")) {
        add_tests(&krate.join("tests/it"), "", &mut there);
        add_tests(&krate.join("src/tests"), "", &mut there);
    }
    let mut named = 0;
    let mut missing = Vec::new();
    for page in ["durability.md", "backup.md", "encryption.md"] {
        let page = fs::read_to_string(root.join("docs").join(page)).unwrap();
        let is_test = |span: &&str| {
            let parts: Vec<_> = span.split("::").collect();
            let is_name = |part: &&str| part.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
            matches!(parts.len(), 2 | 3) && parts.iter().all(is_name)
        };
        for name in page.split('`').skip(1).step_by(2).filter(is_test) {
            named += 1;
            if !there.contains(name) {
                missing.push(name.to_owned());
            }
        }
    }
    assert!(missing.is_empty(), "pages name what is no test: {missing:?}");
    assert!(named > 40, "{named}");
}

/// The folders of all crates below a folder.
fn crates(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let folders = entries.filter(|path| path.is_dir());
    folders
        .flat_map(|path| match path.join("Cargo.toml").exists() {
            true => vec![path],
            false => crates(&path),
        })
        .collect()
}

fn add_tests(folder: &Path, before: &str, there: &mut BTreeSet<String>) {
    for path in fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path()) {
        let module = format!("{before}{}::", path.file_stem().unwrap().to_string_lossy());
        if path.is_dir() && before.is_empty() {
            add_tests(&path, &module, there);
        } else if let Ok(text) = fs::read_to_string(&path) {
            let names = text.lines().filter_map(|line| line.strip_prefix("fn ")?.split('(').next());
            there.extend(names.map(|name| format!("{module}{name}")));
        }
    }
}
