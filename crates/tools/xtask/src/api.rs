//! Snapshots of the public API, one file for each published library, under `api/`.
//!
//! A change of the API shows in the difference of a snapshot, so that nobody makes one unseen. The snapshots are made
//! from the sources alone: every public item that is reachable from the root of the crate by `pub mod` and `pub use`, on
//! one line, under the path that programs use. Items that macros generate are not in them, nor are derived traits.

use std::collections::BTreeSet;
use std::fs;

use crate::cargo;
use crate::failure::{Failure, Outcome};
use crate::rust::members::{self, Member};
use crate::rust::modules::{Modules, Target};
use crate::rust::source::Visibility;
use crate::tree::Tree;

/// Where the snapshots are.
const FOLDER: &str = "api";

/// Compares the public API with the snapshots.
pub fn check(tree: &Tree) -> Outcome {
    run(tree, &[])
}

/// Compares the public API with the snapshots, or writes them if the arguments are `--update`.
///
/// # Errors
/// If a snapshot differs.
pub fn run(tree: &Tree, arguments: &[String]) -> Outcome {
    let update = arguments.iter().any(|word| word == "--update");
    let mut differing = Vec::new();
    let members = members::read(tree)?;
    for member in members.iter().filter(|member| is_library(tree, member)) {
        let modules = Modules::read(tree, &format!("{}/src/lib.rs", member.folder))?;
        let now = lines(&modules);
        let file = format!("{FOLDER}/{}.txt", member.package);
        if update {
            write(&file, &now)?;
            continue;
        }
        let before = if tree.has_file(&file) { tree.read(&file)? } else { String::new() };
        let before: BTreeSet<String> = before.lines().map(str::to_owned).collect();
        before.difference(&now).for_each(|line| println!("{file}: - {line}"));
        now.difference(&before).for_each(|line| println!("{file}: + {line}"));
        if before != now {
            differing.push(member.package.clone());
        }
    }
    if differing.is_empty() {
        return Ok(());
    }
    Err(Failure::new(
        format!("the public API of {} is not that of its snapshot", differing.join(", ")),
        "if the change is meant, run `cargo xtask api --update` and commit the snapshots with it",
    ))
}

/// Whether programs can depend on a member: published, and not the library of a program.
fn is_library(tree: &Tree, member: &Member) -> bool {
    let has = |file: &str| tree.has_file(&format!("{}/src/{file}", member.folder));
    member.published && has("lib.rs") && !has("main.rs") && !member.folder.ends_with("/bench")
}

fn write(file: &str, lines: &BTreeSet<String>) -> Outcome {
    let path = cargo::root().join(file);
    let text: String = lines.iter().flat_map(|line| [line, "\n"]).collect();
    let folder = fs::create_dir_all(cargo::root().join(FOLDER));
    folder.and_then(|()| fs::write(&path, text)).map_err(|error| {
        Failure::new(format!("{file} cannot be written: {error}"), "see that the disk is not full")
    })
}

/// One line for each public item.
fn lines(modules: &Modules) -> BTreeSet<String> {
    let mut lines = BTreeSet::new();
    let mut types = BTreeSet::new();
    add_module(modules, 0, "", &mut lines, &mut types, &mut BTreeSet::new());
    for module in modules.all() {
        let reachable = module.source.impls.iter().filter(|one| types.contains(&one.name));
        lines.extend(reachable.map(|one| one.text.clone()));
    }
    lines
}

/// Adds what is public in a module under the path `prefix`.
fn add_module(
    modules: &Modules,
    number: usize,
    prefix: &str,
    lines: &mut BTreeSet<String>,
    types: &mut BTreeSet<String>,
    seen: &mut BTreeSet<(usize, String)>,
) {
    // Modules can re-export each other.
    if !seen.insert((number, prefix.to_owned())) {
        return;
    }
    let source = &modules.all()[number].source;
    for item in &source.public {
        lines.insert(format!("{prefix}{}: {}", item.name, item.text));
        types.insert(item.name.clone());
    }
    for name in &source.public_modules {
        lines.insert(format!("{prefix}{name}: mod"));
        if let Some(child) = modules.child(number, name) {
            add_module(modules, child, &format!("{prefix}{name}::"), lines, types, seen);
        }
    }
    for import in source.imports.iter().filter(|one| one.visibility == Visibility::Public) {
        let name = import.name.as_deref();
        match (modules.target(number, &import.path), name) {
            (Target::Module(target), None) => {
                add_module(modules, target, prefix, lines, types, seen);
            }
            (Target::Module(target), Some(name)) => {
                lines.insert(format!("{prefix}{name}: mod"));
                add_module(modules, target, &format!("{prefix}{name}::"), lines, types, seen);
            }
            (Target::Item(target, item), Some(name)) => {
                let all = modules.all()[target].source.public.iter();
                for found in all.filter(|found| found.name == item) {
                    lines.insert(format!("{prefix}{name}: {}", found.text));
                    types.insert(item.clone());
                }
            }
            (_, name) => {
                lines.insert(format!(
                    "{prefix}{}: use {}",
                    name.unwrap_or("*"),
                    import.path.join("::")
                ));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::fixture;

    #[test]
    fn reachable_items_are_listed_under_the_paths_of_programs() {
        let (_folder, tree) = fixture::tree(&[
            ("src/lib.rs", "mod a; pub mod b; pub use a::{A as C, inner}; pub use other::D;"),
            (
                "src/a.rs",
                "pub mod inner { pub const N: u8 = 1; } pub struct A(u8); pub struct Hidden; pub(crate) struct E;
                 impl A { pub fn f(&self) -> u8 { 1 } fn g() {} pub(crate) fn h() {} }
                 impl Clone for A { fn clone(&self) -> A { A(1) } } impl Hidden { pub fn i() {} }",
            ),
            ("src/b.rs", "pub fn j() {}"),
        ]);
        let modules = Modules::read(&tree, "src/lib.rs").unwrap();
        let lines: Vec<String> = lines(&modules).into_iter().collect();
        assert_eq!(
            lines,
            [
                "C: struct A(_)",
                "D: use other::D",
                "b: mod",
                "b::j: fn j()",
                "impl A: fn f(&self) -> u8",
                "impl Clone for A",
                "inner: mod",
                "inner::N: const N: u8",
            ]
        );
    }
}
