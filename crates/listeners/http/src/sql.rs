//! SQL, where it is allowed.

use crate::answer::Answer;
use crate::call::Call;
use crate::json::{Numbers, no_json, read_value, write_cell};
use crate::problem::Problem;
use crate::settings::SqlAccess;
use crate::work;
use bobak_core::{Control, Error, ErrorKind, Result, Row, RowBuffer, Session, Source, Type, Value};
use bobak_permissions::reads_only;
use bobak_sql::{only_reads, returns_rows};
use bobak_text::json::write_string;
use hyper::StatusCode;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::sync::Arc;

/// What is sent.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Statement {
    sql: String,
    #[serde(default)]
    parameters: Vec<Box<RawValue>>,
}

/// `POST /sql`
pub(crate) async fn sql(call: &mut Call) -> Result<Answer, Problem> {
    let access = call.guest.sql;
    if access == SqlAccess::None {
        return Err(Problem::not_found());
    }
    let numbers = call.numbers()?;
    call.parameters.finish()?;
    let body = call.body(&["application/json"]).await?;
    let statement: Statement = serde_json::from_slice(&body).map_err(|error| no_json(&error))?;
    let text = statement.sql;
    let values = statement.parameters.iter().map(|json| read_value(Type::Any, json.get()));
    let parameters =
        values.map(|value| value.map(Value::into_owned)).collect::<Result<Vec<_>>>()?;
    let base = Arc::clone(&call.base);
    let (most, longest) = (call.shared.settings.longest_page, call.shared.settings.answer);
    let body = work::run(move || {
        let session = base.engine.session()?;
        if access == SqlAccess::Read {
            only_read(&*session, &text)?;
        }
        if !returns_rows(&text) {
            let changed = session.execute(&text, &parameters)?;
            if changes_tables(&text) {
                base.forget();
            }
            return Ok(format!("{{\"changed\":{changed}}}\n"));
        }
        let source = Source::Sql { text: &text, parameters: &parameters };
        Ok(rows(&*session, &source, numbers, (most, longest))?)
    })
    .await?;
    Ok(Answer::json(StatusCode::OK, body))
}

/// Whether a statement may change what tables there are: whatever is no plain write.
fn changes_tables(text: &str) -> bool {
    let word = text.trim_start().split(|c: char| !c.is_ascii_alphabetic()).next();
    let plain = ["insert", "update", "delete", "replace"];
    !plain.iter().any(|verb| word.is_some_and(|word| word.eq_ignore_ascii_case(verb)))
}

/// Has the engine refuse what does more than to read.
fn only_read(session: &dyn Session, text: &str) -> Result<()> {
    match session.set_authorizer(reads_only()) {
        Err(error) if error.kind() == ErrorKind::Unsupported => {}
        told => return told,
    }
    // It can't tell what a statement does. Its words do; and a function, or what looks like a text,
    // may write all the same: that is undone.
    if !only_reads(text) {
        return Err(Error::new(ErrorKind::Denied, "only statements that read may be sent"));
    }
    session.control(Control::Begin)
}

/// The rows, as far as so many, and about so many bytes, go.
fn rows(
    session: &dyn Session,
    source: &Source<'_>,
    numbers: Numbers,
    (most, longest): (u64, usize),
) -> Result<String> {
    let mut cursor = session.open(source)?;
    let mut body = String::from("{\"columns\":[");
    for (at, name) in cursor.columns.iter().enumerate() {
        body.push_str(if at > 0 { "," } else { "" });
        write_string(&mut body, name);
    }
    body.push_str("],\n\"rows\":[");
    let (mut part, mut count, mut more) = (RowBuffer::default(), 0, false);
    'all: loop {
        session.fetch(&mut cursor, &mut part)?;
        if part.rows() == 0 {
            break;
        }
        while let Some(row) = part.next_row()? {
            if count == most || body.len() >= longest {
                more = true;
                break 'all;
            }
            body.push_str(if count == 0 { "\n[" } else { ",\n[" });
            for place in 0..row.len() {
                body.push_str(if place > 0 { "," } else { "" });
                write_cell(&mut body, Type::Any, numbers, row.get(place));
            }
            body.push(']');
            count += 1;
        }
    }
    session.close(&mut cursor);
    body.push_str(if more { "],\n\"more\":true}\n" } else { "],\n\"more\":false}\n" });
    Ok(body)
}
