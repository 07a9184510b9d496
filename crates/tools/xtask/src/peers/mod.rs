//! The shop of docs/peers.md on Bobak, Diesel and SeaORM, built and measured: lines, compile time, statements and time of
//! each use case. Its programs are workspaces of their own in `examples/peers`, so nothing else compiles them.

mod build;
mod measure;
mod program;
mod report;

use crate::failure::{Failure, Outcome};
use bobak_servers::{Options, Postgres};
use std::collections::BTreeMap;

/// The rounds of each use case unless said otherwise.
const ROUNDS: u64 = 200;
/// How often the sample is stored, each time in a new database.
const FILLS: u64 = 9;

/// Compiles and runs the shops, and prints the tables of docs/peers.md. `--rounds N` sets the rounds of each use case;
/// `--run` leaves out the compile times, which take minutes.
///
/// # Errors
/// When the arguments are others, a shop does not compile, two shops have different results, or PostgreSQL does not start.
pub fn run(arguments: &[String]) -> Outcome {
    let (rounds, compile) = settings(arguments)?;
    let shops = build::shops();
    let mut compiled = BTreeMap::new();
    for shop in &shops {
        if compile {
            let times = build::compile_times(shop)?;
            println!("{}: {:.1} CPU seconds, then {:.1}", shop.name, times.first, times.next);
            compiled.insert(shop.name, times);
        }
        build::release(shop)?;
    }
    let server = Postgres::start_with(&Options::new().durable()).map_err(not_started)?;
    let sqlite = measure::times(&shops, &measure::DatabaseKind::Files, rounds)?;
    let postgres = measure::times(&shops, &measure::DatabaseKind::Server(&server), rounds)?;
    let logging = Options::new().setting("log_statement", "all");
    let server = Postgres::start_with(&logging).map_err(not_started)?;
    let statements = measure::statements(&shops, &server)?;
    report::sources(&shops, &compiled);
    report::use_cases("statements on PostgreSQL", &shops, &statements);
    report::use_cases("microseconds on SQLite", &shops, &sqlite);
    report::use_cases("microseconds on PostgreSQL", &shops, &postgres);
    Ok(())
}

fn not_started(error: bobak_servers::Error) -> Failure {
    Failure::new(error.to_string(), "install PostgreSQL: `cargo xtask test` does that on Debian")
}

/// The rounds, and whether to measure compile times.
fn settings(arguments: &[String]) -> Outcome<(u64, bool)> {
    let wrong = || {
        Failure::new(
            format!("`cargo xtask peers` does not understand `{}`", arguments.join(" ")),
            "write `--rounds N` for the rounds of each use case, and `--run` to leave out compile times",
        )
    };
    let (mut rounds, mut compile) = (ROUNDS, true);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--run" => compile = false,
            "--rounds" => {
                let number = words.next().and_then(|number| number.parse().ok());
                rounds = number.filter(|rounds| *rounds > 0).ok_or_else(wrong)?;
            }
            _ => return Err(wrong()),
        }
    }
    Ok((rounds, compile))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_checked() {
        let words = |line: &str| line.split_whitespace().map(String::from).collect::<Vec<_>>();
        assert_eq!(settings(&[]).unwrap(), (ROUNDS, true));
        assert_eq!(settings(&words("--rounds 7 --run")).unwrap(), (7, false));
        for line in ["--rounds", "--rounds 0", "--rounds many", "run"] {
            assert!(settings(&words(line)).is_err(), "{line}");
        }
    }
}
