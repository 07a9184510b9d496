//! What a browser shows first: the tables, with links to what can be asked of them.

use crate::answer::Answer;
use crate::call::Call;
use crate::key::escape;
use crate::problem::Problem;
use hyper::StatusCode;
use hyper::header::CONTENT_SECURITY_POLICY;
use std::fmt::Write;

/// What can be asked of a table, behind its path.
const LINKS: [(&str, &str); 3] = [("", "columns"), ("/rows", "rows"), ("/export", "export")];

/// `GET /`
pub(crate) async fn home(call: &mut Call) -> Result<Answer, Problem> {
    call.parameters.finish()?;
    call.accepts(&[("text/html", ())])?;
    let model = call.base.model().await?;
    let mut page = String::from(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>Bobak</title>\n\
         <style>body{font-family:sans-serif;margin:2em}td{padding:.2em 1em .2em 0}</style>\n",
    );
    let home = format!("/databases/{}", escape(&call.base.name));
    let name = text(&call.base.name);
    // A String takes whatever is written.
    let _ = writeln!(page, "<h1>{name}</h1>\n<table>");
    for table in model.sorted() {
        let (name, path) = (text(table.schema.name()), escape(table.schema.name()));
        let _ = write!(page, "<tr><td>{name}");
        for (what, label) in LINKS {
            let _ = write!(page, "<td><a href=\"{home}/tables/{path}{what}\">{label}</a>");
        }
        page.push('\n');
    }
    let _ =
        writeln!(page, "</table>\n<p><a href=\"{home}/openapi.json\">All that can be asked</a>");
    for base in &call.guest.bases {
        let (name, path) = (text(&base.name), escape(&base.name));
        let _ = writeln!(page, "<br><a href=\"/databases/{path}/\">Database {name}</a>");
    }
    let answer = Answer::text(StatusCode::OK, "text/html; charset=utf-8", page);
    Ok(answer.with(CONTENT_SECURITY_POLICY, "default-src 'none'; style-src 'unsafe-inline'"))
}

/// A text as it stands in a page.
fn text(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            _ => safe.push(letter),
        }
    }
    safe
}
