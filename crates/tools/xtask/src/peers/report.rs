//! The tables of docs/peers.md.

use super::build::{CompileTimes, Shop};
use super::measure::Figures;
use std::collections::BTreeMap;

/// Lines, and compile times if they were measured.
pub(super) fn sources(shops: &[Shop], compiled: &BTreeMap<&str, CompileTimes>) {
    head("", shops);
    row("lines of code", shops.iter().map(|shop| shop.lines().to_string()));
    if !compiled.is_empty() {
        let of = |figure: fn(&CompileTimes) -> f64| {
            shops
                .iter()
                .filter_map(move |shop| compiled.get(shop.name))
                .map(move |times| format!("{:.1}", figure(times)))
        };
        row("first build, CPU seconds", of(|times| times.first));
        row("build after a change, CPU seconds", of(|times| times.next));
    }
}

/// A figure of each use case.
pub(super) fn use_cases(title: &str, shops: &[Shop], figures: &Figures) {
    head(title, shops);
    for (case, of_shops) in figures {
        row(case, of_shops.iter().map(u64::to_string));
    }
}

fn head(title: &str, shops: &[Shop]) {
    println!();
    row(title, shops.iter().map(|shop| shop.name.to_owned()));
    row("---", shops.iter().map(|_| "---:".to_owned()));
}

fn row(label: &str, cells: impl Iterator<Item = String>) {
    println!("| {label} | {} |", cells.collect::<Vec<_>>().join(" | "));
}
