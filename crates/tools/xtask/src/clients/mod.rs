//! The clients in other languages, under `clients/`: their lints, and their tests against the program that was just
//! built.
//!
//! ```text
//! lints  format, types and lints
//! folder  the folders of a client and its dependencies, and commands there
//! tests  the tests
//! ```
//!
//! A missing language is installed if possible. Other dependencies of a client are installed below the
//! target folder; npm needs a folder next to the client.

mod folder;
mod lints;
mod tests;

use crate::cargo;
use crate::failure::{Failure, Outcome};
use crate::packages;
use crate::tally::Tally;
use crate::tree::Tree;
pub use folder::{ClientFolder, make_venv, pip};

/// A language, and what is done with its client.
struct Client {
    name: &'static str,
    /// What must be there, and the Debian packages that bring it.
    needs: &'static [(&'static str, &'static str)],
    /// Installs what its lints and its tests need both.
    install: fn(&ClientFolder) -> Outcome,
    /// Runs all lints; gives what they have to say.
    lint: fn(&ClientFolder) -> Vec<Failure>,
    test: fn(&ClientFolder, &mut Tally) -> Outcome,
}

const CLIENTS: &[Client] = &[
    Client {
        name: "python",
        needs: &[("python3", "python3 python3-venv")],
        install: folder::make_venv,
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
        install: ClientFolder::install_from_npm,
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
        let folder = ClientFolder::of(client.name);
        let failures = match prepare(client, &folder) {
            Ok(()) => (client.lint)(&folder),
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

/// Runs the tests of every client, and adds them to `tally`.
///
/// # Errors
/// When a language is missing and cannot be installed, and when a test failed.
pub fn test(tally: &mut Tally) -> Outcome {
    // Where the workspace's tests have run it is there, built with their choice of features.
    if !cargo::program("bobak").is_file() {
        cargo::build_programs()?;
    }
    for client in CLIENTS {
        println!("\n== clients/{} ==", client.name);
        let folder = ClientFolder::of(client.name);
        prepare(client, &folder)?;
        (client.test)(&folder, tally)?;
    }
    Ok(())
}

fn prepare(client: &Client, folder: &ClientFolder) -> Outcome {
    for (command, names) in client.needs {
        packages::need(command, names, folder::CURE)?;
    }
    (client.install)(folder)
}
