//! Checks on request headers that hyper does not make.
//!
//! hyper accepts some requests that RFC 9112 forbids, because two servers in a row may read them in
//! two ways (request smuggling). And it rejects headers beyond its buffer with a bare error, so the
//! limits here are lower, to respond with a problem document.

use crate::problem::Problem;
use bobak_core::{Error, ErrorKind};
use hyper::header::{AUTHORIZATION, HOST, HeaderName, HeaderValue, TRANSFER_ENCODING};
use hyper::http::request::Parts;
use hyper::{StatusCode, Version};

/// The most bytes of path and query, and of all header fields. Their sum is less than hyper's buffer.
const MAX_TARGET_LENGTH: usize = 32 << 10;
const MAX_FIELDS_LENGTH: usize = 24 << 10;

/// Rejects requests that are too long, have not exactly one `Host`, several `Authorization` headers, or an
/// unsupported transfer coding.
///
/// # Errors
/// 400, 414, 431, 501.
pub(crate) fn check(parts: &Parts) -> Result<(), Problem> {
    check_length(parts)?;
    let hosts = parts.headers.get_all(HOST).iter().count();
    if hosts > 1 || hosts == 0 && parts.version == Version::HTTP_11 {
        return Err(Problem::bad_request("a request must have exactly one Host header"));
    }
    // The first would count here, and perhaps the last for a proxy.
    if parts.headers.get_all(AUTHORIZATION).iter().count() > 1 {
        return Err(Problem::bad_request("a request may have only one Authorization header"));
    }
    let mut codings = parts.headers.get_all(TRANSFER_ENCODING).iter();
    if codings.any(|coding| !coding.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked")) {
        let message = "the only supported transfer coding is chunked";
        let error = Error::new(ErrorKind::Unsupported, message);
        return Err(Problem::with_status(StatusCode::NOT_IMPLEMENTED, error));
    }
    Ok(())
}

fn check_length(parts: &Parts) -> Result<(), Problem> {
    let target = parts.uri.path_and_query().map_or(0, |target| target.as_str().len());
    if target > MAX_TARGET_LENGTH {
        let message = format!(
            "path and query have {target} bytes, more than the limit of {MAX_TARGET_LENGTH}"
        );
        return Err(Problem::new(StatusCode::URI_TOO_LONG, ErrorKind::OutOfRange, message));
    }
    // Including the colon, the space and the line end.
    let field = |(name, value): (&HeaderName, &HeaderValue)| name.as_str().len() + value.len() + 4;
    let fields: usize = parts.headers.iter().map(field).sum();
    if fields > MAX_FIELDS_LENGTH {
        let message =
            format!("the headers have {fields} bytes, more than the limit of {MAX_FIELDS_LENGTH}");
        let status = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
        return Err(Problem::new(status, ErrorKind::OutOfRange, message));
    }
    Ok(())
}
