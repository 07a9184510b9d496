//! Lists of columns' names, as parameters have them: with commas between, and in double quotes, as
//! in a filter, where a name holds a comma, begins with a minus or has spaces at its ends.

use bobak_core::{Error, ErrorKind, Result};
use std::borrow::Cow;

/// The parts of a list: commas in double quotes don't part them.
pub(crate) fn parts(list: &str) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    let ends = move |c: char| {
        quoted ^= c == '"';
        c == ',' && !quoted
    };
    list.split(ends).map(str::trim)
}

/// A name as it is, out of its quotes where it has some.
///
/// # Errors
/// `Syntax` for quotes that are not closed, or alone within.
pub(crate) fn unquoted(name: &str) -> Result<Cow<'_, str>> {
    let Some(rest) = name.strip_prefix('"') else { return Ok(Cow::Borrowed(name)) };
    let inner = rest.strip_suffix('"').filter(|inner| !inner.replace("\"\"", "").contains('"'));
    let wrong = || Error::new(ErrorKind::Syntax, format!("the quotes of {name} are not closed"));
    let inner = inner.ok_or_else(wrong)?;
    Ok(if inner.contains('"') { inner.replace("\"\"", "\"").into() } else { inner.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &str) -> Result<Vec<Cow<'_, str>>> {
        parts(list).map(unquoted).collect()
    }

    #[test]
    fn names_in_quotes_hold_anything() {
        for (list, all) in [
            ("a, b", ["a", "b"].as_slice()),
            (r#""a,b",c"#, &["a,b", "c"]),
            (r#"x,"say ""hi"", you", "-y""#, &["x", "say \"hi\", you", "-y"]),
            (r#""""","#, &["\"", ""]),
        ] {
            assert_eq!(names(list).unwrap(), all, "{list}");
        }
        for list in [r#""a"#, r#""a"b""#, "\"", r#""a""#.get(..2).unwrap()] {
            assert!(names(list).is_err(), "{list}");
        }
    }
}
