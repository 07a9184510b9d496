//! Lists a page of rows.

use crate::database::table::CachedTable;
use crate::json::NumberFormat;
use crate::json::plan::plan_json;
use crate::json::write::{write_cell, write_row};
use crate::problem::Problem;
use crate::request::column_list;
use crate::request::context::RequestContext;
use crate::request::expansion::Expansion;
use crate::request::key::encode_exact_key;
use crate::request::place::{PlaceStep, write_place};
use crate::request::selection::RowSelection;
use crate::resources::related_rows::{
    self, ExpandedWriter, LevelRows, RelatedLoader, RelatedRows, with_links,
};
use crate::resources::snippets::SnippetWriter;
use crate::response::builder::ResponseBuilder;
use crate::response::conditional::json_or_not_modified;
use crate::response::etag::Etag;
use crate::workers::blocking;
use bobak_core::plan::{ExplainedQuery, QueryPlan};
use bobak_core::{Engine, Expr, Result, Row, Source, Type, Value, ValueRef};
use bobak_text::json::write_string;
use hyper::StatusCode;
use std::sync::Arc;

/// The parameters of a list.
struct ListRequest {
    table: Arc<CachedTable>,
    selection: RowSelection,
    columns: Vec<usize>,
    expansions: Vec<Expansion>,
    snippets: Option<SnippetWriter>,
    numbers: NumberFormat,
    total: bool,
    limit: u64,
    /// The page ends after the row that exceeds this length.
    max_length: usize,
    /// The most related rows.
    max_related: u64,
}

/// `GET /tables/{table}/rows`
pub(crate) async fn list(
    request: &mut RequestContext,
    table: &str,
) -> Result<ResponseBuilder, Problem> {
    let list = ListRequest::take(request, table).await?;
    let database = Arc::clone(&request.database);
    let body = blocking::run(move || list.page(&*database.engine)).await?;
    let etag = Etag::of(body.as_bytes());
    Ok(json_or_not_modified(request.headers(), &etag, body))
}

/// `GET /tables/{table}/plan`: how the engine would read a page of rows.
pub(crate) async fn plan(
    request: &mut RequestContext,
    table: &str,
) -> Result<ResponseBuilder, Problem> {
    let list = ListRequest::take(request, table).await?;
    let database = Arc::clone(&request.database);
    let explain = move || {
        let session = database.engine.session()?;
        let (rows, bytes) = (list.max_related, list.max_length);
        let mut loader = RelatedLoader::new(&*database.engine, &*session, rows, bytes);
        let columns = list.columns.iter().copied().map(Expr::Column).collect();
        let weak_types = database.engine.capabilities().weak_types;
        let select = list.selection.select(&list.table, columns, weak_types)?;
        let select = loader.resolve(select)?;
        let query = ExplainedQuery::Source(Source::Select(&select));
        Ok(QueryPlan::ask(&*session, &query)?.unwrap_or_default())
    };
    let plan = plan_json(&blocking::run(explain).await?);
    Ok(ResponseBuilder::json(StatusCode::OK, plan.to_string() + "\n"))
}

impl ListRequest {
    async fn take(request: &mut RequestContext, table: &str) -> Result<Self, Problem> {
        let table = request.table(table).await?;
        let tables = request.database.schema.tables().await?;
        let state = Arc::clone(&request.state);
        let parameters = &mut request.parameters;
        let mut selection = RowSelection::take(parameters, &table, Some(&tables))?;
        let expansions = Expansion::take_all(parameters, &tables, &table, &state.settings)?;
        let snippets = match request.parameters.flag("snippets")? {
            true => Some(SnippetWriter::new(&selection, &table.schema)?),
            false => None,
        };
        let columns = match request.parameters.take("columns") {
            Some(list) => column_list::positions(&table, &list)?,
            None => (0..table.schema.columns().len()).collect(),
        };
        let numbers = request.number_format()?;
        let total = request.parameters.flag("total")?;
        request.parameters.finish()?;
        let settings = &request.state.settings;
        let limit = selection.limit.unwrap_or(settings.page_size);
        if limit > settings.max_page_size {
            let max = settings.max_page_size;
            let message =
                format!("a list has at most {max} rows: read further pages, or use an export");
            return Err(Problem::bad_request(message));
        }
        // One more row shows whether there is a next page.
        selection.limit = Some(limit + 1);
        Ok(Self {
            table,
            selection,
            columns,
            expansions,
            snippets,
            numbers,
            total,
            limit,
            max_length: settings.max_response,
            max_related: settings.expand_rows,
        })
    }

