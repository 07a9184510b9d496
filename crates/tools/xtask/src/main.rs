//! `cargo xtask`: everything that CI runs, one command each.
//!
//! ```text
//! main      which command, and what it prints
//! step      the list of checks; each is announced, timed and reported
//! lints     format, clippy, docs: the steps that are cargo's own work
//! crates    how many crates a first build takes, against its limit and the README
//! features  each crate without features; `each-feature`: with each alone
//! msrv      the oldest Rust that the crates compile with
//! api       snapshots of the public API
//! package   the packages of all published crates
//! book      the book, built by mdBook
//! settings  the tables of settings in Markdown
//! tsql      the statements for SQL Server, parsed
//! oracle    those for Oracle
//! links     dead links and paths in Markdown
//! layers    cycles of modules, and dependencies between crates that point down
//! lengths   files and functions that are too long
//! words     words that are not standard terms, and names with several meanings
//! rust      the sources of the crates, as tokens
//! test      all tests, and their number
//! test_binaries  the test binaries of the workspace, run by themselves
//! test_jobs  tests that run at the same time
//! cargo_test  `cargo test`, with its results counted
//! tally     the number of passed and failed tests
//! crash     crash tests over many seeds
//! sql_compare  random SQL on every engine and route
//! fuzz      the fuzz targets, each for a bounded time
//! peers     the shop on Bobak, Diesel and SeaORM, and the blog on Bobak, toasty and SeaORM, measured
//! permissions_fuzz  random requests of a restricted client to two databases
//! server_versions  the tests of PostgreSQL's engine on versions 17 and 18, and of Firebird's on version 5
//! fixtures  files of this version, for later ones to open
//! servers   the database servers that tests run against
//! firebird_watch  the private Firebird server, which may end by its own fault
//! mcp       the tools for language models, with the library of their protocol
//! studio    the studio in a real Chromium: its tests, and pictures of its pages
//! clients   the lints and the tests of the clients in other languages
//! encryption  the tests of files in SQLCipher's format, with SQLCipher in SQLite's place
//! packages  Debian's packages, installed where something is missing
//! tree      the files of the repository
//! cargo     cargo as a child process
//! failure   what went wrong, and what to do about it
//! ```
//!
//! The command line is one word, and what follows `test` belongs to cargo unread: a `match` says that in fewer lines
//! than any argument library would need, and this crate is built before everything else.

mod api;
mod book;
mod cargo;
mod cargo_test;
mod clients;
mod crash;
mod crates;
mod encryption;
mod failure;
mod features;
mod firebird_watch;
mod fixtures;
mod fuzz;
mod jars;
mod layers;
mod lengths;
mod links;
mod lints;
mod mcp;
mod msrv;
mod package;
mod packages;
mod peers;
mod permissions_fuzz;
mod rust;
mod server_versions;
mod servers;
mod settings;
mod sql_compare;
mod step;
mod studio;
mod tally;
mod test;
mod test_binaries;
mod test_jobs;
mod tree;
mod tsql;
mod words;

use std::process::ExitCode;

use failure::{Failure, Outcome};
use step::STEPS;
use tree::Tree;

