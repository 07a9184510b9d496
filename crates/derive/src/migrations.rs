//! The migrations of a folder, as part of the program.

use proc_macro2::TokenStream;
use quote::quote;
use std::path::{Path, PathBuf};
use syn::LitStr;

const EXTENSION: &str = "migration";

/// What the compiler checks of a file: the lines before its steps.
struct MigrationHead {
    name: String,
    file: PathBuf,
    /// The migration before it.
    after: Option<String>,
}

/// Expands to `Migrations::new` with the files of the folder.
pub fn expand(folder: &LitStr) -> TokenStream {
    let root = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
    match read(&root.join(folder.value())).and_then(in_order) {
        Ok(files) => {
            let files = files.iter().map(|head| {
                let (name, path) = (&head.name, head.file.display().to_string());
                quote!((#name, ::core::include_str!(#path)))
            });
            quote!(::bobak::migration::Migrations::new([#(#files),*]))
        }
        Err(message) => syn::Error::new(folder.span(), message).into_compile_error(),
    }
}

fn read(folder: &Path) -> Result<Vec<MigrationHead>, String> {
    let failed = |path: &Path, error| format!("cannot read {}: {error}", path.display());
    let mut heads = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|error| failed(folder, error))? {
        let file = entry.map_err(|error| failed(folder, error))?.path();
        if file.extension().is_none_or(|extension| extension != EXTENSION) {
            continue;
        }
        let text = std::fs::read_to_string(&file).map_err(|error| failed(&file, error))?;
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let after = after(&text).ok_or_else(|| {
            format!(
                "{} does not begin with 'bobak migration 1' and 'after NAME' or 'first'",
                file.display()
            )
        })?;
        heads.push(MigrationHead { name, file, after });
    }
    match heads.is_empty() {
        true => Err(format!("there is no file *.{EXTENSION} in {}", folder.display())),
        false => Ok(heads),
    }
}

/// The migration that a file names in its second line; `None` if it is not a migration.
fn after(text: &str) -> Option<Option<String>> {
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    let mut lines = lines.filter(|line| !line.is_empty());
    if lines.next()? != "bobak migration 1" {
        return None;
    }
    match lines.next()?.split_once(' ') {
        Some(("after", name)) => Some(Some(name.trim().trim_matches('"').to_owned())),
        _ => Some(None),
    }
}

/// The files, each after the one that it names.
fn in_order(mut heads: Vec<MigrationHead>) -> Result<Vec<MigrationHead>, String> {
    heads.sort_by(|a, b| a.name.cmp(&b.name));
    let mut ordered: Vec<MigrationHead> = Vec::with_capacity(heads.len());
    while !heads.is_empty() {
        let last = ordered.last().map(|head| head.name.clone());
        let follows = |head: &MigrationHead| head.after == last;
        let names: Vec<_> =
            heads.iter().filter(|head| follows(head)).map(|h| h.name.clone()).collect();
        let place = heads.iter().position(follows);
        let last = last.as_deref().unwrap_or("none");
        match (place, names.len()) {
            (Some(place), 1) => ordered.push(heads.remove(place)),
            (Some(_), _) => {
                let names = names.join(", ");
                return Err(format!(
                    "several migrations follow {last}: {names}; change the line 'after' of one"
                ));
            }
            (None, _) => {
                let lost: Vec<_> = heads.iter().map(|head| head.name.as_str()).collect();
                let lost = lost.join(", ");
                return Err(format!(
                    "no migration follows {last}, and these follow a missing one: {lost}"
                ));
            }
        }
    }
    Ok(ordered)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes files, and returns the names in order, or the message.
    fn order(files: &[(&str, &str)]) -> Result<Vec<String>, String> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let heads = read(folder.path()).and_then(in_order)?;
        Ok(heads.into_iter().map(|head| head.name).collect())
    }

    #[test]
    fn mistakes_are_found_by_the_compiler() {
        let (a, b) =
            ("bobak migration 1\nfirst\nup\n", "bobak migration 1\n# x\nafter a # y\nup\n");
        let found = order(&[("b.migration", b), ("a.migration", a), ("notes.txt", "")]);
        assert_eq!(found.unwrap(), ["a", "b"]);
        for (files, message) in [
            (
                &[("a.migration", a), ("b.migration", b), ("c.migration", b)][..],
                "several migrations follow a: b, c",
            ),
            (&[("a.migration", a), ("b.migration", a)], "several migrations follow none: a, b"),
            (&[("b.migration", b)], "these follow a missing one: b"),
            (&[("a.migration", "create table")], "does not begin with 'bobak migration 1'"),
            (&[("a.sql", "")], "there is no file *.migration"),
        ] {
            let error = order(files).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
    }
}
