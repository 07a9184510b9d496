//! All tests of the workspace, and their number over all test binaries.

use std::env;
use std::process::Command;
use std::thread;

use bobak_servers::TestFolder;

use crate::cargo_test;
use crate::clients;
use crate::encryption;
use crate::failure::{Failure, Outcome};
use crate::mcp;
use crate::packages;
use crate::servers::{self, Servers};
use crate::studio;
use crate::tally::Tally;
use crate::test_binaries::{self, TestBinary};
use crate::test_jobs::{self, TestJob};

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
    let mut tally = Tally::default();
    // Arguments choose some of cargo's tests: those who give them want no others.
    let outcome = if arguments.is_empty() {
        run_workspace(no_servers, no_clients, no_encryption, &mut tally)
    } else {
        let servers = if no_servers { Servers::none() } else { Servers::start()? };
        cargo_test::run(&servers, &arguments, &mut tally)
    };
    tally.print_failures();
    println!("{} passed, {} failed", tally.passed, tally.failed);
    outcome
}

fn run_workspace(
    no_servers: bool,
    no_clients: bool,
    no_encryption: bool,
    tally: &mut Tally,
) -> Outcome {
    // What is downloaded and started for tests, while the compiler runs.
    if !no_servers {
        servers::install_drivers()?;
    }
    let (servers, binaries) = thread::scope(|scope| {
        let servers =
            scope.spawn(|| if no_servers { Ok(Servers::none()) } else { Servers::start() });
        let binaries = test_binaries::build();
        (servers.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), binaries)
    });
    let (servers, binaries) = (servers?, binaries?);
    let mut outcome = test_jobs::run(jobs(&servers, &binaries, no_clients), tally);
    drop(servers);
    if tally.passed == 0 {
        outcome = outcome.and(Err(Failure::new(
            "no test ran",
            "see that the workspace has its members, and they their tests",
        )));
    }
    // Last, since they put a program with SQLCipher in the place of the one that the other tests start.
    if !no_encryption {
        outcome = outcome.and(encryption::run(tally));
    }
    outcome
}

/// The tests of the workspace, and of the clients in other languages.
fn jobs<'a>(
    servers: &'a Servers,
    binaries: &'a [TestBinary],
    no_clients: bool,
) -> Vec<TestJob<'a>> {
    let mut jobs: Vec<TestJob<'a>> = Vec::new();
    let of_binary =
        |binary: &'a TestBinary| -> TestJob<'a> { Box::new(|tally| binary.run(servers, tally)) };
    let (longest, others) = binaries.split_at(binaries.len().min(2));
    jobs.extend(longest.iter().map(of_binary));
    if !no_clients {
        jobs.push(Box::new(studio::test));
        jobs.push(Box::new(clients::test));
        jobs.push(Box::new(mcp::test));
    }
    jobs.extend(others.iter().map(of_binary));
    jobs.push(Box::new(|tally| {
        let arguments = ["--workspace", "--doc"].iter().chain(packages::without_driver_manager());
        let arguments: Vec<String> = arguments.map(ToString::to_string).collect();
        cargo_test::run(servers, &arguments, tally)
    }));
    jobs
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
