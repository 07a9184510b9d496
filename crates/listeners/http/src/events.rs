//! Live changes of a table as server-sent events, from any change on.

use crate::answer::{Answer, Body, Part};
use crate::call::Call;
use crate::feed::Feed;
use crate::json::{Numbers, write_row};
use crate::model::{Base, Table};
use crate::problem::{Problem, write_problem};
use crate::selection::filter;
use crate::server::Shared;
use crate::sight::{Sight, write_head};
use crate::work;
use bobak::changes::{Change, ChangeKind, ChangePage, Changes};
use bobak_core::{DynRow, Error, ErrorKind};
use bobak_serving::Permit;
use hyper::StatusCode;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// After so long without a change a sign of life is sent; it tells too where to go on.
const SIGN: Duration = Duration::from_secs(15);
/// How many changes are read at a time.
const PAGE: usize = 500;

/// Somebody who listens.
struct Listener {
    base: Arc<Base>,
    feed: Feed,
    table: Arc<Table>,
    /// What it sees: its rights are looked up with each page.
    sight: Sight,
    numbers: Numbers,
    since: u64,
    _permit: Permit,
}

/// `GET /tables/{table}/changes`
pub(crate) async fn events(call: &mut Call, name: &str) -> Result<Answer, Problem> {
    let table = call.table(name).await?;
    let sight = Sight { filter: filter(&mut call.parameters, &table)?, readable: None };
    let numbers = call.numbers()?;
    let since = since(call)?;
    call.parameters.finish()?;
    call.accepts(&[("text/event-stream", ())])?;
    let permit = call.shared.listeners.acquire(&call.visitor.principal());
    let permit = permit.map_err(|scope| Problem::from(scope.quota_error("listeners")))?;
    let feed = call.base.feed.clone();
    let (changes, since) = begin(&feed, &table, since).await?;
    let base = Arc::clone(&call.base);
    let listener = Listener { base, feed, table, sight, numbers, since, _permit: permit };
    let (parts, body) = mpsc::channel(1);
    let (shared, visitor) = (Arc::clone(&call.shared), Arc::clone(&call.visitor));
    tokio::spawn(async move {
        let follows = listener.follow(Arc::clone(&shared), changes, parts);
        work::ending(&visitor, &shared.turns, follows).await;
    });
    let mut answer = Answer::new(StatusCode::OK, Body::Parts(body));
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(answer)
}

/// The change behind which the events begin: of the header that browsers send when they come again,
/// or of the parameter.
fn since(call: &mut Call) -> Result<Option<u64>, Problem> {
    let parameter = call.parameters.number("since")?;
    match call.headers().get("last-event-id") {
        None => Ok(parameter),
        Some(id) => {
            let id = id.to_str().ok().and_then(|id| id.trim().parse().ok());
            let wrong = || Problem::bad_request("the last event's id is a number");
            id.ok_or_else(wrong).map(Some)
        }
    }
}

/// Where to begin: behind a change that still can be followed, or at the end.
async fn begin(
    feed: &Feed,
    table: &Arc<Table>,
    since: Option<u64>,
) -> Result<(Changes, u64), Problem> {
    let (feed, schema) = (feed.clone(), Arc::clone(&table.schema));
    work::run(move || {
        feed.readable(&schema)?;
        let mut changes = Changes::of(feed.engine).table_named(schema.name());
        let since = match since {
            Some(since) => since,
            None => changes.last_id().map_err(gone)?,
        };
        changes = changes.since(since).limit(1);
        changes.page().map_err(gone)?;
        let last = changes.last_id().map_err(gone)?;
        if since > last {
            // Of another state of the database: what it makes now would be passed over.
            let message =
                format!("there is no change {since}, the last one is {last}: read the table again");
            return Err(Problem::new(StatusCode::GONE, ErrorKind::NotFound, message));
        }
        Ok((changes.limit(PAGE), since))
    })
    .await
}

/// What can't be followed: changes that were taken out, a table that nobody tracks.
pub(crate) fn gone(error: bobak_core::Error) -> Problem {
    match error.kind() {
        ErrorKind::NotFound => Problem::with(StatusCode::GONE, error),
        ErrorKind::Schema => Problem::with(StatusCode::CONFLICT, error),
        _ => error.into(),
    }
}

