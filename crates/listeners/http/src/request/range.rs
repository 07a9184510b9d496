//! Byte ranges (RFC 9110, section 14).

use crate::response::etag::Etag;
use hyper::header::{HeaderMap, IF_RANGE, RANGE};
use std::ops::Range;

/// What a request wants of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RequestedRange {
    /// All of it: there is no range, or one that a server may ignore, such as several.
    Whole,
    /// These bytes.
    Part(Range<u64>),
    /// Bytes that it does not have.
    Unsatisfiable,
}

impl RequestedRange {
    /// The range of a value with this length and tag.
    pub fn of(headers: &HeaderMap, length: u64, etag: Option<&Etag>) -> Self {
        let text = headers.get(RANGE).and_then(|range| range.to_str().ok());
        let Some(text) = text.and_then(|text| text.trim().strip_prefix("bytes=")) else {
            return Self::Whole;
        };
        // Parts of two states must not be joined.
        let is_current = headers.get(IF_RANGE).is_none_or(|wanted| {
            etag.is_some_and(|etag| wanted.to_str().is_ok_and(|wanted| wanted == etag.as_str()))
        });
        if is_current { Self::parse(text, length) } else { Self::Whole }
    }

    fn parse(text: &str, length: u64) -> Self {
        let Some((first, last)) = text.split_once('-') else { return Self::Whole };
        let number = |text: &str| text.trim().parse::<u64>().ok();
        match (number(first), number(last)) {
            (None, Some(0)) if first.trim().is_empty() => Self::Unsatisfiable,
            (None, Some(_)) if first.trim().is_empty() && length == 0 => Self::Unsatisfiable,
            (None, Some(count)) if first.trim().is_empty() => {
                Self::Part(length.saturating_sub(count)..length)
            }
            (Some(first), None) if last.trim().is_empty() => Self::from(first, length, length),
            (Some(first), Some(last)) if first <= last => {
                Self::from(first, last.saturating_add(1), length)
            }
            _ => Self::Whole,
        }
    }

    fn from(start: u64, end: u64, length: u64) -> Self {
        if start < length { Self::Part(start..end.min(length)) } else { Self::Unsatisfiable }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    fn range(text: &str, length: u64) -> RequestedRange {
        let mut headers = HeaderMap::new();
        headers.insert(RANGE, HeaderValue::from_str(text).unwrap());
        RequestedRange::of(&headers, length, None)
    }

    #[test]
    fn single_ranges_are_parsed_and_others_ignored() {
        use RequestedRange::{Part, Unsatisfiable, Whole};
        for (text, expected) in [
            ("bytes=0-0", Part(0..1)),
            ("bytes=2-4", Part(2..5)),
            ("bytes=8-", Part(8..10)),
            ("bytes=8-99", Part(8..10)),
            ("bytes=-3", Part(7..10)),
            ("bytes=-30", Part(0..10)),
            ("bytes=10-", Unsatisfiable),
            ("bytes=10-12", Unsatisfiable),
            ("bytes=-0", Unsatisfiable),
            ("bytes=4-2", Whole),
            ("bytes=0-1,4-5", Whole),
            ("bytes=a-b", Whole),
            ("bytes=-", Whole),
            ("rows=0-1", Whole),
            ("bytes=18446744073709551615-", Unsatisfiable),
            ("bytes=0-18446744073709551615", Part(0..10)),
        ] {
            assert_eq!(range(text, 10), expected, "{text}");
        }
        assert_eq!(range("bytes=0-", 0), Unsatisfiable);
        assert_eq!(range("bytes=-5", 0), Unsatisfiable);
    }

    #[test]
    fn a_range_of_another_state_is_ignored() {
        let etag = Etag::of(b"now");
        let mut headers = HeaderMap::new();
        headers.insert(RANGE, HeaderValue::from_static("bytes=1-2"));
        headers.insert(IF_RANGE, HeaderValue::from_static("\"before\""));
        let of = |headers: &HeaderMap, etag| RequestedRange::of(headers, 9, etag);
        assert_eq!(of(&headers, Some(&etag)), RequestedRange::Whole);
        headers.insert(IF_RANGE, HeaderValue::from_str(etag.as_str()).unwrap());
        assert_eq!(of(&headers, Some(&etag)), RequestedRange::Part(1..3));
        assert_eq!(of(&headers, None), RequestedRange::Whole);
    }
}
