//! The shop of docs/peers.md on Bobak, Diesel and SeaORM, and its blog on Bobak, toasty and SeaORM, built and measured: lines,
//! compile time, statements and time of each use case. The programs are workspaces of their own in `examples/peers`, so nothing else compiles them.

mod build;
mod measure;
mod program;
mod report;

use crate::failure::{Failure, Outcome};
use bobak_servers::{Options, Postgres};
use build::{CompileTimes, Shop};
use std::collections::BTreeMap;

/// The rounds of each use case unless said otherwise.
const ROUNDS: u64 = 200;
/// How often the sample is stored, each time in a new database.
const FILLS: u64 = 9;

/// Compiles and runs the shops and the blogs, and prints the tables of docs/peers.md. `--rounds N` sets the rounds of each use
/// case; `--run` leaves out the compile times, which take minutes; `--shop` or `--blog` leaves out the others.
///
/// # Errors
/// When the arguments are others, a program does not compile, two have different results, or PostgreSQL does not start.
pub fn run(arguments: &[String]) -> Outcome {
    let settings = settings(arguments)?;
    if settings.shops {
        let shops = build::shops();
        let compiled = if settings.compile { compile_all(&shops)? } else { BTreeMap::new() };
        compare((&shops, &measure::SHOP_CASES), (FILLS, settings.rounds), &compiled)?;
    }
    if settings.blogs {
        let blogs = build::blogs();
        compare((&blogs, &measure::BLOG_CASES), (1, settings.rounds), &BTreeMap::new())?;
    }
    Ok(())
}

fn compile_all(shops: &[Shop]) -> Outcome<BTreeMap<&'static str, CompileTimes>> {
    let mut compiled = BTreeMap::new();
    for shop in shops {
        let times = build::compile_times(shop)?;
        println!("{}: {:.1} CPU seconds, then {:.1}", shop.name, times.first, times.next);
        compiled.insert(shop.name, times);
    }
    Ok(compiled)
}

/// Runs programs of the same use cases, and prints their tables.
fn compare(
    programs: (&[Shop], &[&'static str]),
    rounds: (u64, u64),
    compiled: &BTreeMap<&'static str, CompileTimes>,
) -> Outcome {
    let shops = programs.0;
    shops.iter().try_for_each(build::release)?;
    // It would analyze the tables of one program before those of another.
    let options = Options::new().durable().setting("autovacuum", "off");
    let server = Postgres::start_with(&options).map_err(not_started)?;
    let sqlite = measure::times(programs, &measure::DatabaseKind::Files, rounds)?;
    let postgres = measure::times(programs, &measure::DatabaseKind::Server(&server), rounds)?;
    let logging = Options::new().setting("log_statement", "all");
    let server = Postgres::start_with(&logging).map_err(not_started)?;
    let statements = measure::statements(programs, &server)?;
    report::sources(shops, compiled);
    report::use_cases("statements on PostgreSQL", shops, &statements);
    report::use_cases("microseconds on SQLite", shops, &sqlite);
    report::use_cases("microseconds on PostgreSQL", shops, &postgres);
    Ok(())
}

fn not_started(error: bobak_servers::Error) -> Failure {
    Failure::new(error.to_string(), "install PostgreSQL: `cargo xtask test` does that on Debian")
}

/// What to run.
#[derive(Debug, PartialEq)]
struct PeerSettings {
    rounds: u64,
    compile: bool,
    shops: bool,
    blogs: bool,
}

fn settings(arguments: &[String]) -> Outcome<PeerSettings> {
    let wrong = || {
        Failure::new(
            format!("`cargo xtask peers` does not understand `{}`", arguments.join(" ")),
            "write `--rounds N` for the rounds of each use case, `--run` to leave out compile times, and `--shop` or \
             `--blog` for one of the comparisons",
        )
    };
    let mut settings = PeerSettings { rounds: ROUNDS, compile: true, shops: true, blogs: true };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--run" => settings.compile = false,
            "--shop" => settings.blogs = false,
            "--blog" => settings.shops = false,
            "--rounds" => {
                let number = words.next().and_then(|number| number.parse().ok());
                settings.rounds = number.filter(|rounds| *rounds > 0).ok_or_else(wrong)?;
            }
            _ => return Err(wrong()),
        }
    }
    if settings.shops || settings.blogs { Ok(settings) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_checked() {
        let words = |line: &str| line.split_whitespace().map(String::from).collect::<Vec<_>>();
        let all = PeerSettings { rounds: ROUNDS, compile: true, shops: true, blogs: true };
        assert_eq!(settings(&[]).unwrap(), all);
        let some = PeerSettings { rounds: 7, compile: false, shops: false, blogs: true };
        assert_eq!(settings(&words("--rounds 7 --run --blog")).unwrap(), some);
        for line in ["--rounds", "--rounds 0", "--rounds many", "run", "--shop --blog"] {
            assert!(settings(&words(line)).is_err(), "{line}");
        }
    }
}
