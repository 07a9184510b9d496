//! JSON paths such as `$.items[0]."the name"`.

use super::unsupported;
use bobak_core::{Error, Result};

/// The names and positions of a path.
///
/// # Errors
/// `Unsupported` for other paths than `$` with `.name`, `."name"` and `[0]` after it.
pub(super) fn steps(path: &str) -> Result<Vec<&str>> {
    let mut rest = path.strip_prefix('$').ok_or_else(|| unknown(path))?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        let (step, after) = if let Some(quoted) = rest.strip_prefix(".\"") {
            quoted.split_once('"').ok_or_else(|| unknown(path))?
        } else if let Some(name) = rest.strip_prefix('.') {
            let end = name.find(['.', '[']).unwrap_or(name.len());
            let (step, after) = name.split_at(end);
            let is_plain = step.chars().all(|c| c.is_alphanumeric() || c == '_');
            (!step.is_empty() && is_plain).then_some((step, after)).ok_or_else(|| unknown(path))?
        } else {
            let inside = rest.strip_prefix('[').and_then(|inside| inside.split_once(']'));
            let is_place = |(place, _): &(&str, &str)| {
                !place.is_empty() && place.bytes().all(|byte| byte.is_ascii_digit())
            };
            inside.filter(is_place).ok_or_else(|| unknown(path))?
        };
        steps.push(step);
        rest = after;
    }
    Ok(steps)
}

/// The steps as the text of an array of PostgreSQL.
pub(super) fn postgres_array(steps: &[&str]) -> String {
    let quoted = |step: &&str| format!("\"{}\"", step.replace('\\', "\\\\").replace('"', "\\\""));
    format!("{{{}}}", steps.iter().map(quoted).collect::<Vec<_>>().join(","))
}

#[cold]
fn unknown(path: &str) -> Error {
    unsupported(format!(
        "'{path}' is not a path that every engine has: write $ with .name, .\"name\" and [0] after it"
    ))
}
