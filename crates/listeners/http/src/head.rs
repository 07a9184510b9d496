//! What hyper lets pass in a head and HTTP/1.1 does not (RFC 9112), requests that two servers in a
//! row may read in two ways; and heads that are too long. Of these hyper refuses by itself what is
//! beyond its buffer, with an answer that has no document: so the limits here are below it.

use crate::problem::Problem;
use bobak_core::{Error, ErrorKind};
use hyper::header::{HOST, HeaderName, HeaderValue, TRANSFER_ENCODING};
use hyper::http::request::Parts;
use hyper::{StatusCode, Version};

/// The most bytes of a request's path with its parameters, and of its header fields: together less
/// than hyper takes.
const LONGEST_TARGET: usize = 32 << 10;
const LONGEST_FIELDS: usize = 24 << 10;

/// Refuses a request that is too long, without one `Host`, or in a coding that is not read here.
///
/// # Errors
/// 400, 414, 431, 501.
pub(crate) fn check(head: &Parts) -> Result<(), Problem> {
    check_length(head)?;
    let hosts = head.headers.get_all(HOST).iter().count();
    if hosts > 1 || hosts == 0 && head.version == Version::HTTP_11 {
        return Err(Problem::bad_request("a request has one header Host"));
    }
    let mut codings = head.headers.get_all(TRANSFER_ENCODING).iter();
    if codings.any(|coding| !coding.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked")) {
        let message = "of transfer codings only chunked is read: send the body as it is";
        let error = Error::new(ErrorKind::Unsupported, message);
        return Err(Problem::with(StatusCode::NOT_IMPLEMENTED, error));
    }
    Ok(())
}

fn check_length(head: &Parts) -> Result<(), Problem> {
    let target = head.uri.path_and_query().map_or(0, |target| target.as_str().len());
    if target > LONGEST_TARGET {
        let message = format!(
            "a path with parameters of {target} bytes, where {LONGEST_TARGET} may be: ask in several requests"
        );
        return Err(Problem::new(StatusCode::URI_TOO_LONG, ErrorKind::OutOfRange, message));
    }
    // With the colon, the space and the end of the line.
    let field = |(name, value): (&HeaderName, &HeaderValue)| name.as_str().len() + value.len() + 4;
    let fields: usize = head.headers.iter().map(field).sum();
    if fields > LONGEST_FIELDS {
        let message = format!("header fields of {fields} bytes, where {LONGEST_FIELDS} may be");
        let status = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
        return Err(Problem::new(status, ErrorKind::OutOfRange, message));
    }
    Ok(())
}
