//! Paths into JSON documents.

use crate::{Error, ErrorKind, Result};
use serde_json::Value as Document;
use std::fmt;

/// No document has an array with an element there. Databases read larger places as other ones.
const LAST_PLACE: usize = i32::MAX as usize;

/// A path into a JSON document: `$`, the document, with `.name`, `."a name"` and `[0]` after it.
///
/// ```
/// use bobak_core::{JsonPath, JsonPathStep};
/// let path = JsonPath::parse(r#"$.tags[07]."a b"."c""#)?;
/// assert_eq!(path.steps().get(1), Some(&JsonPathStep::Place(7)));
/// assert_eq!(path.to_string(), r#"$.tags[7]."a b".c"#);
/// # Ok::<(), bobak_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonPath<'p>(Vec<JsonPathStep<'p>>);

/// A step of a [`JsonPath`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonPathStep<'p> {
    /// The member of an object.
    Name(&'p str),
    /// The element of an array, the first one at 0.
    Place(usize),
}

impl<'p> JsonPath<'p> {
    /// Parses a path.
    ///
    /// # Errors
    /// `Syntax` for a text that is no path.
    pub fn parse(path: &'p str) -> Result<Self> {
        let mut rest = path.strip_prefix('$').ok_or_else(|| wrong_path(path))?;
        let mut steps = Vec::new();
        while !rest.is_empty() {
            let (step, after) = first_step(rest).ok_or_else(|| wrong_path(path))?;
            steps.push(step);
            rest = after;
        }
        Ok(Self(steps))
    }

    /// The steps from the document to the part.
    #[must_use]
    pub fn steps(&self) -> &[JsonPathStep<'p>] {
        &self.0
    }

    /// The part of a document; of a name that an object has twice, the last one.
    pub(crate) fn find<'d>(&self, document: &'d Document) -> Option<&'d Document> {
        self.0.iter().try_fold(document, |inner, step| match step {
            JsonPathStep::Name(name) => inner.get(*name),
            JsonPathStep::Place(place) => inner.get(*place),
        })
    }
}

/// The one spelling of the path: names are in quotes only if they need them.
impl fmt::Display for JsonPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("$")?;
        self.0.iter().try_for_each(|step| match step {
            JsonPathStep::Name(name) if is_plain(name) => write!(f, ".{name}"),
            JsonPathStep::Name(name) => write!(f, ".\"{name}\""),
            JsonPathStep::Place(place) => write!(f, "[{place}]"),
        })
    }
}

/// The first step of the rest of a path, and what follows.
fn first_step(rest: &str) -> Option<(JsonPathStep<'_>, &str)> {
    if let Some(quoted) = rest.strip_prefix(".\"") {
        let (name, after) = quoted.split_once('"')?;
        return Some((JsonPathStep::Name(name), after));
    }
    if let Some(named) = rest.strip_prefix('.') {
        let (name, after) = named.split_at(named.find(['.', '[']).unwrap_or(named.len()));
        return is_plain(name).then_some((JsonPathStep::Name(name), after));
    }
    let (place, after) = rest.strip_prefix('[')?.split_once(']')?;
    // `parse` would take a sign.
    let place: usize =
        place.starts_with(|c: char| c.is_ascii_digit()).then(|| place.parse())?.ok()?;
    Some((JsonPathStep::Place(place.min(LAST_PLACE)), after))
}

fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_')
}

#[cold]
pub(crate) fn wrong_path(path: &str) -> Error {
    let message = format!(
        "'{path}' is not a path into a document: write $ with .name, .\"a name\" and [0] after it"
    );
    Error::new(ErrorKind::Syntax, message)
}
