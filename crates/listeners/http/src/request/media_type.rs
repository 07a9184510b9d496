//! Media types: that of a body, and those that a client accepts.

use crate::problem::Problem;
use bobak_core::ErrorKind;
use hyper::StatusCode;
use hyper::header::{ACCEPT, HeaderMap, HeaderName};
use std::cmp::Reverse;

/// Chooses one of the supported media types: the one with the highest quality, then the first in the
/// client's order, then the first in ours.
///
/// # Errors
/// 406 if the client accepts none of them.
pub(crate) fn negotiate<V: Copy>(
    headers: &HeaderMap,
    supported: &[(&str, V)],
) -> Result<V, Problem> {
    let all = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let ranges: Vec<MediaRange<'_>> =
        all.flat_map(|value| value.split(',')).map(MediaRange::parse).collect();
    if ranges.is_empty() {
        return supported.first().map(|(_, value)| *value).ok_or_else(not_acceptable);
    }
    let rank = |(name, value): &(&str, V)| {
        // The most specific range decides, even if a wider one has a higher quality.
        let matching = ranges.iter().enumerate().filter(|(_, range)| range.matches(name));
        let (position, range) =
            matching.max_by_key(|(position, range)| (range.specificity(), Reverse(*position)))?;
        (range.quality > 0).then_some((Reverse(range.quality), position, *value))
    };
    let ranked = supported.iter().filter_map(rank);
    let best = ranked.min_by_key(|(quality, position, _)| (*quality, *position));
    best.map(|(_, _, value)| value).ok_or_else(not_acceptable)
}

/// The media type in a header, without its parameters.
pub(crate) fn media_type_of<'h>(headers: &'h HeaderMap, name: &HeaderName) -> &'h str {
    let value = headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim()
}

/// An entry of `Accept`: a media type, all subtypes of a type (`text/*`), or `*/*`.
struct MediaRange<'h> {
    media_type: &'h str,
    /// 0 to 1,000.
    quality: u32,
}

impl<'h> MediaRange<'h> {
    fn parse(text: &'h str) -> Self {
        let mut parts = text.split(';').map(str::trim);
        let media_type = parts.next().unwrap_or_default();
        let quality = parts.find_map(|part| part.strip_prefix("q=").or(part.strip_prefix("Q=")));
        let quality = quality.and_then(|quality| quality.parse::<f32>().ok()).unwrap_or(1.0);
        Self { media_type, quality: (quality.clamp(0.0, 1.0) * 1_000.0) as u32 }
    }

    fn matches(&self, name: &str) -> bool {
        let prefix = self.media_type.strip_suffix('*').filter(|prefix| prefix.ends_with('/'));
        self.media_type == "*/*"
            || self.media_type.eq_ignore_ascii_case(name)
            || prefix.is_some_and(|prefix| name.starts_with(prefix))
    }

    fn specificity(&self) -> usize {
        if self.media_type == "*/*" { 0 } else { 1 + usize::from(!self.media_type.ends_with('*')) }
    }
}

fn not_acceptable() -> Problem {
    let message = "none of the accepted media types is available";
    Problem::new(StatusCode::NOT_ACCEPTABLE, ErrorKind::Unsupported, message)
}
