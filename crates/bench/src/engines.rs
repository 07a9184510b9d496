//! The list of engines that can be measured.

use crate::lane::{Engine, Failure};
use crate::{facade, raw};

/// The engines that are measured when none are named, in the order of the report's rows.
#[must_use]
pub fn all() -> Vec<&'static dyn Engine> {
    let engines = facade::ENGINES.iter().map(|engine| engine as &dyn Engine);
    let mut engines: Vec<_> = engines.chain([&facade::CACHED as &dyn Engine]).collect();
    if facade::program().is_some() {
        engines.extend(remote());
    }
    engines
}

/// Those behind a server. They are measured when none are named, where there is a program that
/// serves: `bobak` itself.
#[must_use]
pub fn remote() -> Vec<&'static dyn Engine> {
    facade::REMOTE.iter().map(|engine| engine as &dyn Engine).collect()
}

/// Engines that are measured only when named: the raw lanes themselves. Such a cell is held
/// against itself, and shows how far from 1 a ratio wanders by chance alone.
#[must_use]
pub fn raw() -> Vec<&'static dyn Engine> {
    raw::ENGINES.iter().map(|engine| engine as &dyn Engine).collect()
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
    fn a_wrong_name_is_told_the_right_ones() {
        let failure = parse("raw sqlite memory,nosuch").err().expect("there is no such engine");
        assert!(failure.to_string().starts_with("no engine is called `nosuch`; there are: "));
    }
}
