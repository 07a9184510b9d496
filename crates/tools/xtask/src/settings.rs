//! The tables of settings in Markdown pages, as `bobak settings` prints them.
//!
//! A page has a table between the lines `<!-- settings NAME -->` and `<!-- end -->`.

use std::fs;

use crate::cargo;
use crate::failure::{Failure, Outcome};
use crate::tree::Tree;

/// Compares the tables with those that the program prints.
pub fn check(tree: &Tree) -> Outcome {
    run(tree, &[])
}

/// Compares the tables with those that the program prints, or writes them if the arguments are `--update`.
///
/// # Errors
/// If a table differs.
pub fn run(tree: &Tree, arguments: &[String]) -> Outcome {
    let update = arguments.iter().any(|word| word == "--update");
    cargo::build_programs()?;
    let printed = cargo::output_of("bobak", &["settings"])?;
    let mut differing = Vec::new();
    for page in tree.with_extension("md") {
        let text = tree.read(page)?;
        let now = filled(&text, &printed).map_err(|name| {
            Failure::new(
                format!("{page} has no table for `settings {name}`, or no `{END}` after it"),
                "`bobak settings` prints the tables with their names",
            )
        })?;
        if now == text {
            continue;
        }
        if !update {
            differing.push(page);
            continue;
        }
        fs::write(cargo::root().join(page), now).map_err(|error| {
            Failure::new(
                format!("{page} cannot be written: {error}"),
                "see that the disk is not full",
            )
        })?;
    }
    if differing.is_empty() {
        return Ok(());
    }
    Err(Failure::new(
        format!("the settings in {} are not those of the program", differing.join(", ")),
        "run `cargo xtask settings --update` and commit the pages",
    ))
}

/// The line after a table.
const END: &str = "<!-- end -->";

/// A page with its tables as printed, or the name of the table that is missing.
fn filled(page: &str, printed: &str) -> Result<String, String> {
    let mut text = String::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        text += line;
        text += "\n";
        let name = line.strip_prefix("<!-- settings ").and_then(|rest| rest.strip_suffix(" -->"));
        let Some(name) = name else { continue };
        let title = format!("## {name}");
        let section = printed.lines().skip_while(|line| *line != title).skip(2);
        let table: Vec<&str> = section.take_while(|line| line.starts_with('|')).collect();
        if table.is_empty() || !lines.any(|line| line == END) {
            return Err(name.to_owned());
        }
        text += &format!("\n{}\n\n{END}\n", table.join("\n"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "## a\n\n| x |\n|---|\n| 1 |\n\n## b\n\n| y |\n";

    #[test]
    fn tables_replace_what_is_between_the_marks() {
        let page = "before\n<!-- settings a -->\nold\n<!-- end -->\nafter\n";
        let now = filled(page, PRINTED).unwrap();
        assert_eq!(
            now,
            "before\n<!-- settings a -->\n\n| x |\n|---|\n| 1 |\n\n<!-- end -->\nafter\n"
        );
        assert_eq!(filled(&now, PRINTED).unwrap(), now);
    }

    #[test]
    fn unknown_tables_and_missing_ends_are_named() {
        assert_eq!(filled("<!-- settings c -->\n<!-- end -->\n", PRINTED), Err("c".to_owned()));
        assert_eq!(filled("<!-- settings b -->\n", PRINTED), Err("b".to_owned()));
    }
}
