//! All tests of the workspace, and their sum over all test binaries.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::Stdio;

use crate::cargo;
use crate::clients;
use crate::encryption;
use crate::failure::{Failure, Outcome};
use crate::servers::Servers;

/// What keeps [`run`] from starting servers.
const NO_SERVERS: &str = "--no-servers";
/// What keeps it from running the tests of the clients in other languages.
pub const NO_CLIENTS: &str = "--no-clients";
/// What keeps it from running the tests of encrypted files.
const NO_ENCRYPTION: &str = "--no-encryption";

/// Starts database servers, runs `cargo test --workspace` with `arguments`, then, if there are none, the tests
/// of encrypted files and of the clients in other languages; shows their output as it comes, and ends with one line
/// `N passed, N failed`. With `--no-servers` among the arguments it starts none, with `--no-encryption` and
/// `--no-clients` it leaves those tests out.
///
/// # Errors
/// When a test failed, when a test binary crashed, when something did not compile, when no test ran at all, and when
/// there are no servers to be had.
pub fn run(arguments: &[String]) -> Outcome {
    let (no_servers, arguments) = split(arguments, NO_SERVERS);
    let (no_clients, arguments) = split(&arguments, NO_CLIENTS);
    let (no_encryption, arguments) = split(&arguments, NO_ENCRYPTION);
    let servers = if no_servers { Servers::none() } else { Servers::start()? };
    let mut sum = Sum::default();
    let mut outcome = run_with(&servers, &arguments, &mut sum);
    drop(servers);
    // Arguments choose some of cargo's tests: those who give them want no others.
    if arguments.is_empty() && !no_encryption {
        let encryption = encryption::run(&mut sum);
        outcome = outcome.and(encryption);
    }
    if arguments.is_empty() && !no_clients {
        let clients = clients::test(&mut sum);
        outcome = outcome.and(clients);
    }
    println!("{} passed, {} failed", sum.passed, sum.failed);
    outcome
}

/// Runs `cargo test` with `arguments`, and adds to `sum`.
pub(crate) fn run_with(servers: &Servers, arguments: &[String], sum: &mut Sum) -> Outcome {
    let mut command = cargo::command(&["test"]);
    // Chosen packages would otherwise be overruled by `--workspace`.
    if !names_packages(arguments) {
        command.arg("--workspace");
    }
    // Without it, cargo stops at the first binary with a failed test, and the sum would be of some only.
    if !arguments.iter().any(|argument| argument == "--no-fail-fast") {
        command.arg("--no-fail-fast");
    }
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped());
    servers.tell(&mut command);
    let mut child = command.spawn().map_err(|error| cargo::not_started(&error))?;
    if let Some(output) = child.stdout.take() {
        sum.follow(output, &mut io::stdout().lock()).map_err(|error| {
            Failure::new(
                format!("the output of the tests broke off: {error}"),
                "run it again, with the disk not full",
            )
        })?;
    }
    let status = child.wait().map_err(|error| cargo::not_started(&error))?;
    if !status.success() {
        return Err(Failure::new(
            format!("`cargo test` ended with {status}"),
            "look above for `FAILED`, `panicked` or `error`; a binary that crashed or did not compile is not in the sum",
        ));
    }
    if arguments.is_empty() && sum.passed == 0 {
        return Err(Failure::new(
            "no test ran",
            "see that the workspace has its members, and they their tests",
        ));
    }
    Ok(())
}

/// Tests counted over all test binaries.
#[derive(Debug, Default, PartialEq)]
pub struct Sum {
    passed: u64,
    failed: u64,
}

impl Sum {
    /// Copies `output` to `screen` line by line, and counts in each line that closes a binary.
    fn follow(&mut self, output: impl Read, screen: &mut impl Write) -> io::Result<()> {
        let mut output = BufReader::new(output);
        let mut line = Vec::new();
        while output.read_until(b'\n', &mut line)? > 0 {
            screen.write_all(&line)?;
            screen.flush()?;
            self.count(&String::from_utf8_lossy(&line));
            line.clear();
        }
        Ok(())
    }

    /// A closing line reads `test result: ok. 3 passed; 0 failed; 1 ignored; …`, the `ok` perhaps in colour.
    fn count(&mut self, line: &str) {
        let Some((_, rest)) = line.split_once("test result: ") else {
            return;
        };
        self.count_words(rest);
    }

