//! What became of one row: its changes, as far back as the feed goes.

use crate::answer::Answer;
use crate::call::Call;
use crate::events::gone;
use crate::json::{Numbers, write_row};
use crate::key::read_key;
use crate::model::Table;
use crate::problem::Problem;
use crate::sight::{Sight, write_head};
use crate::work;
use bobak::changes::Change;
use bobak_core::feed::Log;
use bobak_core::{DynRow, Value};
use hyper::StatusCode;
use std::sync::Arc;

/// What is asked for.
struct Asked {
    table: Arc<Table>,
    key: Vec<Value<'static>>,
    since: Option<u64>,
    limit: u64,
    numbers: Numbers,
    /// The bytes of rows after which it ends.
    longest: usize,
}

/// `GET /tables/{table}/rows/{key}/history`
pub(crate) async fn history(call: &mut Call, name: &str, key: &str) -> Result<Answer, Problem> {
    let table = call.table(name).await?;
    let key = read_key(&table, key)?;
    let (since, limit) = (call.parameters.number("since")?, call.parameters.number("limit")?);
    let numbers = call.numbers()?;
    call.parameters.finish()?;
    let settings = &call.shared.settings;
    let limit = limit.unwrap_or(settings.page);
    if limit == 0 || limit > settings.longest_page {
        let most = settings.longest_page;
        return Err(Problem::bad_request(format!(
            "a history is read 1 to {most} changes at a time"
        )));
    }
    let longest = settings.answer;
    let asked = Asked { table, key, since, limit, numbers, longest };
    let base = Arc::clone(&call.base);
    let body = work::run(move || {
        let sight = Sight { filter: None, readable: base.feed.readable(&asked.table.schema)? };
        let log = Log::of(Arc::clone(&asked.table.schema))?;
        // One more shows whether there are more.
        let session = base.feed.engine.session()?;
        let limit = Some(asked.limit.saturating_add(1));
        let since = asked.since.unwrap_or(0);
        let changes = log.list_row(&*session, &asked.key, since, limit, asked.longest);
        let (changes, more) = changes.map_err(gone)?;
        let body = page(&asked, &sight, &changes, more);
        // Who sees nothing of it may not learn that there is anything.
        if body.is_none() && asked.since.is_none() {
            let mut is_there = false;
            base.engine.get(&asked.table.schema, &asked.key, &mut |_| {
                is_there = true;
                Ok(())
            })?;
            if !is_there {
                return Err(Problem::not_found());
            }
        }
        Ok(body.unwrap_or_else(|| "{\"changes\":[],\"more\":false}\n".to_owned()))
    });
    Ok(Answer::json(StatusCode::OK, body.await?))
}

/// The changes of which something is seen; `None` where there are none.
fn page(asked: &Asked, sight: &Sight, changes: &[Change], more: bool) -> Option<String> {
    let shown = usize::try_from(asked.limit).unwrap_or(usize::MAX).min(changes.len());
    let (page, rest) = changes.split_at(shown);
    let mut body = String::from("{\"changes\":[");
    let begun = body.len();
    for change in page {
        let Some(kind) = sight.kind_of(change) else { continue };
        body.push_str(if body.len() == begun { "\n" } else { ",\n" });
        body.push_str(&format!("{{\"id\":{},\"kind\":\"{}\",", change.id, kind.name()));
        write_head(&mut body, change, asked.numbers);
        for (name, row) in [("before", &change.before), ("after", &change.after)] {
            body.push_str(&format!(",\"{name}\":"));
            write_seen(&mut body, asked, change, row.as_ref().filter(|_| sight.sees(change, row)));
        }
        body.push('}');
    }
    let more = page.last().filter(|_| more || !rest.is_empty());
    if body.len() == begun && more.is_none() {
        return None;
    }
    match more {
        Some(last) => body.push_str(&format!("],\n\"more\":true,\"next\":{}}}\n", last.id)),
        None => body.push_str("],\n\"more\":false}\n"),
    }
    Some(body)
}

fn write_seen(body: &mut String, asked: &Asked, change: &Change, row: Option<&DynRow>) {
    let Some(row) = row else { return body.push_str("null") };
    let table = asked.table.as_of(change);
    write_row(body, &table, 0..table.schema.columns().len(), asked.numbers, row);
}
