//! Responses to `If-None-Match`: 304 if the client already has the document.

use crate::response::builder::ResponseBuilder;
use crate::response::compression::ContentCoding;
use crate::response::etag::Etag;
use hyper::StatusCode;
use hyper::header::{ETAG, HeaderMap, IF_NONE_MATCH};

/// A JSON document with its entity tag; without its body if the request's `If-None-Match` names the
/// tag.
pub(crate) fn json_or_not_modified(
    request: &HeaderMap,
    etag: &Etag,
    body: String,
) -> ResponseBuilder {
    if etag.matches(request, &IF_NONE_MATCH) == Some(true) {
        let mut response =
            ResponseBuilder::empty(StatusCode::NOT_MODIFIED).with(ETAG, etag.as_str());
        let compression = ContentCoding::accepted(request);
        compression.set_not_modified_headers(response.headers_mut(), body.len());
        return response;
    }
    ResponseBuilder::json(StatusCode::OK, body).with(ETAG, etag.as_str())
}
