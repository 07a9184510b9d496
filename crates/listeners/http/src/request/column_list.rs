//! Lists of column names in parameters.
//!
//! Names are separated by commas. A name is in double quotes, as in a filter, if it contains a comma,
//! begins with a minus sign, or begins or ends with a space.

use crate::database::table::CachedTable;
use bobak_core::{Error, ErrorKind, Result};
use std::borrow::Cow;

/// Splits a list at commas outside of double quotes.
pub(crate) fn split(list: &str) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    let is_separator = move |c: char| {
        quoted ^= c == '"';
        c == ',' && !quoted
    };
    list.split(is_separator).map(str::trim)
}

/// A name without its quotes, if it has any.
///
/// # Errors
/// `Syntax` for unbalanced quotes.
pub(crate) fn unquote(name: &str) -> Result<Cow<'_, str>> {
    let Some(rest) = name.strip_prefix('"') else { return Ok(Cow::Borrowed(name)) };
    let inner = rest.strip_suffix('"').filter(|inner| !inner.replace("\"\"", "").contains('"'));
    let error = || Error::new(ErrorKind::Syntax, format!("unbalanced quotes in {name}"));
    let inner = inner.ok_or_else(error)?;
    Ok(if inner.contains('"') { inner.replace("\"\"", "\"").into() } else { inner.into() })
}

/// The positions of the listed columns in a table.
///
/// # Errors
/// `Schema` for an unknown column, `Syntax` for a duplicate or unbalanced quotes.
pub(crate) fn positions(table: &CachedTable, list: &str) -> Result<Vec<usize>> {
    let mut positions = Vec::new();
    for name in split(list) {
        let name = unquote(name)?;
        let position = table.schema.column(&name)?;
        if positions.contains(&position) {
            return Err(duplicate_name(&name));
        }
        positions.push(position);
    }
    Ok(positions)
}

/// The error for a name that would occur twice in an object.
#[cold]
pub(crate) fn duplicate_name(name: &str) -> Error {
    Error::new(ErrorKind::Syntax, format!("'{name}' occurs twice"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &str) -> Result<Vec<Cow<'_, str>>> {
        split(list).map(unquote).collect()
    }

    #[test]
    fn quoted_names_contain_any_character() {
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
