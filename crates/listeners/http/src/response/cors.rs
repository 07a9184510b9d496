//! Cross-origin resource sharing: which pages of other origins browsers let read responses.

use crate::response::builder::ResponseBuilder;
use hyper::StatusCode;
use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ALLOW, HeaderMap, HeaderValue, ORIGIN,
    VARY,
};

/// The response to `OPTIONS`, for a resource with these methods.
pub(crate) fn preflight(methods: &'static str) -> ResponseBuilder {
    let mut response = ResponseBuilder::empty(StatusCode::NO_CONTENT);
    let headers = response.headers_mut();
    headers.insert(ALLOW, HeaderValue::from_static(methods));
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(methods));
    let allowed = "authorization, content-type, if-match, if-none-match, last-event-id, mcp-method, \
                   mcp-name, mcp-protocol-version, mcp-session-id, prefer";
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(allowed));
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    response
}

/// Allows the requesting origin to read a response, if it is among the allowed `origins`.
///
/// `*` exposes nothing to pages without credentials of their own: the server never asks browsers to
/// send cookies, so a page needs a token to get in.
pub(crate) fn allow_origin(
    origins: &[String],
    requesting: Option<&HeaderValue>,
    headers: &mut HeaderMap,
) {
    if origins.is_empty() {
        return;
    }
    headers.append(VARY, HeaderValue::from_name(ORIGIN));
    let Some(origin) = requesting else { return };
    if is_allowed(origins, origin) {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        let exposed = "etag, location, retry-after";
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(exposed));
    }
}

/// Whether an origin is among the allowed ones.
pub(crate) fn is_allowed(origins: &[String], origin: &HeaderValue) -> bool {
    origins.iter().any(|allowed| allowed == "*" || allowed.as_bytes() == origin.as_bytes())
}
