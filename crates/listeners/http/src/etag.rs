//! Entity tags: a hash of what a row, or a list, is in full.
//!
//! A row's tag is that of all its columns, whichever were asked for: so it can be named when the
//! row is written. An answer that is compressed has its coding behind the tag, since its bytes
//! differ; it is left out again where tags are compared.

use crate::answer::Answer;
use crate::coding::Coding;
use hyper::StatusCode;
use hyper::header::{ETAG, HeaderMap, HeaderName, IF_MATCH};
use twox_hash::XxHash3_128;

/// A tag, with its quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Etag(String);

impl Etag {
    pub fn of(bytes: &[u8]) -> Self {
        Self(format!("\"{:032x}\"", XxHash3_128::oneshot(bytes)))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The answer to who has it: with the head, and without the so many bytes, of the full one.
    pub fn not_modified(&self, asked: &HeaderMap, bytes: usize) -> Answer {
        let mut answer = Answer::empty(StatusCode::NOT_MODIFIED).with(ETAG, self.as_str());
        Coding::wanted(asked).spared_in(answer.headers_mut(), bytes);
        answer
    }

    /// Whether a header of tags, or `*`, has it; `None` where there is no such header. For
    /// `If-Match` a weak tag is none: it does not say that each byte is the same.
    pub fn is_in(&self, headers: &HeaderMap, name: &HeaderName) -> Option<bool> {
        let mut values = headers.get_all(name).iter().peekable();
        values.peek()?;
        let bare = self.0.trim_matches('"');
        let same = |tag: &str| {
            let tag = tag.trim();
            let tag = match tag.strip_prefix("W/") {
                Some(_) if name == IF_MATCH => return false,
                Some(weak) => weak,
                None => tag,
            };
            let tag = tag.trim_matches('"');
            tag == "*"
                || tag
                    .strip_prefix(bare)
                    .is_some_and(|coding| matches!(coding, "" | "-gzip" | "-zstd"))
        };
        Some(values.any(|value| value.to_str().is_ok_and(|tags| tags.split(',').any(same))))
    }
}

/// The tag of the same bytes in a coding.
pub(crate) fn with_coding(tag: &str, coding: &str) -> String {
    format!("{}-{coding}\"", tag.trim_end_matches('"'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::{HeaderValue, IF_NONE_MATCH};

    #[test]
    fn tags_are_found_among_others() {
        let tag = Etag::of(b"row");
        let gzip = with_coding(tag.as_str(), "gzip");
        let found_in = |name: HeaderName, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(&name, HeaderValue::from_str(value).unwrap());
            tag.is_in(&headers, &name)
        };
        let found = |value: &str| found_in(IF_MATCH, value);
        assert_eq!(tag.is_in(&HeaderMap::new(), &IF_MATCH), None);
        assert_eq!(found("\"x\""), Some(false));
        assert_eq!(found("*"), Some(true));
        assert_eq!(found(&format!("\"x\", {}", tag.as_str())), Some(true));
        assert_eq!(found(&gzip), Some(true));
        assert_eq!(found(&format!("W/{gzip}")), Some(false));
        assert_eq!(found_in(IF_NONE_MATCH, &format!("W/{gzip}")), Some(true));
        assert_eq!(found(&format!("{}x", tag.as_str().trim_end_matches('"'))), Some(false));
    }
}
