//! The list of checks. Each is announced and timed; all run, so that one round trip through CI shows every mistake.

use std::thread;
use std::time::Instant;

use crate::failure::{Failure, Outcome};
use crate::tree::Tree;
use crate::{
    api, book, clients, crates, features, layers, lengths, links, lints, msrv, package, settings,
    tsql, words,
};

/// One check.
pub struct Step {
    /// The word on the command line.
    pub name: &'static str,
    /// What it looks at, for the announcement and for the help.
    pub about: &'static str,
    /// The check itself.
    pub run: fn(&Tree) -> Outcome,
    /// Whether it compiles crates, so that cargo lets it wait for others that do.
    pub compiles: bool,
}

impl Step {
    const fn new(name: &'static str, about: &'static str, run: fn(&Tree) -> Outcome) -> Self {
        Self { name, about, run, compiles: false }
    }

    const fn compiling(name: &'static str, about: &'static str, run: fn(&Tree) -> Outcome) -> Self {
        Self { name, about, run, compiles: true }
    }
}

/// The check that needs other languages, which some do without.
pub const CLIENTS: &str = "client-lints";

/// All checks, the quick ones first.
pub const STEPS: &[Step] = &[
    Step::new("format", "the code is formatted", lints::format),
    Step::new("links", "links and paths in Markdown lead somewhere", links::run),
    Step::new("lengths", "no source file is too long, and few functions are", lengths::run),
    Step::new(
        "layers",
        "modules form no large cycles, and crates depend in one direction",
        layers::check,
    ),
    Step::new(
        "words",
        "names and texts use standard terms, and no name has two meanings",
        words::check,
    ),
    Step::new("api", "the public API is that of the snapshots in api/", api::check),
    Step::new("crates", "a first build is small, and the README says how small", crates::run),
    Step::new(
        CLIENTS,
        "the clients in other languages are formatted, typed and free of lints",
        clients::lint,
    ),
    Step::compiling("msrv", "no dependency needs a newer Rust than Cargo.toml names", msrv::run),
    Step::compiling("clippy", "clippy has no warning", lints::clippy),
    Step::compiling("features", "each published crate compiles without features", features::run),
    Step::compiling("docs", "the documentation builds without a warning", lints::docs),
    Step::compiling(
        "settings",
        "the tables of settings in the documentation are those of the program",
        settings::check,
    ),
    Step::compiling("tsql", "the statements for SQL Server are T-SQL", tsql::run),
    Step::compiling("oracle", "the statements for Oracle are of Oracle's SQL", tsql::run_oracle),
    Step::compiling("book", "the book can be built", book::run),
    Step::compiling(
        "package",
        "each published crate can be packaged, with each file that it includes",
        package::run,
    ),
];

/// Runs every check.
///
/// # Errors
/// When any failed, after all have run.
pub fn run_all(tree: &Tree) -> Outcome {
    run_all_of(STEPS, tree)
}

/// Runs every check but that of the clients.
///
/// # Errors
/// As [`run_all`].
pub fn run_without_clients(tree: &Tree) -> Outcome {
    run_all_of(STEPS.iter().filter(|step| step.name != CLIENTS), tree)
}

/// Runs the given checks, those that compile in order, and the others meanwhile; names at the end those that failed.
pub fn run_all_of<'a>(steps: impl IntoIterator<Item = &'a Step>, tree: &Tree) -> Outcome {
    let (compiling, others): (Vec<&Step>, Vec<&Step>) =
        steps.into_iter().partition(|step| step.compiles);
    let failed = thread::scope(|scope| {
        let others = scope.spawn(|| run_in_order(&others, tree));
        let compiling = run_in_order(&compiling, tree);
        let others = others.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        [others, compiling].concat()
    });
    if failed.is_empty() {
        return Ok(());
    }
    Err(Failure::new(
        format!("failed: {}", failed.join(", ")),
        format!("do what each says above; `cargo xtask {}` runs one alone", failed[0]),
    ))
}

/// Runs checks; the names of those that failed.
fn run_in_order(steps: &[&Step], tree: &Tree) -> Vec<&'static str> {
    let mut failed = Vec::new();
    for step in steps {
        announce(step.name, step.about);
        let start = Instant::now();
        let outcome = (step.run)(tree);
        let seconds = start.elapsed().as_secs_f64();
        match outcome {
            Ok(()) => println!("{}: ok, {seconds:.1} s", step.name),
            Err(failure) => {
                println!("{}: failed, {seconds:.1} s\n{failure}", step.name);
                failed.push(step.name);
            }
        }
    }
    failed
}

/// The line before a step.
pub fn announce(name: &str, about: &str) {
    println!("\n== {name}: {about} ==");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::fixture;

    #[test]
    fn every_step_runs_and_the_failed_ones_are_named() {
        let bad = |_: &Tree| Err(Failure::new("it is broken", "fix it"));
        let steps = [
            Step::compiling("first", "", bad),
            Step::compiling("second", "", |_| Ok(())),
            Step::compiling("third", "", bad),
            Step::new("fourth", "", bad),
        ];
        let (_folder, tree) = fixture::tree(&[]);
        let failure = run_all_of(&steps, &tree).unwrap_err().to_string();
        assert!(failure.contains("failed: fourth, first, third"), "{failure}");
        run_all_of(&steps[1..2], &tree).unwrap();
    }
}