    /// A closing line reads `1 failed, 3 passed, 2 skipped in 0.12s`.
    pub fn count_pytest(&mut self, line: &str) {
        if line.contains(" in ") && line.ends_with('s') {
            self.count_words(line);
        }
    }

    /// Each test of Go has a line of its own; those inside others are indented, and not counted.
    pub fn count_go(&mut self, line: &str) {
        self.passed += u64::from(line.starts_with("--- PASS"));
        self.failed += u64::from(line.starts_with("--- FAIL"));
    }

    /// Closing lines read `# pass 3` and `# fail 0`.
    pub fn count_tap(&mut self, line: &str) {
        let number = |word: &str| line.strip_prefix(word).and_then(|rest| rest.parse::<u64>().ok());
        self.passed += number("# pass ").unwrap_or(0);
        self.failed += number("# fail ").unwrap_or(0);
    }

    /// Each number before the words `passed` and `failed`.
    fn count_words(&mut self, words: &str) {
        let words: Vec<&str> =
            words.split([' ', ';', ',']).filter(|word| !word.is_empty()).collect();
        for pair in words.windows(2) {
            match (pair[0].parse::<u64>(), pair[1]) {
                (Ok(number), "passed") => self.passed += number,
                (Ok(number), "failed") => self.failed += number,
                _ => {}
            }
        }
    }
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

/// Whether the arguments for cargo, before any `--`, choose packages.
fn names_packages(arguments: &[String]) -> bool {
    let own = arguments.iter().take_while(|argument| *argument != "--");
    own.into_iter().any(|argument| {
        (argument.starts_with("-p") && !argument.starts_with("--"))
            || argument.starts_with("--package")
            || argument.starts_with("--manifest-path")
            || argument == "--workspace"
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_over_all_binaries_and_the_output_is_untouched() {
        let output = b"running 3 tests\ntest a ... ok\n\
            test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s\n\n\
            test result: \x1b[31mFAILED\x1b[m. 4 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out\n\xff no newline";
        let (mut sum, mut screen) = (Sum::default(), Vec::new());
        sum.follow(&output[..], &mut screen).unwrap();
        assert_eq!(sum, Sum { passed: 7, failed: 2 });
        assert_eq!(screen, output);
    }

    #[test]
    fn tests_of_clients_are_counted() {
        let mut sum = Sum::default();
        sum.count_pytest("....  [100%]");
        sum.count_pytest("1 failed, 384 passed, 2 skipped in 35.12s");
        assert_eq!(sum, Sum { passed: 384, failed: 1 });
        sum.count_go("--- PASS: TestRows (0.00s)");
        sum.count_go("    --- PASS: TestRows/tcp (0.00s)");
        sum.count_go("--- FAIL: TestFrames (0.00s)");
        assert_eq!(sum, Sum { passed: 385, failed: 2 });
        sum.count_tap("# pass 5");
        sum.count_tap("# fail 1");
        assert_eq!(sum, Sum { passed: 390, failed: 3 });
    }

    #[test]
    fn a_test_that_prints_numbers_is_not_counted() {
        let mut sum = Sum::default();
        sum.count("17 passed; 4 failed");
        assert_eq!(sum, Sum::default());
    }

    #[test]
    fn no_servers_is_not_for_cargo() {
        let words = |line: &str| line.split(' ').map(String::from).collect::<Vec<_>>();
        let split = |words: &[String]| split(words, NO_SERVERS);
        assert_eq!(split(&words("-p x --no-servers")), (true, words("-p x")));
        assert_eq!(split(&words("-p x")), (false, words("-p x")));
        assert_eq!(split(&words("x -- --no-servers")), (false, words("x -- --no-servers")));
    }

    #[test]
    fn packages_are_recognised_before_the_double_dash_only() {
        let words = |line: &str| line.split(' ').map(String::from).collect::<Vec<_>>();
        for line in [
            "-p bobak-core",
            "-pbobak-core",
            "--package bobak",
            "--package=bobak some_test",
            "--workspace",
        ] {
            assert!(names_packages(&words(line)), "{line}");
        }
        for line in ["some_test", "--lib", "some_test -- -p", "--profile release"] {
            assert!(!names_packages(&words(line)), "{line}");
        }
    }
}
