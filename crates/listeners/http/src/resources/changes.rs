//! The changes of one table, or of several, from any change on: as a stream of server-sent events, or a page.

use super::change_page::ChangePageRequest;
use crate::database::change_feed::{ChangeFeed, unavailable};
use crate::database::handle::DatabaseHandle;
use crate::database::latest_changes::LatestChanges;
use crate::database::row_visibility::RowVisibility;
use crate::database::table::CachedTable;
use crate::json::NumberFormat;
use crate::json::change::write_origin;
use crate::json::write::write_row;
use crate::problem::{Problem, write_problem};
use crate::request::column_list;
use crate::request::context::RequestContext;
use crate::request::media_type::negotiate;
use crate::request::selection::take_filter;
use crate::response::builder::{Body, BodyChunk, ResponseBuilder};
use crate::state::shared::ServerState;
use crate::workers::blocking;
use bobak::changes::{Change, ChangeKind, Changes};
use bobak_core::{DynRow, Error, ErrorKind, Value};
use bobak_serving::Permit;
use bobak_text::json::write_string;
use hyper::StatusCode;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// After so long without a change, the server sends an event with only an id. It keeps the connection
/// alive, and moves the position from which the client resumes.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);
/// How many changes are read at once.
const PAGE_SIZE: usize = 500;

/// The representations of changes.
#[derive(Clone, Copy)]
enum Representation {
    Stream,
    Page,
}

/// The tables whose changes a client reads.
pub(super) struct ChangeSource {
    feed: ChangeFeed,
    /// The tables, each with the client's filter.
    tables: Vec<(Arc<CachedTable>, RowVisibility)>,
}

/// A client that subscribes to the changes of tables.
struct Subscription {
    database: Arc<DatabaseHandle>,
    feed: ChangeFeed,
    /// The tables, each with the rows that the client sees. The permissions are renewed with each page.
    tables: Vec<(Arc<CachedTable>, RowVisibility)>,
    /// Whether events name their table.
    names_table: bool,
    numbers: NumberFormat,
    /// The last change that was sent.
    since: u64,
    _permit: Permit,
}

/// `GET /tables/{table}/changes`
pub(crate) async fn changes(
    request: &mut RequestContext,
    name: &str,
) -> Result<ResponseBuilder, Problem> {
    let table = request.table(name).await?;
    let filter = take_filter(&mut request.parameters, "", &table, None)?;
    read(request, vec![(table, RowVisibility { filter, readable: None })], false).await
}

/// `GET /changes?tables=`
pub(crate) async fn of_tables(request: &mut RequestContext) -> Result<ResponseBuilder, Problem> {
    let names = request.parameters.take("tables");
    let names = names.ok_or_else(|| Problem::bad_request("which tables? Name them by 'tables'"))?;
    let mut tables: Vec<(Arc<CachedTable>, RowVisibility)> = Vec::new();
    for name in column_list::split(&names) {
        let table = request.table(&column_list::unquote(name)?).await?;
        if tables.iter().any(|(other, _)| Arc::ptr_eq(other, &table)) {
            return Err(column_list::duplicate_name(table.schema.name()).into());
        }
        tables.push((table, RowVisibility { filter: None, readable: None }));
    }
    read(request, tables, true).await
}

async fn read(
    request: &mut RequestContext,
    tables: Vec<(Arc<CachedTable>, RowVisibility)>,
    names_table: bool,
) -> Result<ResponseBuilder, Problem> {
    let all =
        [("text/event-stream", Representation::Stream), ("application/json", Representation::Page)];
    let [_, page_only @ ..] = &all;
    let is_page = ["limit", "net"].iter().any(|name| request.parameters.has(name));
    let supported = if is_page { page_only } else { &all[..] };
    let source = ChangeSource { feed: request.database.feed.clone(), tables };
    match negotiate(request.headers(), supported)? {
        Representation::Stream => subscribe(request, source, names_table).await,
        Representation::Page => list(request, source, names_table).await,
    }
}

async fn list(
    request: &mut RequestContext,
    source: ChangeSource,
    names_table: bool,
) -> Result<ResponseBuilder, Problem> {
    let page = ChangePageRequest::take(request, names_table)?;
    let since = take_since(request)?;
    request.parameters.finish()?;
    let (source, changes, since) = source.open(since).await?;
    let body = blocking::run(move || page.run(&source.tables, changes, since)).await?;
    Ok(ResponseBuilder::json(StatusCode::OK, body))
}

