//! Lists: a page of rows, with how to go on.

use crate::answer::Answer;
use crate::call::Call;
use crate::etag::Etag;
use crate::json::{Numbers, write_row};
use crate::key::write_key;
use crate::model::Table;
use crate::problem::Problem;
use crate::selection::Selection;
use crate::work;
use bobak_core::{Engine, Expr, Row, Session, Source, Value, ValueRef};
use bobak_text::json::write_string;
use hyper::StatusCode;
use hyper::header::{ETAG, IF_NONE_MATCH};
use std::sync::Arc;

/// What a list is asked for.
struct Asked {
    table: Arc<Table>,
    selection: Selection,
    places: Vec<usize>,
    numbers: Numbers,
    total: bool,
    limit: u64,
    /// The bytes after which the page ends.
    longest: usize,
}

/// `GET /tables/{table}/rows`
pub(crate) async fn list(call: &mut Call, table: &str) -> Result<Answer, Problem> {
    let asked = asked(call, table).await?;
    let base = Arc::clone(&call.base);
    let body = work::run(move || page(&*base.engine, &asked)).await?;
    let tag = Etag::of(body.as_bytes());
    Ok(match tag.is_in(call.headers(), &IF_NONE_MATCH) {
        Some(true) => tag.not_modified(call.headers(), body.len()),
        _ => Answer::json(StatusCode::OK, body).with(ETAG, tag.as_str()),
    })
}

async fn asked(call: &mut Call, table: &str) -> Result<Asked, Problem> {
    let table = call.table(table).await?;
    let mut selection = Selection::take(&mut call.parameters, &table)?;
    let places = match call.parameters.take("columns") {
        Some(names) => table.places(&names)?,
        None => (0..table.schema.columns().len()).collect(),
    };
    let numbers = call.numbers()?;
    let total = call.parameters.flag("total")?;
    call.parameters.finish()?;
    let settings = &call.shared.settings;
    let limit = selection.limit.unwrap_or(settings.page);
    if limit > settings.longest_page {
        let most = settings.longest_page;
        let message = format!("a list has at most {most} rows: go on behind its last, or export");
        return Err(Problem::bad_request(message));
    }
    // One more shows whether there are more.
    selection.limit = Some(limit + 1);
    Ok(Asked { table, selection, places, numbers, total, limit, longest: settings.answer })
}

fn page(engine: &dyn Engine, asked: &Asked) -> Result<String, Problem> {
    let table = &*asked.table;
    // The key behind them, for the next page.
    let places = asked.places.iter().chain(table.schema.key());
    let columns = places.map(|&place| Expr::Column(place)).collect();
    let select = asked.selection.select(table, columns)?;
    let session = engine.session()?;
    let mut body = String::with_capacity(4_096);
    body.push_str("{\"rows\":[");
    let (mut rows, mut more, mut next) = (0, false, None);
    session.query(&Source::Select(&select), &mut |row| {
        if rows == asked.limit || body.len() >= asked.longest {
            more = true;
            return Ok(false);
        }
        body.push_str(if rows == 0 { "\n" } else { ",\n" });
        write_row(&mut body, table, asked.places.iter().copied(), asked.numbers, row);
        rows += 1;
        let ends = rows == asked.limit || body.len() >= asked.longest;
        if ends && asked.selection.is_by_key() {
            next = behind(table, row, asked.places.len());
        }
        Ok(true)
    })?;
    body.push_str("],\n\"more\":");
    body.push_str(if more { "true" } else { "false" });
    if let Some(key) = next.filter(|_| more) {
        body.push_str(",\"next\":");
        write_string(&mut body, &key);
    }
    if asked.total {
        body.push_str(",\"total\":");
        body.push_str(itoa::Buffer::new().format(total(&*session, asked)?));
    }
    body.push_str("}\n");
    Ok(body)
}

/// The key of a row, which stands behind its columns; `None` where a text can't say it: one with a
/// NULL, which SQLite lets into keys.
fn behind(table: &Table, row: &dyn Row, first: usize) -> Option<String> {
    let key: Vec<Value<'_>> = (first..row.len()).map(|place| row.get(place).into()).collect();
    (!key.iter().any(Value::is_null)).then(|| write_key(table, &key))
}

/// How many rows the filter keeps.
fn total(session: &dyn Session, asked: &Asked) -> Result<i64, Problem> {
    let count = asked.selection.all().to_select(&asked.table.schema, vec![Expr::Count])?;
    let mut total = 0;
    session.query(&Source::Select(&count), &mut |row| {
        if let ValueRef::Int(rows) = row.get(0) {
            total = rows;
        }
        Ok(true)
    })?;
    Ok(total)
}
