//! The layers of the code: modules without large cycles, and crates that depend in one direction.
//!
//! Two graphs of each crate are checked, and in neither may more than [`LIMIT`] modules form a cycle (a strongly
//! connected component: each of them reaches each other):
//!
//! - every module by itself. A name counts for the module that defines it, through re-exports and glob imports.
//! - the top of the crate: each folder of modules is one node, with everything below it. It shows folders that
//!   depend on each other through different modules.
//!
//! Not counted: code in tests, the edge from a parent to a child that `mod child;` is, and the re-export of a child's
//! names (`pub use child::Name`), since that is what makes a folder look like one module. The root of a crate
//! (`lib.rs`) is a node only of the first graph.

mod graph;
mod order;

use std::collections::BTreeSet;

use crate::failure::{Failure, Outcome};
use crate::rust::members::{self, Member};
use crate::rust::modules::{self, Edge, Modules};
use crate::tree::Tree;

/// How many modules may form a cycle.
const LIMIT: usize = 3;

/// Larger cycles that exist for now: the folder of a crate, and the sizes in the two graphs. Entries only shrink.
const ALLOWED: &[(&str, usize, usize)] = &[("crates/core", 4, 3), ("crates/tools/bench", 9, 3)];

/// The largest cycles of one crate.
struct Cycles {
    folder: String,
    modules: Vec<String>,
    folders: Vec<String>,
}

/// Checks all crates, and shows only what is wrong.
pub fn check(tree: &Tree) -> Outcome {
    run(tree, &[])
}

/// Checks all crates; with `--all` among the arguments it shows the largest cycles of each, and with a word the
/// dependencies inside the cycles of those crates whose folder contains it.
///
/// # Errors
/// If a cycle is too large, or a crate depends on one below it.
pub fn run(tree: &Tree, arguments: &[String]) -> Outcome {
    let members = members::read(tree)?;
    let mut problems = order::wrong_directions(&members);
    for member in &members {
        for root in modules::roots(tree, &member.folder) {
            let modules = Modules::read(tree, &root)?;
            let edges = modules.edges();
            let named =
                arguments.iter().any(|word| !word.starts_with('-') && member.folder.contains(word));
            let cycles = measure(member, &modules, &edges);
            if arguments.iter().any(|word| word == "--all") {
                println!(
                    "{:<28} largest cycle: {:>2} of {:>3} modules, {:>2} of its top folders and modules",
                    root.trim_start_matches("crates/"),
                    cycles.modules.len(),
                    modules.all().len(),
                    cycles.folders.len()
                );
            }
            if named {
                explain(&modules, &edges, &cycles);
            }
            problems.extend(judge(&cycles));
        }
    }
    for problem in &problems {
        println!("{problem}");
    }
    if problems.is_empty() {
        return Ok(());
    }
    Err(Failure::new(
        format!("dependencies that break the layers: {}", problems.len()),
        "move what both sides need into a module of its own, below them; `cargo xtask layers NAME` shows which imports \
         make the cycles of a crate",
    ))
}

fn measure(member: &Member, modules: &Modules, edges: &[Edge]) -> Cycles {
    let count = modules.all().len();
    let pairs = edges.iter().map(|edge| (edge.from, edge.to)).collect();
    let largest = graph::cycles(count, &pairs).into_iter().next().unwrap_or_default();
    let name = |number: &usize| match modules.all()[*number].path.join("::") {
        path if path.is_empty() => "crate".to_owned(),
        path => path,
    };
    let (tops, pairs) = top_graph(modules, edges);
    let largest_top = graph::cycles(tops.len(), &pairs).into_iter().next().unwrap_or_default();
    Cycles {
        folder: member.folder.clone(),
        modules: largest.iter().map(name).collect(),
        folders: largest_top.iter().map(|number| tops[*number].clone()).collect(),
    }
}

/// The graph of the modules and folders directly below the root.
fn top_graph(modules: &Modules, edges: &[Edge]) -> (Vec<String>, BTreeSet<(usize, usize)>) {
    let top = |number: usize| modules.all()[number].path.first().cloned();
    let names: BTreeSet<String> = (0..modules.all().len()).filter_map(top).collect();
    let names: Vec<String> = names.into_iter().collect();
    let position = |number: usize| names.iter().position(|name| Some(name) == top(number).as_ref());
    let pairs = edges.iter().filter_map(|edge| Some((position(edge.from)?, position(edge.to)?)));
    let pairs = pairs.filter(|(from, to)| from != to).collect();
    (names, pairs)
}