async fn subscribe(
    request: &mut RequestContext,
    source: ChangeSource,
    names_table: bool,
) -> Result<ResponseBuilder, Problem> {
    let numbers = request.number_format()?;
    let since = take_since(request)?;
    request.parameters.finish()?;
    let permit = request.state.subscribers.acquire(&request.peer.principal());
    let permit = permit.map_err(|scope| Problem::from(scope.quota_error("subscribers")))?;
    let (source, changes, since) = source.open(since).await?;
    let ChangeSource { feed, tables } = source;
    let database = Arc::clone(&request.database);
    let subscription =
        Subscription { database, feed, tables, names_table, numbers, since, _permit: permit };
    let (sender, chunks) = mpsc::channel(1);
    let (state, peer) = (Arc::clone(&request.state), Arc::clone(&request.peer));
    let route = blocking::route();
    tokio::spawn(async move {
        let run = subscription.run(Arc::clone(&state), changes, sender);
        blocking::scope(&peer, &state.worker_permits, route, run).await;
    });
    let mut response = ResponseBuilder::new(StatusCode::OK, Body::Stream(chunks));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

/// Takes the change to resume after: from the header that browsers send when they reconnect, else
/// from the parameter.
fn take_since(request: &mut RequestContext) -> Result<Option<u64>, Problem> {
    let parameter = request.parameters.number("since")?;
    match request.headers().get("last-event-id") {
        None => Ok(parameter),
        Some(id) => {
            let id = id.to_str().ok().and_then(|id| id.trim().parse().ok());
            let error = || Problem::bad_request("Last-Event-ID is not a number");
            id.ok_or_else(error).map(Some)
        }
    }
}

impl ChangeSource {
    /// Opens the feed after a change, or at its end, and finds which rows the client may read. Returns the position as well.
    ///
    /// # Errors
    /// 410 if changes after `since` were pruned, or `since` is greater than the last change; 409 if the
    /// table is not tracked.
    async fn open(mut self, since: Option<u64>) -> Result<(Self, Changes, u64), Problem> {
        blocking::run(move || {
            let mut changes = Changes::of(Arc::clone(&self.feed.engine));
            for (table, visibility) in &mut self.tables {
                visibility.readable = self.feed.readable(&table.schema)?;
                changes = changes.table_named(table.schema.name());
            }
            let failed = |error| self.naming_untracked(unavailable(error));
            let newest = || changes.last_id().map_err(failed);
            let since = since.map_or_else(newest, Ok)?;
            changes = changes.since(since).limit(1);
            changes.page().map_err(failed)?;
            let last = changes.last_id().map_err(unavailable)?;
            if since > last {
                // The client read an older state of the database, for example from before a restore.
                // It would miss new changes up to this id.
                let message = format!(
                    "change {since} does not exist, the last one is {last}: read the table again"
                );
                return Err(Problem::new(StatusCode::GONE, ErrorKind::NotFound, message));
            }
            let changes = changes.limit(PAGE_SIZE);
            Ok((self, changes, since))
        })
        .await
    }

    /// The problem, naming all tables that are not tracked, so that a client can leave them out.
    fn naming_untracked(&self, problem: Problem) -> Problem {
        if problem.status() != StatusCode::CONFLICT {
            return problem;
        }
        let is_untracked = |table: &&Arc<CachedTable>| {
            let changes = Changes::of(Arc::clone(&self.feed.engine));
            let changes = changes.table_named(table.schema.name());
            changes.limit(1).page().is_err_and(|error| error.kind() == ErrorKind::Schema)
        };
        let mut names = String::new();
        for table in self.tables.iter().map(|(table, _)| table).filter(is_untracked) {
            names.push(if names.is_empty() { '[' } else { ',' });
            write_string(&mut names, table.schema.name());
        }
        if names.is_empty() { problem } else { problem.member("untracked", &(names + "]")) }
    }
}

impl Subscription {
    /// Sends events until the client disconnects, the server stops, or the table can't be read.
    async fn run(
        mut self,
        state: Arc<ServerState>,
        changes: Changes,
        sender: mpsc::Sender<BodyChunk>,
    ) {
        let mut heartbeat = self.feed.subscribe();
        let mut stopping = state.stopping();
        let mut reader = Some(changes);
        loop {
            let mut latest = heartbeat.borrow_and_update().clone();
            let is_latest = self.takes_latest(&latest);
            if !is_latest {
                let Some(page) = self.next_page(&mut reader).await else { break };
                latest = page;
            }
            let mut changes = latest.since(self.since).peekable();
            let is_empty = changes.peek().is_none();
            let mut text = String::new();
            if changes.any(|change| table_of(&self.tables, change).is_some())
                && let Some(table) = self.changed_table().await
            {
                write_table_changed(&mut text, &table);
                let _ = sender.send(BodyChunk::Bytes(text.into())).await;
                break;
            }
            for change in latest.since(self.since) {
                self.write_event(&mut text, change);
            }
            self.since = latest.last;
            if !text.is_empty() && sender.send(BodyChunk::Bytes(text.into())).await.is_err() {
                return;
            }
            if !is_latest && !is_empty {
                continue;
            }
            tokio::select! {
                _ = heartbeat.changed() => {}
                _ = stopping.changed() => break,
                () = sender.closed() => return,
                () = tokio::time::sleep(KEEP_ALIVE_INTERVAL) => {
                    let event = format!("id: {}\n\n", self.since);
                    if sender.send(BodyChunk::Bytes(event.into())).await.is_err() {
                        return;
                    }
                }
            }
        }
        // A complete response, so that the client reconnects and resumes.
        let _ = sender.send(BodyChunk::End).await;
    }

    /// Whether the changes that the feed has read are the next ones for the client, by permissions that are known. If so,
    /// their rows are shown by these permissions; else the client reads the changes itself.
    fn takes_latest(&mut self, latest: &LatestChanges) -> bool {
        if !latest.follow(self.since) {
            return false;
        }
        let known = self.tables.iter().map(|(table, _)| self.feed.known_readable(&table.schema));
        let Some(known) = known.collect::<Option<Vec<_>>>() else { return false };
        for ((_, visibility), readable) in self.tables.iter_mut().zip(known) {
            visibility.readable = readable;
        }
        true
    }

    /// A table whose columns have changed since the subscription began. Changes do not tell.
    async fn changed_table(&self) -> Option<String> {
        for (before, _) in &self.tables {
            let name = before.schema.name();
            let has_changed = match self.database.schema.table(name).await {
                Ok(table) => !table.schema.same_as(&before.schema),
                Err(problem) => problem.status() == StatusCode::NOT_FOUND,
            };
            if has_changed {
                return Some(name.to_owned());
            }
        }
        None
    }

    /// The next changes; `None` if they can't be read any more.
    async fn next_page(&mut self, changes: &mut Option<Changes>) -> Option<LatestChanges> {
        let (mut reader, since) = (changes.take()?, self.since);
        let feed = self.feed.clone();
        let schemas: Vec<_> =
            self.tables.iter().map(|(table, _)| Arc::clone(&table.schema)).collect();
        let read = blocking::run(move || {
            reader = reader.since(since);
            let page = reader.page()?;
            // The current permissions apply, not those at the time of the change.
            let readable = schemas.iter().map(|schema| feed.readable(schema));
            let readable = readable.collect::<bobak_core::Result<Vec<_>>>()?;
            Ok((reader, page, readable))
        });
        let (reader, page, readable) = read.await.ok()?;
        for ((_, visibility), readable) in self.tables.iter_mut().zip(readable) {
            visibility.readable = readable;
        }
        *changes = Some(reader);
        Some(LatestChanges::of_page(since, page))
    }

    /// Appends an event, if the client sees anything of the change.
    fn write_event(&self, out: &mut String, change: &Change) {
        let Some((_, table, visibility)) = table_of(&self.tables, change) else { return };
        let Some(kind) = visibility.visible_kind(change) else { return };
        let table = table.as_of(change);
        out.push_str(&format!("id: {}\nevent: {}\ndata: {{", change.id, kind.name()));
        if self.names_table {
            write_table_name(out, table.schema.name());
        }
        write_change(out, &table, change, kind, self.numbers);
        out.push_str("}\n\n");
    }
}

/// The table of a change among those of a client, with its place and the rows that the client sees.
pub(super) fn table_of<'t>(
    tables: &'t [(Arc<CachedTable>, RowVisibility)],
    change: &Change,
) -> Option<(usize, &'t Arc<CachedTable>, &'t RowVisibility)> {
    let name = change.table.name();
    let mut tables = tables.iter().enumerate();
    let found = tables.find(|(_, (table, _))| table.schema.name().eq_ignore_ascii_case(name));
    found.map(|(place, (table, visibility))| (place, table, visibility))
}

