//! Entity tags: a hash of a row, or of a list, in full.
//!
//! A row's tag covers all of its columns, whichever were requested, so that a later write can name
//! it as a precondition. A compressed response has different bytes, so its tag ends with the name of
//! the compression; comparisons ignore that suffix.

use hyper::header::{HeaderMap, HeaderName, IF_MATCH};
use twox_hash::XxHash3_128;

/// An entity tag, in quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Etag(String);

impl Etag {
    pub fn of(bytes: &[u8]) -> Self {
        Self(format!("\"{:032x}\"", XxHash3_128::oneshot(bytes)))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a header with a list of tags, or `*`, contains this one; `None` if there is no such
    /// header. `If-Match` never matches a weak tag, which does not promise equal bytes (RFC 9110,
    /// section 13.1.1).
    pub fn matches(&self, headers: &HeaderMap, name: &HeaderName) -> Option<bool> {
        let mut values = headers.get_all(name).iter().peekable();
        values.peek()?;
        let hash = self.0.trim_matches('"');
        let is_same = |tag: &str| {
            let tag = tag.trim();
            let tag = match tag.strip_prefix("W/") {
                Some(_) if name == IF_MATCH => return false,
                Some(weak) => weak,
                None => tag,
            };
            let tag = tag.trim_matches('"');
            let suffix = tag.strip_prefix(hash);
            tag == "*" || suffix.is_some_and(|suffix| matches!(suffix, "" | "-gzip" | "-zstd"))
        };
        Some(values.any(|value| value.to_str().is_ok_and(|tags| tags.split(',').any(is_same))))
    }
}

/// The tag of the same bytes after compression.
pub(crate) fn with_compression_suffix(etag: &str, compression: &str) -> String {
    format!("{}-{compression}\"", etag.trim_end_matches('"'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::{HeaderValue, IF_NONE_MATCH};

    #[test]
    fn matches_finds_tag_in_list() {
        let etag = Etag::of(b"row");
        let gzip = with_compression_suffix(etag.as_str(), "gzip");
        let matches_in = |name: HeaderName, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(&name, HeaderValue::from_str(value).unwrap());
            etag.matches(&headers, &name)
        };
        let matches = |value: &str| matches_in(IF_MATCH, value);
        assert_eq!(etag.matches(&HeaderMap::new(), &IF_MATCH), None);
        assert_eq!(matches("\"x\""), Some(false));
        assert_eq!(matches("*"), Some(true));
        assert_eq!(matches(&format!("\"x\", {}", etag.as_str())), Some(true));
        assert_eq!(matches(&gzip), Some(true));
        assert_eq!(matches(&format!("W/{gzip}")), Some(false));
        assert_eq!(matches_in(IF_NONE_MATCH, &format!("W/{gzip}")), Some(true));
        assert_eq!(matches(&format!("{}x", etag.as_str().trim_end_matches('"'))), Some(false));
    }
}
