//! The table of capabilities in a document, compared with what engines report.

use crate::check::{Check, Failure};
use bobak_core::Capabilities;

/// Checks that the table of a Markdown document says what an engine can do: it has a column `name`, and a line for each capability
/// that begins with the name of the field, and has `yes` or `no` in this column, perhaps with a remark: `yes: in a file`.
///
/// # Errors
/// The lines that are missing or wrong.
///
/// ```
/// use bobak_core::Capabilities;
/// use bobak_testkit::capability_table;
///
/// let document = "| capability | meaning | nothing |\n|---|---|---|\n| `sql` | SQL | yes |\n";
/// let failure = capability_table::agrees_with_document(document, "nothing", Capabilities::NONE).unwrap_err();
/// assert!(failure.to_string().contains("`sql`: no"));
/// ```
pub fn agrees_with_document(document: &str, name: &str, capabilities: Capabilities) -> Check {
    let heads = document.lines().map(cells).filter(|cells| cells.first() == Some(&"capability"));
    let place = heads.flatten().position(|head| head == name);
    let Some(place) = place else {
        return Err(Failure::new(format!("the document has no column {name}")));
    };
    let documented = |field: &str| {
        let field = format!("`{field}`");
        let mut lines = document.lines().map(cells);
        let line = lines.find(|cells| cells.first() == Some(&field.as_str()));
        line.and_then(|cells| cells.get(place).copied()).unwrap_or_default()
    };
    let is_wrong = |(field, has): &(String, bool)| {
        !documented(field).starts_with(if *has { "yes" } else { "no" })
    };
    let wrong: Vec<_> = fields(capabilities).into_iter().filter(is_wrong).collect();
    if wrong.is_empty() {
        return Ok(());
    }
    let line =
        |(field, has): &(String, bool)| format!("`{field}`: {}", if *has { "yes" } else { "no" });
    let lines: Vec<_> = wrong.iter().map(line).collect();
    Err(Failure::new(format!("the document is wrong about {name}: {}", lines.join(", "))))
}

/// The cells of a line of a table.
fn cells(line: &str) -> Vec<&str> {
    line.trim_matches('|').split('|').map(str::trim).collect()
}

/// The names and values of all fields, from the text of `Debug`: so a new one cannot be forgotten.
fn fields(capabilities: Capabilities) -> Vec<(String, bool)> {
    let text = format!("{capabilities:?}");
    let text = text.split_once('{').map_or("", |(_, fields)| fields);
    let pairs =
        text.trim_end_matches(['}', ' ']).split(',').filter_map(|field| field.split_once(':'));
    pairs.map(|(name, value)| (name.trim().to_owned(), value.trim() == "true")).collect()
}
