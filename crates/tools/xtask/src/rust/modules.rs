//! The module tree of a crate, and which module a path leads to.

use std::collections::{BTreeMap, BTreeSet};

use super::source::{self, Source, Visibility};
use crate::failure::{Failure, Outcome};
use crate::tree::Tree;

/// The modules of one library or program.
pub struct Modules {
    all: Vec<Module>,
}

/// One module.
pub struct Module {
    /// Its path in the crate: empty for the root.
    pub path: Vec<String>,
    /// The file that it is written in.
    pub file: String,
    /// What is written in it.
    pub source: Source,
    parent: Option<usize>,
    children: BTreeMap<String, usize>,
    /// The module that has the file: itself, unless it is written inline.
    owner: usize,
}

/// A dependency of one module on another, by their numbers, and the name that makes it one.
pub struct Edge {
    pub from: usize,
    pub to: usize,
    pub name: String,
}

/// What a path means.
pub enum Target {
    /// The module with this number.
    Module(usize),
    /// An item with this name, defined in the module with this number.
    Item(usize, String),
    /// Something of another crate.
    Foreign,
}

/// The files that the library and the program of a crate begin with.
pub fn roots(tree: &Tree, folder: &str) -> Vec<String> {
    let files = ["lib.rs", "main.rs"].map(|file| format!("{folder}/src/{file}"));
    files.into_iter().filter(|file| tree.has_file(file)).collect()
}

/// How many re-exports a name is followed through.
const DEPTH: usize = 16;

impl Modules {
    /// Reads the module tree below a `lib.rs` or `main.rs`.
    ///
    /// # Errors
    /// If a file is missing or is not Rust.
    pub fn read(tree: &Tree, root: &str) -> Outcome<Self> {
        let mut modules = Self { all: Vec::new() };
        let folder = root.rsplit_once('/').map_or("", |(folder, _)| folder);
        modules.add_file(tree, root, folder, Vec::new(), None)?;
        Ok(modules)
    }

    /// All modules; the root is first.
    pub fn all(&self) -> &[Module] {
        &self.all
    }

    /// A child of a module.
    pub fn child(&self, number: usize, name: &str) -> Option<usize> {
        self.all[number].children.get(name).copied()
    }

    /// What `path` means in a module.
    pub fn target(&self, number: usize, path: &[String]) -> Target {
        let Some(module) = self.resolve(number, path, DEPTH) else { return Target::Foreign };
        let Some(last) = path.last() else { return Target::Foreign };
        let is_module = self.all[module].path.last() == Some(last)
            && !self.all[module].source.items.contains(last)
            || ["self", "super", "crate"].contains(&last.as_str());
        if is_module { Target::Module(module) } else { Target::Item(module, last.clone()) }
    }

    fn add_file(
        &mut self,
        tree: &Tree,
        file: &str,
        folder: &str,
        path: Vec<String>,
        parent: Option<usize>,
    ) -> Outcome<usize> {
        let source = source::read(&tree.read(file)?).map_err(|error| {
            Failure::new(format!("{file} is not Rust: {error}"), "see what the compiler says")
        })?;
        let number = self.add(file, path, source, parent, None);
        let children = self.all[number].source.children.clone();
        for name in children {
            let candidates = [format!("{folder}/{name}.rs"), format!("{folder}/{name}/mod.rs")];
            let Some(child) = candidates.iter().find(|file| tree.has_file(file)) else {
                let neither = candidates.join(" nor ");
                return Err(Failure::new(
                    format!("{file} declares the module `{name}`, but neither {neither} exists"),
                    "add the file to git, or remove the declaration",
                ));
            };
            let path = [self.all[number].path.as_slice(), std::slice::from_ref(&name)].concat();
            let child =
                self.add_file(tree, child, &format!("{folder}/{name}"), path, Some(number))?;
            self.all[number].children.insert(name, child);
        }
        Ok(number)
    }

    /// Adds a module and the modules that are written in it.
    fn add(
        &mut self,
        file: &str,
        path: Vec<String>,
        mut source: Source,
        parent: Option<usize>,
        owner: Option<usize>,
    ) -> usize {
        let inline = std::mem::take(&mut source.inline);
        let number = self.all.len();
        let owner = owner.unwrap_or(number);
        let children = BTreeMap::new();
        self.all.push(Module { path, file: file.to_owned(), source, parent, children, owner });
        for (name, source) in inline {
            let path = [self.all[number].path.as_slice(), std::slice::from_ref(&name)].concat();
            let child = self.add(file, path, source, Some(number), Some(owner));
            self.all[number].children.insert(name, child);
        }
        number
    }

