//! Whether a browser sends a request for a page of this server, or for one of another site.
//!
//! A browser adds the session's cookie to every request, also to those that other pages make it send (cross-site request
//! forgery). `SameSite=Strict` prevents most of that, but pages at other ports of this host count as the same site. So a
//! request with a session must also come from this origin: browsers say so in `Sec-Fetch-Site` and in `Origin`, which no
//! page can change.

use crate::problem::Problem;
use bobak_core::ErrorKind;
use hyper::header::{HOST, HeaderMap, ORIGIN};
use hyper::http::request::Parts;
use hyper::http::uri::Authority;
use hyper::{Method, StatusCode};
use std::net::IpAddr;

/// Rejects a request that another site's page makes, and a write that does not say where it comes from.
///
/// # Errors
/// 403.
pub(crate) fn check(parts: &Parts) -> Result<(), Problem> {
    let is_read = matches!(parts.method, Method::GET | Method::HEAD);
    let text = |name| parts.headers.get(name).and_then(|value| value.to_str().ok());
    let site = text(hyper::header::HeaderName::from_static("sec-fetch-site"));
    let is_own_site = match site {
        // The user typed the address, or opened a bookmark or a download.
        Some("none") => is_read,
        Some(site) => site == "same-origin",
        // Browsers send it to https and to this machine only.
        None => is_read || parts.headers.contains_key(ORIGIN),
    };
    let is_own_origin =
        !parts.headers.contains_key(ORIGIN) || origin_scheme(&parts.headers).is_some();
    if is_own_site && is_own_origin {
        return Ok(());
    }
    let message = "the session is for pages of this server only: other programs send a token, see `bobak token`; a proxy in \
                   front must pass the Host header on";
    Err(Problem::new(StatusCode::FORBIDDEN, ErrorKind::Denied, message))
}

/// Whether the browser uses TLS: then the request's page has this origin, and the scheme https.
pub(crate) fn is_secure(headers: &HeaderMap) -> bool {
    origin_scheme(headers) == Some("https")
}

/// Whether a page has loaded from this server by an address, or by the name of this machine: a name of the page's own may have
/// been another address before (DNS rebinding).
pub(crate) fn is_own_address(headers: &HeaderMap) -> bool {
    let authority =
        headers.get(HOST).and_then(|host| host.to_str().ok()?.parse::<Authority>().ok());
    let is_address = |authority: Authority| {
        let host = authority.host();
        let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        host == "localhost" || inner.unwrap_or(host).parse::<IpAddr>().is_ok()
    };
    origin_scheme(headers).is_some() && authority.is_some_and(is_address)
}

/// The scheme of `Origin`, if the rest of it is `Host`.
fn origin_scheme(headers: &HeaderMap) -> Option<&str> {
    let (scheme, authority) = headers.get(ORIGIN)?.to_str().ok()?.split_once("://")?;
    let host = headers.get(HOST)?.to_str().ok()?;
    authority.eq_ignore_ascii_case(host).then_some(scheme)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::Request;

    const OWN: (&str, &str) = ("origin", "http://localhost:4716");
    const DENIED: Option<StatusCode> = Some(StatusCode::FORBIDDEN);

    /// Method, headers, and the error.
    type Case = (&'static str, &'static [(&'static str, &'static str)], Option<StatusCode>);

    const CASES: &[Case] = &[
        ("GET", &[], None),
        ("GET", &[("sec-fetch-site", "none")], None),
        ("GET", &[("sec-fetch-site", "same-origin")], None),
        ("GET", &[("sec-fetch-site", "same-site")], DENIED),
        ("GET", &[("sec-fetch-site", "cross-site")], DENIED),
        ("GET", &[("origin", "http://localhost:3000")], DENIED),
        ("POST", &[], DENIED),
        ("POST", &[("sec-fetch-site", "none")], DENIED),
        ("POST", &[OWN], None),
        ("POST", &[OWN, ("sec-fetch-site", "same-origin")], None),
        ("POST", &[OWN, ("sec-fetch-site", "same-site")], DENIED),
        ("POST", &[("origin", "http://localhost:3000")], DENIED),
        ("POST", &[("origin", "http://localhost")], DENIED),
        ("DELETE", &[("origin", "null"), ("sec-fetch-site", "same-origin")], DENIED),
        ("POST", &[("origin", "http://evil.example"), ("sec-fetch-site", "same-origin")], DENIED),
    ];

    #[test]
    fn only_pages_of_this_origin_use_a_session() {
        for (method, headers, expected) in CASES {
            let mut request = Request::builder().method(*method).header(HOST, "localhost:4716");
            for (name, value) in *headers {
                request = request.header(*name, *value);
            }
            let result = check(&request.body(()).unwrap().into_parts().0);
            let status = result.err().map(|error| error.status());
            assert_eq!(status, *expected, "{method} {headers:?}");
        }
    }
}
