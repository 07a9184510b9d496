//! What hyper lets pass in a head and HTTP/1.1 does not (RFC 9112): requests that two servers in a
//! row may read in two ways.

use crate::problem::Problem;
use bobak_core::{Error, ErrorKind};
use hyper::header::{HOST, TRANSFER_ENCODING};
use hyper::http::request::Parts;
use hyper::{StatusCode, Version};

/// Refuses a request without one `Host`, or in a coding that is not read here.
///
/// # Errors
/// 400, 501.
pub(crate) fn check(head: &Parts) -> Result<(), Problem> {
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