    /// Every dependency of a file on another one of the same crate, each name once.
    ///
    /// A name counts for the module that defines it, through whatever re-exports it was imported. So the re-export of
    /// an item below a module is not a dependency of that module, and neither is the declaration `mod`.
    pub fn edges(&self) -> Vec<Edge> {
        let mut edges = BTreeSet::new();
        for (number, module) in self.all.iter().enumerate() {
            let imports = module
                .source
                .imports
                .iter()
                .map(|one| (&one.path, one.visibility != Visibility::Private));
            let paths = module.source.paths.iter().map(|path| (path, false));
            for (path, exported) in imports.chain(paths) {
                let Some(target) = self.resolve(number, path, DEPTH) else { continue };
                let (from, to) = (module.owner, self.all[target].owner);
                let is_below = self.all[to].path.starts_with(&self.all[from].path);
                if from != to && !(exported && is_below) {
                    edges.insert((from, to, path.last().cloned().unwrap_or_default()));
                }
            }
        }
        edges.into_iter().map(|(from, to, name)| Edge { from, to, name }).collect()
    }

    /// The module that defines what `path` means in the module `number`: `None` for another crate's.
    fn resolve(&self, number: usize, path: &[String], depth: usize) -> Option<usize> {
        let (first, rest) = path.split_first()?;
        let module = &self.all[number];
        match first.as_str() {
            "crate" => self.descend(0, rest, depth),
            "self" => self.descend(number, rest, depth),
            "super" => {
                let parent = module.parent?;
                match rest.first().is_some_and(|next| next == "super") {
                    true => self.resolve(parent, rest, depth),
                    false => self.descend(parent, rest, depth),
                }
            }
            name if module.children.contains_key(name) => self.descend(number, path, depth),
            name => {
                let import =
                    module.source.imports.iter().find(|one| one.name.as_deref() == Some(name))?;
                // A path through an imported name: of interest if the name is a module.
                let target = (import.path.first() != Some(first) && depth > 0).then(|| {
                    self.resolve(number, &[import.path.as_slice(), rest].concat(), depth - 1)
                });
                target.flatten()
            }
        }
    }

    /// The module that defines `path`, which begins in the module `number`.
    fn descend(&self, number: usize, path: &[String], depth: usize) -> Option<usize> {
        let module = &self.all[number];
        let Some((first, rest)) = path.split_first() else { return Some(number) };
        if let Some(child) = module.children.get(first) {
            return self.descend(*child, rest, depth);
        }
        if depth == 0 || module.source.items.contains(first) {
            return Some(number);
        }
        let named = module.source.imports.iter().find(|one| one.name.as_ref() == Some(first));
        if let Some(import) = named {
            let target = [import.path.as_slice(), rest].concat();
            return self.resolve(number, &target, depth - 1);
        }
        let globs = module.source.imports.iter().filter(|one| one.name.is_none());
        let through_glob = globs.filter_map(|glob| self.resolve(number, &glob.path, depth - 1));
        through_glob
            .filter(|target| *target != number)
            .find_map(|target| self.defines(target, path, depth - 1))
            .or(Some(number))
    }

    /// As [`Self::descend`], if the module has such a name at all.
    fn defines(&self, number: usize, path: &[String], depth: usize) -> Option<usize> {
        let source = &self.all[number].source;
        let first = path.first()?;
        let known = source.items.contains(first)
            || self.all[number].children.contains_key(first)
            || source.imports.iter().any(|one| {
                one.name.as_ref() == Some(first) && one.visibility != Visibility::Private
            });
        known.then(|| self.descend(number, path, depth)).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::fixture;

    fn edges(files: &[(&str, &str)]) -> Vec<String> {
        let (_folder, tree) = fixture::tree(files);
        let modules = Modules::read(&tree, "src/lib.rs").unwrap();
        let name = |number: usize| modules.all()[number].path.join("::");
        modules.edges().iter().map(|e| format!("{} -> {}", name(e.from), name(e.to))).collect()
    }

    #[test]
    fn a_name_counts_for_the_module_that_defines_it() {
        let found = edges(&[
            ("src/lib.rs", "mod a; mod b; pub use b::inner::Thing;"),
            ("src/a.rs", "use crate::Thing; use crate::b::Other;"),
            ("src/b/mod.rs", "mod inner; pub(crate) use inner::*;"),
            ("src/b/inner.rs", "pub struct Thing; pub struct Other;"),
        ]);
        assert_eq!(found, ["a -> b::inner", "a -> b::inner"]);
    }

    #[test]
    fn inline_paths_and_imported_modules_are_dependencies() {
        let found = edges(&[
            ("src/lib.rs", "mod a; mod b; mod c;"),
            ("src/a.rs", "use crate::b; fn f() { b::g(); crate::c::h(); std::mem::drop(1) }"),
            ("src/b.rs", "pub fn g() { super::c::h() }"),
            ("src/c.rs", "pub fn h() {} #[cfg(test)] mod tests { use crate::a::f; }"),
        ]);
        assert_eq!(found, ["a -> b", "a -> b", "a -> c", "b -> c"]);
    }

    #[test]
    fn a_folder_and_its_children_depend_only_on_what_they_use() {
        let found = edges(&[
            ("src/lib.rs", "mod a;"),
            ("src/a/mod.rs", "mod x; mod y; pub use x::X; pub struct Own;"),
            ("src/a/x.rs", "use super::y::Y; pub struct X;"),
            ("src/a/y.rs", "use super::Own; pub struct Y;"),
        ]);
        assert_eq!(found, ["a::x -> a::y", "a::y -> a"]);
    }
}
