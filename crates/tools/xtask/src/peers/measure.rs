//! Runs the programs alternately, each with a database of its own, and compares their results.

use super::build::Shop;
use super::not_started;
use super::program::Program;
use crate::failure::{Failure, Outcome};
use bobak_servers::Postgres;
use std::collections::BTreeMap;
use std::fs;

/// The use cases of the shops in the order of tables, without `fill`, which comes first.
pub(super) const SHOP_CASES: [&str; 10] = [
    "place order",
    "orders of a city",
    "product page",
    "catalogue",
    "best customers",
    "review",
    "wrong review",
    "retag",
    "raise prices",
    "cancel and restore",
];

/// Those of the blogs.
pub(super) const BLOG_CASES: [&str; 2] = ["latest articles", "articles with a tag"];

/// The first words of statements that begin or end transactions and their parts.
const CONTROL: [&str; 6] = ["BEGIN", "COMMIT", "RELEASE", "ROLLBACK", "SAVEPOINT", "START"];

/// A figure of each use case for each shop, in their order.
pub(super) type Figures = Vec<(&'static str, Vec<u64>)>;

/// Which databases the shops have.
pub(super) enum DatabaseKind<'a> {
    Files,
    Server(&'a Postgres),
}

/// The median of the microseconds that each use case takes.
pub(super) fn times(
    (shops, cases): (&[Shop], &[&'static str]),
    place: &DatabaseKind<'_>,
    (fills, rounds): (u64, u64),
) -> Outcome<Figures> {
    let mut samples: BTreeMap<&str, Vec<Vec<u64>>> = BTreeMap::new();
    let mut add = |case: &'static str, micros: Vec<u64>| {
        let of_case = samples.entry(case).or_insert_with(|| vec![Vec::new(); shops.len()]);
        of_case.iter_mut().zip(micros).for_each(|(of_shop, micros)| of_shop.push(micros));
    };
    for run in 0..fills {
        let mut programs = open(shops, place)?;
        add("fill", round(shops, &mut programs, "fill", run)?);
        // Beyond the first run, only what is stored counts.
        for number in 0..if run == 0 { rounds } else { 0 } {
            for case in cases {
                add(case, round(shops, &mut programs, case, number)?);
            }
        }
    }
    let mut median = |case: &&'static str| {
        let of_case = samples.remove(case).unwrap_or_default();
        (*case, of_case.into_iter().map(self::median).collect())
    };
    Ok(["fill"].iter().chain(cases).map(&mut median).collect())
}

/// The statements that the server's log has for each use case, in the second round, when each shop knows its statements.
pub(super) fn statements(
    (shops, cases): (&[Shop], &[&'static str]),
    server: &Postgres,
) -> Outcome<Figures> {
    let mut figures: Vec<(&'static str, Vec<u64>)> =
        cases.iter().map(|case| (*case, Vec::new())).collect();
    for mut program in open(shops, &DatabaseKind::Server(server))? {
        program.run("fill", 0)?;
        for (case, counts) in &mut figures {
            program.run(case, 0)?;
            let before = logged(server);
            program.run(case, 1)?;
            counts.push(logged(server) - before);
        }
    }
    Ok(figures)
}

/// The statements in the log that read or write. A transaction's own statements travel with others.
fn logged(server: &Postgres) -> u64 {
    let log = server.log();
    let statements = log.lines().filter_map(|line| {
        let (_, rest) = line.split_once("LOG:  ")?;
        let is_statement = rest.starts_with("statement: ") || rest.starts_with("execute ");
        rest.split_once(": ").filter(|_| is_statement).map(|(_, sql)| sql)
    });
    let is_work = |sql: &&str| !CONTROL.contains(&sql.split([' ', ';']).next().unwrap_or_default());
    statements.filter(is_work).count() as u64
}

/// Each shop with a new, empty database.
fn open(shops: &[Shop], place: &DatabaseKind<'_>) -> Outcome<Vec<Program>> {
    let start = |shop: &Shop| match place {
        DatabaseKind::Files => {
            let path = shop.program(false).with_extension("db");
            for suffix in ["", "-wal", "-shm"] {
                let mut file = path.clone().into_os_string();
                file.push(suffix);
                let _ = fs::remove_file(file);
            }
            Program::start(&shop.program(false), &format!("sqlite:{}", path.display()))
        }
        DatabaseKind::Server(server) => {
            let name = shop.package.replace('-', "_");
            server.run(&format!("DROP DATABASE IF EXISTS {name}")).map_err(not_started)?;
            server.run(&format!("CREATE DATABASE {name}")).map_err(not_started)?;
            let url = server.url();
            let url = url.strip_suffix("bobak").unwrap_or(&url);
            Program::start(&shop.program(true), &format!("{url}{name}"))
        }
    };
    shops.iter().map(start).collect()
}

/// Runs a use case in all shops, and returns their microseconds. Each shop is the first in its turn.
fn round(shops: &[Shop], programs: &mut [Program], case: &str, number: u64) -> Outcome<Vec<u64>> {
    let count = programs.len();
    let mut results = vec![(0, String::new()); count];
    for place in 0..count {
        let at = (place + number as usize) % count;
        if let (Some(program), Some(result)) = (programs.get_mut(at), results.get_mut(at)) {
            *result = program.run(case, number)?;
        }
    }
    let first = results.first().map(|(_, result)| result.clone()).unwrap_or_default();
    for (shop, (_, result)) in shops.iter().zip(&results) {
        if *result != first {
            let what =
                format!("{case}, round {number}: {} has {result}, and Bobak {first}", shop.name);
            return Err(Failure::new(what, "make the shops do the same"));
        }
    }
    Ok(results.into_iter().map(|(micros, _)| micros).collect())
}

fn median(mut samples: Vec<u64>) -> u64 {
    samples.sort_unstable();
    samples.get(samples.len() / 2).copied().unwrap_or(0)
}
