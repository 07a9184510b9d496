//! All tests of the workspace, and their number over all test binaries.

use std::env;
use std::process::Command;

use bobak_servers::TestFolder;

use crate::cargo_test;
use crate::clients;
use crate::encryption;
use crate::failure::{Failure, Outcome};
use crate::mcp;
use crate::servers::Servers;
use crate::studio;
use crate::tally::Tally;

/// What keeps [`run`] from starting servers.
const NO_SERVERS: &str = "--no-servers";
/// What keeps it from running the tests of the clients in other languages.
pub const NO_CLIENTS: &str = "--no-clients";
/// What keeps it from running the tests of encrypted files.
const NO_ENCRYPTION: &str = "--no-encryption";

/// Starts database servers, runs `cargo test --workspace` with `arguments`, then, if there are none, the tests of
/// the clients in other languages and of encrypted files. It shows their output as it comes, and ends with what the
/// failed tests printed and one line `N passed, N failed`. With `--no-servers` among the arguments it starts none,
/// with `--no-encryption` and `--no-clients` it leaves those tests out.
///
/// # Errors
/// When a test failed, when a test binary crashed, when something did not compile, when no test ran at all, and when
/// there are no servers to be had.
pub fn run(arguments: &[String]) -> Outcome {
    if TestFolder::is_given() { run_in_folder(arguments) } else { with_folder(arguments) }
}

/// Runs this program once more, with a temporary folder for all that it starts.
fn with_folder(arguments: &[String]) -> Outcome {
    let failed = |what: String| Failure::new(what, "see that the disk is not full");
    let folder = TestFolder::make().map_err(|error| failed(error.to_string()))?;
    let program = env::current_exe().map_err(|error| failed(error.to_string()))?;
    let mut command = Command::new(program);
    command.arg("test").args(arguments).envs(folder.variables());
    let status = command.status().map_err(|error| failed(error.to_string()))?;
    if status.success() {
        return Ok(());
    }
    Err(Failure::new(format!("the tests ended with {status}"), "do what is said above"))
}

fn run_in_folder(arguments: &[String]) -> Outcome {
    let (no_servers, arguments) = split(arguments, NO_SERVERS);
    let (no_clients, arguments) = split(&arguments, NO_CLIENTS);
    let (no_encryption, arguments) = split(&arguments, NO_ENCRYPTION);
    let servers = if no_servers { Servers::none() } else { Servers::start()? };
    let mut tally = Tally::default();
    let mut outcome = cargo_test::run(&servers, &arguments, &mut tally);
    drop(servers);
    // Arguments choose some of cargo's tests: those who give them want no others.
    if arguments.is_empty() && !no_clients {
        let clients = clients::test(&mut tally);
        let studio = studio::test(&mut tally);
        let mcp = mcp::test(&mut tally);
        outcome = outcome.and(clients).and(studio).and(mcp);
    }
    // Last, since they put a program with SQLCipher in the place of the one that the tests of the clients start.
    if arguments.is_empty() && !no_encryption {
        let encryption = encryption::run(&mut tally);
        outcome = outcome.and(encryption);
    }
    tally.print_failures();
    println!("{} passed, {} failed", tally.passed, tally.failed);
    outcome
}

/// Whether `word` is among the arguments, before any `--`; and those that are left.
fn split(arguments: &[String], word: &str) -> (bool, Vec<String>) {
    let own = arguments.iter().take_while(|argument| *argument != "--").count();
    let place = arguments.iter().take(own).position(|argument| argument == word);
    let mut rest = arguments.to_vec();
    if let Some(place) = place {
        rest.remove(place);
    }
    (place.is_some(), rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_servers_is_not_for_cargo() {
        let words = |line: &str| line.split(' ').map(String::from).collect::<Vec<_>>();
        let split = |words: &[String]| split(words, NO_SERVERS);
        assert_eq!(split(&words("-p x --no-servers")), (true, words("-p x")));
        assert_eq!(split(&words("-p x")), (false, words("-p x")));
        assert_eq!(split(&words("x -- --no-servers")), (false, words("x -- --no-servers")));
    }
}
