//! JSON paths such as `$.items[0]."the name"`.

use super::unsupported;
use bobak_core::{JsonPath, JsonPathStep, Result};

/// The steps of a path as the text of an array of PostgreSQL.
///
/// # Errors
/// `Unsupported` for a text that is no [`JsonPath`].
pub(super) fn postgres_array(path: &str) -> Result<String> {
    let steps = JsonPath::parse(path).map_err(|_| {
        unsupported(format!(
            "'{path}' is not a path that every engine has: write $ with .name, .\"name\" and [0] after it"
        ))
    })?;
    let quoted = |step: &JsonPathStep<'_>| match step {
        JsonPathStep::Name(name) => {
            format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))
        }
        JsonPathStep::Place(place) => format!("\"{place}\""),
    };
    Ok(format!("{{{}}}", steps.steps().iter().map(quoted).collect::<Vec<_>>().join(",")))
}