/// One line for each cycle that is larger than allowed; says also which allowances are larger than needed.
fn judge(cycles: &Cycles) -> Vec<String> {
    let allowance = ALLOWED.iter().find(|(folder, ..)| *folder == cycles.folder);
    let (_, modules, folders) = allowance.copied().unwrap_or(("", LIMIT, LIMIT));
    let mut problems = Vec::new();
    for (what, found, allowed) in [
        ("modules", &cycles.modules, modules),
        ("top folders and modules", &cycles.folders, folders),
    ] {
        let folder = &cycles.folder;
        if found.len() > allowed {
            problems.push(format!(
                "{folder}: a cycle of {} {what}, at most {allowed} may be: {}",
                found.len(),
                found.join(", ")
            ));
        } else if found.len().max(LIMIT) < allowed {
            println!(
                "note: {folder}: {allowed} {what} in a cycle are allowed, and the largest has {}: lower ALLOWED in \
                 crates/tools/xtask/src/layers/mod.rs",
                found.len()
            );
        }
    }
    problems
}

/// Prints the dependencies inside the largest cycles of a crate.
fn explain(modules: &Modules, edges: &[Edge], cycles: &Cycles) {
    let path = |number: usize| modules.all()[number].path.clone();
    println!("\n{}: dependencies inside the largest cycle of modules", cycles.folder);
    let name = |number: usize| match path(number).join("::") {
        path if path.is_empty() => "crate".to_owned(),
        path => path,
    };
    print_edges(edges, &cycles.modules, |number| Some(name(number)));
    println!("\n{}: dependencies inside the largest cycle of top folders", cycles.folder);
    print_edges(edges, &cycles.folders, |number| path(number).first().cloned());
}

fn print_edges(edges: &[Edge], cycle: &[String], name: impl Fn(usize) -> Option<String>) {
    let mut lines: std::collections::BTreeMap<(String, String), BTreeSet<&str>> =
        Default::default();
    for edge in edges {
        let (Some(from), Some(to)) = (name(edge.from), name(edge.to)) else { continue };
        if from != to && cycle.contains(&from) && cycle.contains(&to) {
            lines.entry((from, to)).or_default().insert(&edge.name);
        }
    }
    for ((from, to), names) in lines {
        println!("  {from} -> {to}: {}", names.into_iter().collect::<Vec<_>>().join(", "));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::fixture;

    fn cycles(files: &[(&str, &str)]) -> Cycles {
        let (_folder, tree) = fixture::tree(files);
        let modules = Modules::read(&tree, "src/lib.rs").unwrap();
        let member = Member {
            folder: "x".into(),
            package: String::new(),
            dependencies: Vec::new(),
            features: Vec::new(),
            published: true,
        };
        measure(&member, &modules, &modules.edges())
    }

    #[test]
    fn folders_can_form_a_cycle_where_their_modules_form_none() {
        let cycles = cycles(&[
            ("src/lib.rs", "mod a; mod b;"),
            ("src/a/mod.rs", "pub mod one; pub mod two;"),
            ("src/a/one.rs", "use crate::b::f;"),
            ("src/a/two.rs", "pub fn g() {}"),
            ("src/b.rs", "use crate::a::two::g; pub fn f() {}"),
        ]);
        assert!(cycles.modules.is_empty());
        assert_eq!(cycles.folders, ["a", "b"]);
    }

    #[test]
    fn more_than_three_modules_in_a_cycle_are_a_problem() {
        let files = [
            ("src/lib.rs", "mod a; mod b; mod c; mod d;"),
            ("src/a.rs", "use crate::b::B; pub struct A;"),
            ("src/b.rs", "use crate::c::C; pub struct B;"),
            ("src/c.rs", "use crate::{A, d::D}; pub struct C; use crate::a::A as _;"),
            ("src/d.rs", "pub struct D;"),
        ];
        assert!(judge(&cycles(&files)).is_empty());
        let mut files = files;
        files[4].1 = "use crate::a::A; pub struct D;";
        let problems = judge(&cycles(&files));
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert!(problems[0].contains("a, b, c, d"), "{problems:?}");
    }
}
