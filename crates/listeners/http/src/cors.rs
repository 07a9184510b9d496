//! Pages of other origins: what a browser is told before and after it asks on their behalf.

use crate::answer::Answer;
use hyper::StatusCode;
use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ALLOW, HeaderMap, HeaderValue, ORIGIN,
    VARY,
};

/// Answers `OPTIONS`: what may be done here.
pub(crate) fn options(allow: &'static str) -> Answer {
    let mut answer = Answer::empty(StatusCode::NO_CONTENT);
    let headers = answer.headers_mut();
    headers.insert(ALLOW, HeaderValue::from_static(allow));
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(allow));
    let known = "authorization, content-type, if-match, if-none-match, last-event-id, prefer";
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(known));
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    answer
}

/// Says to the browser that the page may see the answer, where its origin is among those let in.
/// Cookies are never asked for, so `*` gives nothing away but to who has a token.
pub(crate) fn admit(origins: &[String], asked: Option<&HeaderValue>, headers: &mut HeaderMap) {
    if origins.is_empty() {
        return;
    }
    headers.append(VARY, HeaderValue::from_name(ORIGIN));
    let Some(origin) = asked else { return };
    if origins.iter().any(|known| known == "*" || known.as_bytes() == origin.as_bytes()) {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        let exposed = "etag, location, retry-after";
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(exposed));
    }
}