/// The key of a row of a change.
pub(super) fn key_of(table: &CachedTable, row: &Option<DynRow>) -> Vec<Value<'static>> {
    let values = row.as_ref().map_or(&[][..], DynRow::values);
    let value = |&position: &usize| values.get(position).cloned().unwrap_or_default();
    table.schema.key().iter().map(value).collect()
}

/// Appends what a change says of its row, as members of an object. `table` is that of the change's columns.
pub(super) fn write_change(
    out: &mut String,
    table: &CachedTable,
    change: &Change,
    kind: ChangeKind,
    numbers: NumberFormat,
) {
    write_origin(out, change, numbers);
    out.push_str(",\"key\":");
    // A row that is no longer visible is identified by the key that was.
    let row = if kind == ChangeKind::Delete { &change.before } else { &change.after };
    let key = key_of(table, row);
    let write_key = |out: &mut String, key: &[Value<'_>]| {
        write_row(out, table, table.schema.key().iter().copied(), numbers, &key);
    };
    write_key(out, &key);
    let old_key = key_of(table, &change.before);
    if kind == ChangeKind::Update && old_key != key {
        out.push_str(",\"old_key\":");
        write_key(out, &old_key);
    }
    out.push_str(",\"row\":");
    match &change.after {
        Some(row) if kind != ChangeKind::Delete => {
            write_row(out, table, 0..table.schema.columns().len(), numbers, row);
        }
        _ => out.push_str("null"),
    }
}

pub(super) fn write_table_name(out: &mut String, name: &str) {
    out.push_str("\"table\":");
    write_string(out, name);
    out.push(',');
}

/// Appends the event that ends the stream of a table whose columns have changed.
fn write_table_changed(out: &mut String, table: &str) {
    let message = "the table's columns have changed: read it again, and subscribe again";
    let error = Error::new(ErrorKind::Schema, message).in_table(table.to_owned());
    out.push_str("event: error\ndata: ");
    write_problem(out, StatusCode::CONFLICT, &error, "");
    out.push_str("\n\n");
}
