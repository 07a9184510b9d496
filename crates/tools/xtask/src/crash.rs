//! The crash tests over thousands of seeds, in an optimised build.

use crate::cargo;
use crate::failure::{Failure, Outcome};

/// So many of each test unless said otherwise: some minutes.
const SEEDS: u64 = 2_000;

/// Runs the crash tests with `--seeds N` seeds of each, or with `--seed N` alone.
///
/// # Errors
/// When the arguments are others, and when a promise was broken: the output above names the seed.
pub fn run(arguments: &[String]) -> Outcome {
    let (variable, number) = setting(arguments)?;
    for (package, tests) in [("bobak-testkit", "crash::"), ("bobak", "power_cuts::")] {
        cargo::run_with(
            &[(variable, &number.to_string())],
            &["test", "--release", "-p", package, "--test", "it", tests, "--", "--show-output"],
            "the output above names mode, loss and seed: `cargo xtask crash --seed N` runs that one alone",
        )?;
    }
    Ok(())
}

fn setting(arguments: &[String]) -> Outcome<(&'static str, u64)> {
    let wrong = || {
        Failure::new(
            format!("`cargo xtask crash` does not understand `{}`", arguments.join(" ")),
            "write `--seeds N` for the first N seeds, or `--seed N` for one",
        )
    };
    let number = |text: &String| text.parse::<u64>().map_err(|_| wrong());
    match arguments {
        [] => Ok(("BOBAK_CRASH_SEEDS", SEEDS)),
        [word, count] if word == "--seeds" => Ok(("BOBAK_CRASH_SEEDS", number(count)?)),
        [word, seed] if word == "--seed" => Ok(("BOBAK_CRASH_SEED", number(seed)?)),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_numbers() {
        let words = |line: &str| line.split_whitespace().map(String::from).collect::<Vec<_>>();
        assert_eq!(setting(&[]).unwrap(), ("BOBAK_CRASH_SEEDS", SEEDS));
        assert_eq!(setting(&words("--seeds 9")).unwrap(), ("BOBAK_CRASH_SEEDS", 9));
        assert_eq!(setting(&words("--seed 7")).unwrap(), ("BOBAK_CRASH_SEED", 7));
        for line in ["--seeds", "--seeds many", "9"] {
            let failure = setting(&words(line)).unwrap_err().to_string();
            assert!(failure.contains("--seeds N"), "{failure}");
        }
    }
}