impl Listener {
    /// Sends events until the client has gone, the server stops, or the table can't be read.
    async fn follow(mut self, shared: Arc<Shared>, changes: Changes, parts: mpsc::Sender<Part>) {
        let mut pulse = self.feed.listen();
        let mut stopping = shared.stopping();
        let mut changes = Some(changes);
        loop {
            pulse.borrow_and_update();
            let Some(page) = self.page(&mut changes).await else { break };
            let mut text = String::new();
            if !page.changes.is_empty() && self.table_has_changed().await {
                write_end(&mut text, self.table.schema.name());
                let _ = parts.send(Part::Bytes(text.into())).await;
                break;
            }
            let more = !page.changes.is_empty();
            for change in &page.changes {
                self.write(&mut text, change);
            }
            self.since = page.next;
            if !text.is_empty() && parts.send(Part::Bytes(text.into())).await.is_err() {
                return;
            }
            if more {
                continue;
            }
            tokio::select! {
                _ = pulse.changed() => {}
                _ = stopping.changed() => break,
                () = parts.closed() => return,
                () = tokio::time::sleep(SIGN) => {
                    let sign = format!("id: {}\n\n", self.since);
                    if parts.send(Part::Bytes(sign.into())).await.is_err() {
                        return;
                    }
                }
            }
        }
        // The client comes again, and goes on where this has ended.
        let _ = parts.send(Part::End).await;
    }

    /// Whether the table has other columns by now, which the changes do not tell of.
    async fn table_has_changed(&self) -> bool {
        match self.base.table(self.table.schema.name()).await {
            Ok(table) => !table.schema.same_as(&self.table.schema),
            Err(problem) => problem.status() == StatusCode::NOT_FOUND,
        }
    }

    /// The next changes; `None` where they can't be read any more.
    async fn page(&mut self, changes: &mut Option<Changes>) -> Option<ChangePage> {
        let (mut reader, since) = (changes.take()?, self.since);
        let (feed, schema) = (self.feed.clone(), Arc::clone(&self.table.schema));
        let read = work::run(move || {
            reader = reader.since(since);
            // What was readable when the page is sent, not when it was written.
            let page = reader.page()?;
            Ok((reader, page, feed.readable(&schema)?))
        });
        let (reader, page, readable) = read.await.ok()?;
        (*changes, self.sight.readable) = (Some(reader), readable);
        Some(page)
    }

    /// Writes an event, where the listener sees anything of the change.
    fn write(&self, out: &mut String, change: &Change) {
        let Some(kind) = self.sight.kind_of(change) else { return };
        let table = self.table.as_of(change);
        let columns = table.schema.columns().len();
        out.push_str(&format!("id: {}\nevent: {}\ndata: {{", change.id, kind.name()));
        write_head(out, change, self.numbers);
        out.push_str(",\"key\":");
        // Of a row that goes out of sight, what was seen of it.
        let seen = if kind == ChangeKind::Delete { &change.before } else { &change.after };
        let values = seen.as_ref().map_or(&[][..], DynRow::values);
        let part = |&place: &usize| values.get(place).cloned().unwrap_or_default();
        let key: Vec<_> = table.schema.key().iter().map(part).collect();
        let places = table.schema.key().iter().copied();
        write_row(out, &table, places, self.numbers, &key.as_slice());
        out.push_str(",\"row\":");
        match &change.after {
            Some(row) if kind != ChangeKind::Delete => {
                write_row(out, &table, 0..columns, self.numbers, row);
            }
            _ => out.push_str("null"),
        }
        out.push_str("}\n\n");
    }
}

/// Writes the event that ends a stream whose table has changed.
fn write_end(out: &mut String, table: &str) {
    let message = "the table was changed: read it again, and listen anew";
    let error = Error::new(ErrorKind::Schema, message).in_table(table.to_owned());
    out.push_str("event: error\ndata: ");
    write_problem(out, StatusCode::CONFLICT, &error, "");
    out.push_str("\n\n");
}
