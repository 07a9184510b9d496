//! Source files that have grown too long to be read in one sitting. A warning: length is a hint, not a mistake.

use crate::failure::Outcome;
use crate::tree::Tree;

/// Lines above which a file is named. Most files should stay under 450.
const LIMIT: usize = 600;

/// Names each Rust file of more than [`LIMIT`] lines; never fails for one.
pub fn run(tree: &Tree) -> Outcome {
    for (file, lines) in too_long(tree, LIMIT)? {
        println!("warning: {file} has {lines} lines, over {LIMIT}: it may hold two subjects");
    }
    Ok(())
}

fn too_long(tree: &Tree, limit: usize) -> Outcome<Vec<(&str, usize)>> {
    let mut found = Vec::new();
    for file in tree.with_extension("rs") {
        let lines = tree.read(file)?.lines().count();
        if lines > limit {
            found.push((file, lines));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::fixture;

    #[test]
    fn the_limit_itself_is_allowed_and_only_rust_is_counted() {
        let (_folder, tree) = fixture::tree(&[
            ("a.rs", "1\n2\n3\n"),
            ("b/c.rs", "1\n2\n3\n4\n"),
            ("d.csv", "1\n2\n3\n4\n"),
        ]);
        assert_eq!(too_long(&tree, 3).unwrap(), [("b/c.rs", 4)]);
    }
}
