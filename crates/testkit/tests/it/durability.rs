//! The page about durability names the tests that show what it says: they are there.

use std::path::Path;
use std::process::Command;

#[test]
fn every_test_that_the_page_names_is_there() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/durability.md");
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
