//! The list of engines that can be measured.

use crate::contender::{Engine, Failure};
use crate::server::{MARIADB, POSTGRES, ServerKind};
use crate::{documents, facade, join, orders, raw, typed};
use std::path::Path;

/// The engines that need nothing but this process, in the order of the report's rows.
#[must_use]
pub fn all() -> Vec<&'static dyn Engine> {
    let engines = facade::ENGINES.iter().map(|engine| engine as &dyn Engine);
    let mut engines: Vec<_> =
        engines.chain([&facade::SLOW as &dyn Engine, &facade::CACHED]).collect();
    engines.extend(facade::MONITORED.iter().map(|engine| engine as &dyn Engine));
    engines.extend(facade::ASYNC.iter().map(|engine| engine as &dyn Engine));
    if join::is_there() {
        engines.extend(joins(false));
    }
    engines.extend(with_orders(false));
    engines.push(&documents::SQLITE);
    engines.extend(typed::ENGINES.iter().map(|engine| engine as &dyn Engine));
    #[cfg(feature = "encryption")]
    engines.extend(facade::ENCRYPTED.iter().map(|engine| engine as &dyn Engine));
    #[cfg(feature = "sqlcipher")]
    engines.extend(facade::SQLCIPHER.iter().map(|engine| engine as &dyn Engine));
    if facade::program().is_some() {
        engines.extend(remote());
    }
    engines
}

/// Those that join tables of several engines, without or with one on PostgreSQL.
fn joins(server: bool) -> impl Iterator<Item = &'static dyn Engine> {
    let wanted = move |engine: &&join::JoinEngine| engine.needs_server() == server;
    join::ENGINES.iter().filter(wanted).map(|engine| engine as &dyn Engine)
}

/// Those that load orders, from a file or from PostgreSQL.
fn with_orders(server: bool) -> impl Iterator<Item = &'static dyn Engine> {
    let wanted = move |engine: &&orders::OrdersEngine| engine.needs_server() == server;
    orders::ENGINES.iter().filter(wanted).map(|engine| engine as &dyn Engine)
}

/// Has the flights that are joined read from this folder, with `airlines.csv`, `planes.csv` and
/// `flights.csv` (or `flights.csv.zip`), instead of the day that the worked example ships.
pub fn give_flights(folder: &Path) {
    join::set_folder(folder);
}

/// The engines behind a server. They are measured without being named if there is a program that serves: `bobak` itself.
#[must_use]
pub fn remote() -> Vec<&'static dyn Engine> {
    let engines = facade::REMOTE.iter().map(|engine| engine as &dyn Engine);
    engines.chain([&facade::HTTP as &dyn Engine]).collect()
}

/// The engines that need a database server: those whose server was [given](give) or is installed,
/// so that a private one can be started. It runs until its last cell is measured.
#[must_use]
pub fn servers() -> Vec<&'static dyn Engine> {
    let there = facade::SERVERS.iter().filter(|engine| engine.kind().is_there());
    let mut engines: Vec<_> = there.map(|engine| engine as &dyn Engine).collect();
    if join::is_there() && ServerKind::Postgres.is_there() {
        engines.extend(joins(true));
    }
    if ServerKind::Postgres.is_there() {
        engines.extend(with_orders(true));
    }
    engines
}

/// Makes the engine with this name, `postgres`, `mariadb` or `firebird`, and its raw contender use the server at a URL instead of a
/// private one. Each contender gets a database of its own there, and removes it.
///
/// # Errors
/// If the name is none of these.
pub fn give(name: &str, url: &str) -> Result<(), Failure> {
    let engine = facade::SERVERS.iter().find(|engine| engine.name() == name);
    let engine = engine.ok_or_else(|| Failure::new(format!("{name} needs no server")))?;
    engine.kind().give(url);
    Ok(())
}

/// Engines that are measured only by name: the raw contenders. Such a cell is compared with itself, and shows how far from
/// 1 a ratio is by chance alone.
#[must_use]
pub fn raw() -> Vec<&'static dyn Engine> {
    let others: [&'static dyn Engine; 5] =
        [&POSTGRES, &MARIADB, &raw::KEY_VALUE, &join::RAW, &facade::IN_PROCESS];
    let all = raw::ENGINES.iter().map(|engine| engine as &dyn Engine).chain(others);
    #[cfg(feature = "firebird")]
    let all = all.chain([&crate::server::FIREBIRD as &dyn Engine]);
    let by_hand: [&'static dyn Engine; 3] =
        [&documents::RAW_SQLITE, &typed::RAW_SQLITE, &typed::RUSQLITE];
    all.chain(orders::RAW_ENGINES).chain(by_hand).collect()
}

/// Reads a comma-separated list of names.
///
/// # Errors
/// The first name that is no engine's, with those that are.
pub fn parse(names: &str) -> Result<Vec<&'static dyn Engine>, Failure> {
    names.split(',').map(|name| find(name.trim())).collect()
}

fn find(name: &str) -> Result<&'static dyn Engine, Failure> {
    let mut known = all();
    if facade::program().is_none() {
        known.extend(remote());
    }
    if !join::is_there() {
        known.extend(joins(false));
    }
    known.extend(facade::SERVERS.iter().map(|engine| engine as &dyn Engine));
    known.extend(joins(true).chain(with_orders(true)));
    known.extend(raw());
    let found = known.iter().find(|engine| engine.name().eq_ignore_ascii_case(name));
    found.copied().ok_or_else(|| {
        let names: Vec<_> = known.iter().map(|engine| engine.name()).collect();
        Failure::new(format!("no engine is called `{name}`; there are: {}", names.join(", ")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_engine_is_found_by_its_name() {
        for engine in all().into_iter().chain(raw()) {
            assert_eq!(find(engine.name()).expect("it is in the list").name(), engine.name());
        }
    }

    #[test]
    fn the_error_for_an_unknown_name_lists_the_valid_ones() {
        let failure = parse("raw sqlite memory,nosuch").err().expect("there is no such engine");
        assert!(failure.to_string().starts_with("no engine is called `nosuch`; there are: "));
    }
}