/// The commands that take more words; a stray one elsewhere is a mistake worth naming.
const TAKES_MORE: [&str; 10] = [
    "test",
    "peers",
    "crash",
    "fuzz",
    "permissions-fuzz",
    "layers",
    "words",
    "api",
    "settings",
    "sql-compare",
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("\n{failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Outcome {
    let Some((command, rest)) = arguments.split_first() else {
        print!("{}", help());
        return Ok(());
    };
    let takes_more =
        TAKES_MORE.contains(&command.as_str()) || command == "check" && rest == [test::NO_CLIENTS];
    if !takes_more && !rest.is_empty() {
        return Err(Failure::new(
            format!("`cargo xtask {command}` takes no arguments, but got `{}`", rest.join(" ")),
            "leave them out; `cargo xtask help` says who takes some",
        ));
    }
    match command.as_str() {
        "help" | "-h" | "--help" => {
            print!("{}", help());
            Ok(())
        }
        "test" => test::run(rest),
        "sql-compare" => sql_compare::run(rest),
        "crash" => crash::run(rest),
        "fuzz" => fuzz::run(rest),
        "permissions-fuzz" => permissions_fuzz::run(rest),
        "postgres-versions" => server_versions::run_postgres(),
        "firebird-5" => server_versions::run_firebird(),
        "compile-packages" => package::run_compiled(&Tree::of_workspace()?),
        "each-feature" => features::run_each(&Tree::of_workspace()?),
        "peers" => peers::run(rest),
        "fixtures" => fixtures::run(),
        "api" => api::run(&Tree::of_workspace()?, rest),
        "settings" => settings::run(&Tree::of_workspace()?, rest),
        "words" => words::run(&Tree::of_workspace()?, rest),
        "layers" => layers::run(&Tree::of_workspace()?, rest),
        "clients" => {
            cargo::build_programs()?;
            clients::test(&mut tally::Tally::default())
        }
        "mcp" => mcp::run(),
        "studio" => studio::run(),
        "screenshots" => studio::screenshots(),
        "check" if !rest.is_empty() => step::run_without_clients(&Tree::of_workspace()?),
        "check" => step::run_all(&Tree::of_workspace()?),
        "ci" => {
            step::run_all(&Tree::of_workspace()?)?;
            step::announce("test", "all tests of the workspace");
            test::run(&[])
        }
        name => match STEPS.iter().find(|step| step.name == name) {
            Some(step) => step::run_all_of([step], &Tree::of_workspace()?),
            None => Err(Failure::new(
                format!("`{name}` is no command of xtask"),
                "`cargo xtask help` lists the commands",
            )),
        },
    }
}

fn help() -> String {
    let mut text = String::from(
        "usage: cargo xtask COMMAND\n\n  \
         ci         every check below, then all tests: what CI runs\n  \
         test       all tests of the workspace, with private PostgreSQL and MariaDB servers, or none with\n             \
         `--no-servers`, of encryption, unless `--no-encryption`, and of the clients, unless\n             \
         `--no-clients`; further arguments go to `cargo test`, and leave these two out\n  \
         clients    the tests of the clients in other languages alone\n  \
         mcp        the tests of the tools for language models, with Python\n  \
         studio     the tests of the studio in Chromium alone\n  \
         screenshots  a picture of each page of the studio, in target/screenshots\n  \
         check      every check below, without the tests, and with `--no-clients` without other languages\n  \
         crash      the crash tests over 2,000 seeds each, or `--seeds N`, or the one of `--seed N`\n  \
         sql-compare  100,000 random SQL statements on every engine and route, in an optimized build, or `--statements N`; `--seed S`\n  \
         fuzz       the fuzz targets, all or those that are named, for 20 seconds each or `--seconds N`;\n             \
         `--list` shows them\n  \
         permissions-fuzz  random requests of a restricted client to two databases that differ in what it may not see:\n             \
         100,000 or `--requests N` for each listener, from the seed 0 or `--seed S` on\n  \
         peers      the shop and the blog of docs/peers.md on Bobak, Diesel, SeaORM and toasty, compiled and measured;\n             \
         `--rounds N`; `--run` leaves out compile times; `--shop` or `--blog` runs one of them\n  \
         layers     the check below; with `--all` the largest cycle of each crate, with a part of a crate's folder\n             \
         what makes its cycles\n  \
         api        the check below; with `--update` it writes the snapshots\n  \
         settings   the check below; with `--update` it writes the tables\n  \
         words      the check below; with `--counts` the findings of each crate, with a path all findings there\n  \
         postgres-versions  the tests of PostgreSQL's engine on versions 17 and 18\n  \
         firebird-5          the tests of Firebird's engine on version 5\n  \
         each-feature  each published crate compiles with each of its features alone\n  \
         compile-packages  the check `package` below, and the packages compile, from their files alone\n  \
         fixtures   makes the files of this version that later ones must open\n\n",
    );
    for step in STEPS {
        text += &format!("  {:<10} {}\n", step.name, step.about);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(String::from).collect()
    }

    #[test]
    fn help_names_every_step() {
        for step in STEPS {
            assert!(help().contains(step.name), "{} is missing", step.name);
        }
    }

    #[test]
    fn an_unknown_command_says_where_to_look() {
        let failure = run(&words("tset")).unwrap_err().to_string();
        assert!(failure.contains("`tset`") && failure.contains("cargo xtask help"), "{failure}");
    }

    #[test]
    fn a_check_rejects_arguments() {
        let failure = run(&words("links --fast")).unwrap_err().to_string();
        assert!(failure.contains("--fast"), "{failure}");
    }
}
