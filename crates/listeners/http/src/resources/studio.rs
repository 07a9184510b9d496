//! The files of the studio, the web application: embedded in the program.
//!
//! The modules that the first page needs are sent as one file, since each request costs a browser milliseconds. Their own names
//! lead to that file, so that the other modules share them. Nothing is compiled: the files in the folder `studio` are
//! modules that run as they are.

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
    "workbook.js", "dependents.js",
}

/// The modules of the first page. Each comes after those that it needs while it is loaded.
const FIRST_PAGE: [&str; 8] =
    ["api.js", "dom.js", "values.js", "editors.js", "grid.js", "row.js", "data.js", "app.js"];

/// The name of the file with these modules.
const BUNDLE: &str = "bundle.js";

/// The files that the page names with their version, so that a browser keeps them until they change.
const VERSIONED: [&str; 4] = [BUNDLE, "early.js", "icon.svg", "style.css"];

/// `GET /studio/{file}?v={version}`; the page, if the name is empty.
pub(crate) fn file(
    name: &str,
    query: Option<&str>,
    headers: &HeaderMap,
) -> Result<ResponseBuilder, Problem> {
    let name = if name.is_empty() { "index.html" } else { name };
    let bytes = content(name).ok_or_else(Problem::not_found)?;
    let etag = Etag::of(&bytes);
    let is_this_version = query.is_some_and(|query| query == version_parameter(&etag));
    let caching = if is_this_version { "public, max-age=31536000, immutable" } else { "no-cache" };
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
        (CACHE_CONTROL, caching),
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

fn version_parameter(etag: &Etag) -> String {
    format!("v={}", etag.as_str().trim_matches('"'))
}

/// What a file is sent as.
fn content(name: &str) -> Option<Cow<'static, [u8]>> {
    match name {
        BUNDLE => bundle(),
        "index.html" => page(),
        name if FIRST_PAGE.contains(&name) => {
            let version = version_parameter(&Etag::of(&bundle()?));
            Some(format!("export * from \"./{BUNDLE}?{version}\";\n").into_bytes().into())
        }
        name => source(name),
    }
}

/// The modules of the first page, without their imports from one another. A name at the top of one module occurs in no other.
fn bundle() -> Option<Cow<'static, [u8]>> {
    let mut bundle = Vec::new();
    for name in FIRST_PAGE {
        let source = source(name)?;
        let lines = source.split_inclusive(|byte| *byte == b'\n');
        lines.filter(|line| !line.starts_with(b"import ")).for_each(|line| bundle.extend(line));
    }
    Some(bundle.into())
}

/// The page, with the versions of the files that it loads.
fn page() -> Option<Cow<'static, [u8]>> {
    let mut page = String::from_utf8_lossy(&source("index.html")?).into_owned();
    for name in VERSIONED {
        let version = version_parameter(&Etag::of(&content(name)?));
        page = page.replace(&format!("\"{name}\""), &format!("\"{name}?{version}\""));
    }
    Some(page.into_bytes().into())
}

/// A file of the folder `studio`: in builds for development, that on disk, so that a change needs no build.
fn source(name: &str) -> Option<Cow<'static, [u8]>> {
    let (name, embedded) = FILES.iter().find(|(other, _)| *other == name)?;
    if cfg!(debug_assertions) {
        let path = format!("{}/studio/{name}", env!("CARGO_MANIFEST_DIR"));
        if let Ok(bytes) = std::fs::read(path) {
            return Some(Cow::Owned(bytes));
        }
    }
    Some(Cow::Borrowed(embedded))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_of_the_first_page_import_one_another_only() {
        for name in FIRST_PAGE {
            let source = String::from_utf8(source(name).unwrap().into_owned()).unwrap();
            for line in source.lines().filter(|line| line.starts_with("import ")) {
                let from = line.strip_suffix("\";").and_then(|line| line.split_once("from \"./"));
                let (names, from) = from.unwrap_or_else(|| panic!("{name}: {line}"));
                assert!(FIRST_PAGE.contains(&from), "{name}: {line}");
                assert!(!names.contains(" as "), "{name}: the bundle has one name for it: {line}");
            }
        }
        let bundle = String::from_utf8(bundle().unwrap().into_owned()).unwrap();
        assert!(bundle.contains("\nexport function h(") && !bundle.contains("\nimport "));
        assert!(!bundle.contains("\nexport {"), "a name is exported once, where it is defined");
    }

    #[test]
    fn the_page_names_the_version_of_what_it_loads() {
        let page = String::from_utf8(content("index.html").unwrap().into_owned()).unwrap();
        for name in VERSIONED {
            let (_, after) = page.split_once(&format!("\"{name}?")).unwrap();
            let (version, _) = after.split_once('"').unwrap();
            let headers = HeaderMap::new();
            let caching = |query| {
                let mut response = file(name, query, &headers).unwrap();
                response.headers_mut().get(CACHE_CONTROL).unwrap().to_str().unwrap().to_owned()
            };
            assert!(caching(Some(version)).ends_with("immutable"), "{name}");
            assert_eq!(caching(Some("v=other")), "no-cache");
            assert_eq!(caching(None), "no-cache");
        }
    }
}
