//! The same random SQL on every engine and route, with more statements than the tests.

use crate::failure::{Failure, Outcome};
use crate::test;

/// So many statements unless said otherwise.
const STATEMENTS: u64 = 100_000;

/// Most of the time is Bobak's own, so that an optimized build pays; optimizing across crates takes longer than it saves.
const BUILD: [&str; 4] =
    ["--config", "profile.release.lto=false", "--config", "profile.release.codegen-units=16"];

/// Runs the comparison with `--statements N` statements and the seed `--seed S`.
///
/// # Errors
/// When the arguments are others, and when an engine differs: the output above has the statement.
pub fn run(arguments: &[String]) -> Outcome {
    let (statements, seed) = settings(arguments)?;
    let test = [
        "--release",
        "-p",
        "bobak",
        "--features",
        "mysql,postgres",
        "--test",
        "it",
        "sql_means_the_same",
    ];
    let config = [
        format!("env.BOBAK_SQL_STATEMENTS=\"{statements}\""),
        format!("env.BOBAK_SQL_SEED=\"{seed}\""),
    ];
    let config = config.into_iter().flat_map(|value| ["--config".to_owned(), value]);
    let options = BUILD.into_iter().chain(test).map(String::from);
    let words: Vec<String> = config.chain(options).collect();
    test::run(&words)
}

/// The number of statements, and the seed.
fn settings(arguments: &[String]) -> Outcome<(u64, u64)> {
    let wrong = || {
        Failure::new(
            format!("`cargo xtask sql-compare` does not understand `{}`", arguments.join(" ")),
            "write `--statements N` for their number, and `--seed S` for others",
        )
    };
    let (mut statements, mut seed) = (STATEMENTS, 1);
    for pair in arguments.chunks(2) {
        let [word, number] = pair else { return Err(wrong()) };
        let number = number.parse().map_err(|_| wrong())?;
        match word.as_str() {
            "--statements" => statements = number,
            "--seed" => seed = number,
            _ => return Err(wrong()),
        }
    }
    Ok((statements, seed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_follow_their_words() {
        let words = |line: &str| line.split_whitespace().map(String::from).collect::<Vec<_>>();
        assert_eq!(settings(&[]).unwrap(), (STATEMENTS, 1));
        assert_eq!(settings(&words("--seed 7 --statements 9")).unwrap(), (9, 7));
        for line in ["--seed", "--seed many", "9"] {
            assert!(settings(&words(line)).is_err(), "{line}");
        }
    }
}
