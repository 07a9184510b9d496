//! Random requests of a restricted client to two databases that differ in what it may not see.

use crate::cargo;
use crate::failure::{Failure, Outcome};

/// So many requests of each test unless said otherwise.
const REQUESTS: u64 = 100_000;
/// The crates with such tests.
const CRATES: [&str; 3] = ["bobak-permissions", "bobak-server", "bobak-http"];

/// Runs the tests with `--requests N` requests each, from the seed `--seed S` on.
///
/// # Errors
/// When the arguments are others, and when two answers differ: the output above names seed and request.
pub fn run(arguments: &[String]) -> Outcome {
    let (requests, seed) = settings(arguments)?;
    let variables = [
        ("BOBAK_PERMISSIONS_REQUESTS", &*requests.to_string()),
        ("BOBAK_PERMISSIONS_SEED", &*seed.to_string()),
    ];
    for package in CRATES {
        cargo::run_with(
            &variables,
            &["test", "--release", "-p", package, "--test", "it", "hidden_data::"],
            "the output above names the seed: `cargo xtask permissions-fuzz --requests 1 --seed N` runs that one alone",
        )?;
    }
    Ok(())
}

fn settings(arguments: &[String]) -> Outcome<(u64, u64)> {
    let wrong = || {
        Failure::new(
            format!("`cargo xtask permissions-fuzz` does not understand `{}`", arguments.join(" ")),
            "write `--requests N` for the number of requests, and `--seed S` for the first seed",
        )
    };
    let (mut requests, mut seed) = (REQUESTS, 0);
    let (pairs, rest) = arguments.as_chunks::<2>();
    for [word, number] in pairs {
        let number = number.parse::<u64>().map_err(|_| wrong())?;
        match word.as_str() {
            "--requests" => requests = number,
            "--seed" => seed = number,
            _ => return Err(wrong()),
        }
    }
    if rest.is_empty() { Ok((requests, seed)) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_and_seed_are_numbers() {
        let words = |line: &str| line.split_whitespace().map(String::from).collect::<Vec<_>>();
        assert_eq!(settings(&[]).unwrap(), (REQUESTS, 0));
        assert_eq!(settings(&words("--seed 7 --requests 9")).unwrap(), (9, 7));
        for line in ["--seed", "--requests many", "9"] {
            let failure = settings(&words(line)).unwrap_err().to_string();
            assert!(failure.contains("--requests N"), "{failure}");
        }
    }
}