    fn page(&self, engine: &dyn Engine) -> Result<String, Problem> {
        let table = &*self.table;
        let session = engine.session()?;
        if !self.expansions.is_empty() {
            related_rows::begin_snapshot(&*session)?;
        }
        let mut loader = RelatedLoader::new(engine, &*session, self.max_related, self.max_length);
        // The key, or the columns of the order, follow the requested columns, to locate the next page.
        let place = self.selection.place(table)?;
        let located = if place.is_empty() { table.schema.key() } else { &place };
        let with_key: Vec<usize> = self.columns.iter().chain(located).copied().collect();
        let columns = with_links(&with_key, &self.expansions);
        let exprs = columns.iter().copied().map(Expr::Column);
        let exprs = exprs.chain(self.snippets.iter().flat_map(SnippetWriter::columns));
        let exprs = exprs.chain(self.selection.nearest.iter().map(|_| Expr::Distance)).collect();
        let weak_types = engine.capabilities().weak_types;
        let select = loader.resolve(self.selection.select(table, exprs, weak_types)?)?;
        let mut page =
            PageWriter::new(self, PlaceStep::of_columns(&table.schema, &place), columns.len());
        page.body.push_str("{\"rows\":[");
        if self.expansions.is_empty() {
            session.query(&Source::Select(&select), &mut |row| Ok(page.write_plain(row)))?;
        } else {
            let mut rows = LevelRows::new(columns);
            session.query(&Source::Select(&select), &mut |row| {
                page.more = rows.len() as u64 == self.limit || rows.bytes() >= self.max_length;
                if page.more {
                    return Ok(false);
                }
                page.write_found(row);
                rows.push(row).map(|()| true)
            })?;
            let related = loader.load(&self.expansions, &rows)?;
            page.write_expanded(&rows, &related)?;
        }
        let total = self.total.then(|| self.count_all(&mut loader)).transpose()?;
        Ok(page.finish(total)?)
    }

    /// The number of rows that match the filter.
    fn count_all(&self, loader: &mut RelatedLoader<'_>) -> Result<i64, Problem> {
        let count = self.selection.filtered().to_select(&self.table.schema, vec![Expr::Count])?;
        loader.start_again();
        let count = loader.resolve(count)?;
        let mut total = 0;
        loader.session.query(&Source::Select(&count), &mut |row| {
            if let ValueRef::Int(rows) = row.get(0) {
                total = rows;
            }
            Ok(true)
        })?;
        Ok(total)
    }
}

/// The rows of a page as they are written.
struct PageWriter<'a> {
    list: &'a ListRequest,
    /// What locates the next page; if there is nothing, the key does.
    place: Vec<PlaceStep>,
    body: String,
    rows: u64,
    more: bool,
    /// The place behind the last row, if it has one.
    next: Result<Option<String>>,
    /// The ranks and snippets of the rows, or their distances.
    found: Vec<String>,
    /// Where their values begin in each row.
    found_at: usize,
}

impl<'a> PageWriter<'a> {
    fn new(list: &'a ListRequest, place: Vec<PlaceStep>, found_at: usize) -> Self {
        let body = String::with_capacity(4_096);
        let (next, found) = (Ok(None), Vec::new());
        Self { list, place, body, rows: 0, more: false, next, found, found_at }
    }

