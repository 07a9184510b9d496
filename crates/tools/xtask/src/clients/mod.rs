//! The clients in other languages, under `clients/`: their lints, and their tests against the program that was just
//! built.
//!
//! ```text
//! lints  format, types and lints
//! place  where a client and what it needs lie, and commands there
//! tests  the tests
//! ```
//!
//! A language that is missing is installed where that is possible. What a client needs besides is installed below the
//! target folder; npm insists on a place beside the client.

mod lints;
mod place;
mod tests;

use crate::cargo;
use crate::failure::{Failure, Outcome};
use crate::packages;
use crate::test::Sum;
use crate::tree::Tree;
use place::Place;

const CURE: &str = "install Python 3.10, Go 1.19 and Node 20, or newer ones (Debian: `apt-get install python3 \
                    python3-venv golang nodejs npm`), or leave the clients out: `cargo xtask check --no-clients`, \
                    `cargo xtask test --no-clients`";

/// A language, and what is done with its client.
struct Client {
    name: &'static str,
    /// What must be there, and the Debian packages that bring it.
    needs: &'static [(&'static str, &'static str)],
    /// Installs what its lints and its tests need both.
    install: fn(&Place) -> Outcome,
    /// Runs all lints; gives what they have to say.
    lint: fn(&Place) -> Vec<Failure>,
    test: fn(&Place, &mut Sum) -> Outcome,
}

const CLIENTS: &[Client] = &[
    Client {
        name: "python",
        needs: &[("python3", "python3 python3-venv")],
        install: place::make_venv,
        lint: lints::python,
        test: tests::python,
    },
    Client {
        name: "go",
        needs: &[("go", "golang"), ("gofmt", "golang")],
        install: |_| Ok(()),
        lint: lints::go,
        test: tests::go,
    },
    Client {
        name: "typescript",
        needs: &[("node", "nodejs"), ("npm", "npm")],
        install: place::install_from_npm,
        lint: lints::typescript,
        test: tests::typescript,
    },
];

/// Looks at the clients' code, without running it.
///
/// # Errors
/// When a language is missing and cannot be installed, and when a tool had something to say: after all have run.
pub fn lint(_: &Tree) -> Outcome {
    let mut failed = Vec::new();
    for client in CLIENTS {
        let place = Place::of(client.name);
        let failures = match prepare(client, &place) {
            Ok(()) => (client.lint)(&place),
            Err(failure) => vec![failure],
        };
        for failure in &failures {
            println!("{failure}");
        }
        if !failures.is_empty() {
            failed.push(client.name);
        }
    }
    if failed.is_empty() {
        return Ok(());
    }
    Err(Failure::new(
        format!("clients with mistakes: {}", failed.join(", ")),
        "do what each says above",
    ))
}

/// Runs the tests of every client, and adds them to `sum`.
///
/// # Errors
/// When a language is missing and cannot be installed, and when a test failed.
pub fn test(sum: &mut Sum) -> Outcome {
    // Where the workspace's tests have run it is there, built with their choice of features.
    if !place::built_program().is_file() {
        cargo::run(&["build", "-p", "bobak-cli"], "see what the compiler says")?;
    }
    for client in CLIENTS {
        println!("\n== clients/{} ==", client.name);
        let place = Place::of(client.name);
        prepare(client, &place)?;
        (client.test)(&place, sum)?;
    }
    Ok(())
}

fn prepare(client: &Client, place: &Place) -> Outcome {
    for (command, names) in client.needs {
        packages::need(command, names, CURE)?;
    }
    (client.install)(place)
}
