//! The home page: the tables, with links to their resources.

use crate::problem::Problem;
use crate::request::context::RequestContext;
use crate::request::key::encode_segment;
use crate::request::media_type::negotiate;
use crate::response::builder::ResponseBuilder;
use hyper::StatusCode;
use hyper::header::CONTENT_SECURITY_POLICY;
use std::fmt::Write;

/// The links of a table: the rest of the path, and the label.
const LINKS: [(&str, &str); 3] = [("", "columns"), ("/rows", "rows"), ("/export", "export")];

/// `GET /`
pub(crate) async fn home(request: &mut RequestContext) -> Result<ResponseBuilder, Problem> {
    request.parameters.finish()?;
    negotiate(request.headers(), &[("text/html", ())])?;
    let catalog = request.database.schema.catalog().await?;
    let mut page = String::from(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>Bobak</title>\n\
         <style>body{font-family:sans-serif;margin:2em}td{padding:.2em 1em .2em 0}</style>\n",
    );
    let home = format!("/databases/{}", encode_segment(&request.database.name));
    let name = escape_html(&request.database.name);
    // Writing to a string can't fail.
    let _ = writeln!(page, "<h1>{name}</h1>\n<table>");
    for table in catalog.sorted() {
        let name = table.schema.name();
        let (label, path) = (escape_html(name), encode_segment(name));
        let _ = write!(page, "<tr><td>{label}");
        for (rest, label) in LINKS {
            let _ = write!(page, "<td><a href=\"{home}/tables/{path}{rest}\">{label}</a>");
        }
        page.push('\n');
    }
    let _ = writeln!(page, "</table>\n<p><a href=\"{home}/openapi.json\">OpenAPI document</a>");
    for database in &request.client.databases {
        let (label, path) = (escape_html(&database.name), encode_segment(&database.name));
        let _ = writeln!(page, "<br><a href=\"/databases/{path}/\">Database {label}</a>");
    }
    let response = ResponseBuilder::text(StatusCode::OK, "text/html; charset=utf-8", page);
    Ok(response.with(CONTENT_SECURITY_POLICY, "default-src 'none'; style-src 'unsafe-inline'"))
}

fn escape_html(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            _ => escaped.push(c),
        }
    }
    escaped
}
