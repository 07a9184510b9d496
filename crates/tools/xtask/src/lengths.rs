//! The lengths of files and functions: what is too long holds two subjects, and is not read in one sitting.

use crate::failure::{Failure, Outcome};
use crate::rust::{members, modules, modules::Modules};
use crate::tree::Tree;

/// The lines that a Rust file may have.
const FILE_LIMIT: usize = 500;

/// The lines, from `fn` to the closing brace, that 95 of 100 functions may have at most.
const FUNCTION_LIMIT: usize = 30;

/// Checks each Rust file, and the functions of all crates without their tests.
///
/// # Errors
/// If a file is too long, or too many functions are.
pub fn run(tree: &Tree) -> Outcome {
    let mut problems = long_files(tree)?;
    let mut lengths = function_lengths(tree)?;
    lengths.sort_unstable();
    let (median, p95) = (percentile(&lengths, 50), percentile(&lengths, 95));
    let (longest, name) = lengths.last().cloned().unwrap_or_default();
    println!(
        "{} functions: median {median} lines, p95 {p95}, the longest {longest} ({name})",
        lengths.len()
    );
    if p95 > FUNCTION_LIMIT {
        problems
            .push(format!("the p95 of functions is {p95} lines, at most {FUNCTION_LIMIT} may be"));
    }
    for problem in &problems {
        println!("{problem}");
    }
    if problems.is_empty() {
        return Ok(());
    }
    Err(Failure::new(
        format!("lengths over the limits: {}", problems.len()),
        "split what holds two subjects: a module for each noun, a function for each step",
    ))
}

/// One line for each file that is longer than it may be.
fn long_files(tree: &Tree) -> Outcome<Vec<String>> {
    let mut problems = Vec::new();
    for file in tree.with_extension("rs") {
        let lines = tree.read(file)?.lines().count();
        if lines > FILE_LIMIT {
            problems.push(format!("{file} has {lines} lines, at most {FILE_LIMIT} may be"));
        }
    }
    Ok(problems)
}

/// The length and the name of each function.
fn function_lengths(tree: &Tree) -> Outcome<Vec<(usize, String)>> {
    let mut lengths = Vec::new();
    for member in members::read(tree)? {
        for root in modules::roots(tree, &member.folder) {
            let modules = Modules::read(tree, &root)?;
            for module in modules.all() {
                let functions = module.source.functions.iter();
                lengths.extend(
                    functions.map(|one| (one.length, format!("{}, {}", one.name, module.file))),
                );
            }
        }
    }
    Ok(lengths)
}

/// The value that `percent` of 100 values do not exceed, of values in order.
fn percentile(sorted: &[(usize, String)], percent: usize) -> usize {
    let position = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
    sorted.get(position).map_or(0, |(length, _)| *length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::fixture;

    #[test]
    fn files_over_the_limit_are_named() {
        let long = "\n".repeat(FILE_LIMIT + 1);
        let (_folder, tree) =
            fixture::tree(&[("a.rs", &long), ("d.csv", &long), ("e.rs", &"\n".repeat(FILE_LIMIT))]);
        let problems = long_files(&tree).unwrap();
        assert_eq!(problems, ["a.rs has 501 lines, at most 500 may be"]);
    }

    #[test]
    fn functions_are_measured_without_tests() {
        let (_folder, tree) = fixture::tree(&[
            ("Cargo.toml", "members = [\n    \"x\",\n]"),
            ("x/Cargo.toml", "[package]\nname = \"x\"\n"),
            ("x/src/lib.rs", "fn f() {\n}\nimpl A {\n fn g() {\n\n }\n}\n#[test]\nfn t() {\n}\n"),
        ]);
        let lengths: Vec<usize> =
            function_lengths(&tree).unwrap().into_iter().map(|(length, _)| length).collect();
        assert_eq!(lengths, [2, 3]);
    }

    #[test]
    fn percentiles_are_values_that_occur() {
        let value = |length| (length, String::new());
        let values: Vec<_> = (1..=100).map(value).collect();
        assert_eq!((percentile(&values, 50), percentile(&values, 95)), (50, 95));
        assert_eq!(percentile(&[value(7)], 95), 7);
        assert_eq!(percentile(&[], 95), 0);
    }
}
