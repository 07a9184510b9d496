//! The files of the studio, the web application: embedded in the program.

use crate::problem::Problem;
use crate::request::key::encode_segment;
use crate::request::media_type::negotiate;
use crate::response::builder::ResponseBuilder;
use crate::response::compression::ContentCoding;
use crate::response::etag::Etag;
use hyper::StatusCode;
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, ETAG, HeaderMap, HeaderName, IF_NONE_MATCH, LOCATION,
    REFERRER_POLICY,
};
use hyper::http::request::Parts;
use std::borrow::Cow;

/// The page may load nothing but the files here, run no script in the page's text, and not be framed. Values of the
/// database never become markup: with trusted types, the browser rejects the attempt.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
                      require-trusted-types-for 'script'; trusted-types 'none'";

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        /// The names and contents of the files.
        const FILES: &[(&str, &[u8])] =
            &[$(($name, include_bytes!(concat!("../../studio/", $name)))),*];
    };
}

files! {
    "index.html", "style.css", "icon.svg", "admin.js", "app.js", "api.js", "dom.js", "grid.js", "values.js", "editors.js", "data.js", "early.js",
    "row.js", "import.js", "query.js", "chart.js", "live.js", "migrate.js", "schema.js", "server.js", "statements.js", "create.js",
    "workbook.js",
}

/// `GET /studio/{file}`; the page, if the name is empty.
pub(crate) fn file(name: &str, headers: &HeaderMap) -> Result<ResponseBuilder, Problem> {
    let name = if name.is_empty() { "index.html" } else { name };
    let file = FILES.iter().find(|(other, _)| *other == name);
    let (name, embedded) = file.ok_or_else(Problem::not_found)?;
    let bytes = content(name, embedded);
    let etag = Etag::of(&bytes);
    let mut response = if etag.matches(headers, &IF_NONE_MATCH) == Some(true) {
        let response = ResponseBuilder::empty(StatusCode::NOT_MODIFIED);
        let mut response = response.with(ETAG, etag.as_str());
        let compression = ContentCoding::accepted(headers);
        compression.set_not_modified_headers(response.headers_mut(), bytes.len());
        response
    } else {
        ResponseBuilder::text(StatusCode::OK, media_type(name), bytes.into_owned())
            .with(ETAG, etag.as_str())
    };
    let isolation = [
        (CONTENT_SECURITY_POLICY, POLICY),
        (REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (CACHE_CONTROL, "no-cache"),
    ];
    for (name, value) in isolation {
        response = response.with(name, value);
    }
    Ok(response)
}

fn media_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "html" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        _ => "text/javascript; charset=utf-8",
    }
}

/// `GET /`: sends browsers to the studio, where they sign in.
pub(crate) fn redirect(
    database: &Option<String>,
    parts: &Parts,
) -> Result<ResponseBuilder, Problem> {
    negotiate(&parts.headers, &[("text/html", ())])?;
    // Relative, so that it holds behind a proxy that serves this under a path of its own.
    let location = match database {
        Some(name) => format!("../../studio/#/data/{}", encode_segment(name)),
        None => "studio/".to_owned(),
    };
    Ok(ResponseBuilder::empty(StatusCode::SEE_OTHER).with(LOCATION, &location))
}

/// The content of a file: in builds for development, that on disk, so that a change needs no build.
fn content(name: &str, embedded: &'static [u8]) -> Cow<'static, [u8]> {
    if cfg!(debug_assertions) {
        let path = format!("{}/studio/{name}", env!("CARGO_MANIFEST_DIR"));
        if let Ok(bytes) = std::fs::read(path) {
            return Cow::Owned(bytes);
        }
    }
    Cow::Borrowed(embedded)
}
