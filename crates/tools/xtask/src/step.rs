//! The list of checks. Each is announced and timed; all run, so that one round trip through CI shows every mistake.

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
}

/// The check that needs other languages, which some do without.
pub const CLIENTS: &str = "client-lints";

/// All checks, the quick ones first.
pub const STEPS: &[Step] = &[
    Step { name: "format", about: "the code is formatted", run: lints::format },
    Step { name: "links", about: "links and paths in Markdown lead somewhere", run: links::run },
    Step {
        name: "lengths",
        about: "no source file is too long, and few functions are",
        run: lengths::run,
    },
    Step {
        name: "layers",
        about: "modules form no large cycles, and crates depend in one direction",
        run: layers::check,
    },
    Step {
        name: "words",
        about: "names and texts use standard terms, and no name has two meanings",
        run: words::check,
    },
    Step { name: "api", about: "the public API is that of the snapshots in api/", run: api::check },
    Step {
        name: "msrv",
        about: "no dependency needs a newer Rust than Cargo.toml names",
        run: msrv::run,
    },
    Step {
        name: "crates",
        about: "a first build is small, and the README says how small",
        run: crates::run,
    },
    Step {
        name: CLIENTS,
        about: "the clients in other languages are formatted, typed and free of lints",
        run: clients::lint,
    },
    Step { name: "clippy", about: "clippy has no warning", run: lints::clippy },
    Step {
        name: "features",
        about: "each published crate compiles without features",
        run: features::run,
    },
    Step { name: "docs", about: "the documentation builds without a warning", run: lints::docs },
    Step {
        name: "settings",
        about: "the tables of settings in the documentation are those of the program",
        run: settings::check,
    },
    Step { name: "tsql", about: "the statements for SQL Server are T-SQL", run: tsql::run },
    Step {
        name: "oracle",
        about: "the statements for Oracle are of Oracle's SQL",
        run: tsql::run_oracle,
    },
    Step { name: "book", about: "the book can be built", run: book::run },
    Step {
        name: "package",
        about: "each published crate can be packaged, and compiles from its package",
        run: package::run,
    },
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

/// Runs the given checks, and names at the end those that failed.
pub fn run_all_of<'a>(steps: impl IntoIterator<Item = &'a Step>, tree: &Tree) -> Outcome {
    let mut failed = Vec::new();
    for step in steps {
        announce(step.name, step.about);
        let start = Instant::now();
        let outcome = (step.run)(tree);
        let seconds = start.elapsed().as_secs_f64();
        match outcome {
            Ok(()) => println!("{}: ok, {seconds:.1} s", step.name),
            Err(failure) => {
                println!("{failure}\n{}: failed, {seconds:.1} s", step.name);
                failed.push(step.name);
            }
        }
    }
    if failed.is_empty() {
        return Ok(());
    }
    Err(Failure::new(
        format!("failed: {}", failed.join(", ")),
        format!("do what each says above; `cargo xtask {}` runs one alone", failed[0]),
    ))
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
            Step { name: "first", about: "", run: bad },
            Step { name: "second", about: "", run: |_| Ok(()) },
            Step { name: "third", about: "", run: bad },
        ];
        let (_folder, tree) = fixture::tree(&[]);
        let failure = run_all_of(&steps, &tree).unwrap_err().to_string();
        assert!(failure.contains("failed: first, third"), "{failure}");
        run_all_of(&steps[1..2], &tree).unwrap();
    }
}