    fn write_found(&mut self, row: &dyn Row) {
        let mut found = String::new();
        if let Some(writer) = &self.list.snippets {
            writer.write(&mut found, row, self.found_at);
            self.found.push(found);
        } else if self.list.selection.nearest.is_some() {
            write_cell(&mut found, Type::F64, NumberFormat::Exact, row.get(self.found_at));
            self.found.push(found);
        }
    }

    /// Writes a row, if there is room. Returns whether to continue.
    fn write_plain(&mut self, row: &dyn Row) -> bool {
        let list = self.list;
        if self.rows == list.limit || self.body.len() >= list.max_length {
            self.more = true;
            return false;
        }
        self.body.push_str(if self.rows == 0 { "\n" } else { ",\n" });
        write_row(&mut self.body, &list.table, list.columns.iter().copied(), list.numbers, row);
        self.write_found(row);
        self.rows += 1;
        let is_full = self.rows == list.limit || self.body.len() >= list.max_length;
        if is_full {
            self.next = self.place_of(row);
        }
        true
    }

    /// What `after` has for the page behind a row, whose values follow the requested columns.
    fn place_of(&self, row: &dyn Row) -> Result<Option<String>> {
        let (table, first) = (&self.list.table, self.list.columns.len());
        if self.list.selection.is_by_key() {
            return Ok(encode_key_after(table, row, first));
        }
        if self.place.is_empty() {
            return Ok(None);
        }
        let values = (first..).take(self.place.len()).map(|position| row.get(position));
        let place = write_place(&self.place, &values.collect::<Vec<_>>());
        place.map(Some).map_err(|error| table.name_error(error))
    }

    /// The whole page.
    ///
    /// # Errors
    /// `Mismatch` if no page can begin behind the last row, and there are more.
    fn finish(self, total: Option<i64>) -> Result<String> {
        let Self { mut body, more, next, mut found, .. } = self;
        let is_nearest = self.list.selection.nearest.is_some();
        if is_nearest || self.list.snippets.is_some() {
            found.truncate(usize::try_from(self.rows).unwrap_or(usize::MAX));
            let name = if is_nearest { "distances" } else { "found" };
            body.push_str(&format!("],\n\"{name}\":[\n{}", found.join(",\n")));
        }
        body.push_str("],\n\"more\":");
        body.push_str(if more { "true" } else { "false" });
        if more && let Some(key) = next? {
            body.push_str(",\"next\":");
            write_string(&mut body, &key);
        }
        if let Some(total) = total {
            body.push_str(",\"total\":");
            body.push_str(itoa::Buffer::new().format(total));
        }
        body.push_str("}\n");
        Ok(body)
    }

    /// Writes rows with their related rows, as long as there is room.
    fn write_expanded(&mut self, rows: &LevelRows, related: &[RelatedRows]) -> Result<(), Problem> {
        let list = self.list;
        for number in 0..rows.len() {
            let before = self.body.len();
            self.body.push_str(if self.rows == 0 { "\n" } else { ",\n" });
            let (out, max_length) = (&mut self.body, list.max_length);
            let mut writer = ExpandedWriter { out, numbers: list.numbers, max_length };
            let own = (&*list.table, &*list.columns);
            if let Err(problem) = writer.write(own, (rows, number), (&list.expansions, related)) {
                if number == 0 {
                    return Err(problem);
                }
                self.body.truncate(before);
                self.more = true;
                return Ok(());
            }
            self.rows += 1;
            self.next = self.place_of(&rows.row(number));
        }
        Ok(())
    }
}

/// Encodes the key, which follows the first columns of a row; `None` if it has no exact encoding.
fn encode_key_after(table: &CachedTable, row: &dyn Row, first: usize) -> Option<String> {
    let end = first + table.schema.key().len();
    let key: Vec<Value<'_>> = (first..end).map(|position| row.get(position).into()).collect();
    encode_exact_key(table, &key)
}
