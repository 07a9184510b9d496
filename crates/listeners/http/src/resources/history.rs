//! Lists the changes of one row, as far back as the change log goes.

use crate::database::change_feed::unavailable;
use crate::database::handle::DatabaseHandle;
use crate::database::row_visibility::RowVisibility;
use crate::database::table::CachedTable;
use crate::json::NumberFormat;
use crate::json::change::write_origin;
use crate::json::write::write_row;
use crate::problem::Problem;
use crate::request::context::RequestContext;
use crate::request::key::parse_key;
use crate::response::builder::ResponseBuilder;
use crate::workers::blocking;
use bobak::changes::Change;
use bobak_changes::ChangeLog;
use bobak_core::{DynRow, Value};
use hyper::StatusCode;
use std::sync::Arc;

/// The parameters of a history.
struct HistoryRequest {
    table: Arc<CachedTable>,
    key: Vec<Value<'static>>,
    since: Option<u64>,
    limit: u64,
    numbers: NumberFormat,
    /// The history ends after the change that exceeds this length.
    max_length: usize,
}

/// `GET /tables/{table}/rows/{key}/history`
pub(crate) async fn history(
    request: &mut RequestContext,
    name: &str,
    key: &str,
) -> Result<ResponseBuilder, Problem> {
    let history = HistoryRequest::take(request, name, key).await?;
    let database = Arc::clone(&request.database);
    let body = blocking::run(move || history.run(&database)).await?;
    Ok(ResponseBuilder::json(StatusCode::OK, body))
}

impl HistoryRequest {
    async fn take(request: &mut RequestContext, name: &str, key: &str) -> Result<Self, Problem> {
        let table = request.table(name).await?;
        let key = parse_key(&table, key)?;
        let since = request.parameters.number("since")?;
        let limit = request.page_limit("a history")?;
        let numbers = request.number_format()?;
        request.parameters.finish()?;
        let max_length = request.state.settings.max_response;
        Ok(Self { table, key, since, limit, numbers, max_length })
    }

    fn run(&self, database: &DatabaseHandle) -> Result<String, Problem> {
        let readable = database.feed.readable(&self.table.schema)?;
        let visibility = RowVisibility { filter: None, readable };
        let log = ChangeLog::new(Arc::clone(&self.table.schema))?;
        let session = database.feed.engine.session()?;
        // One more change shows whether there is a next page.
        let limit = Some(self.limit.saturating_add(1));
        let since = self.since.unwrap_or(0);
        let changes = log.list_row(&*session, &self.key, since, limit, self.max_length);
        let (changes, more) = changes.map_err(unavailable)?;
        let body = self.page(&visibility, &changes, more);
        // A client that sees none of the changes must not learn whether there are any.
        if body.is_none() && self.since.is_none() && !self.row_exists(database)? {
            return Err(Problem::not_found());
        }
        Ok(body.unwrap_or_else(|| "{\"changes\":[],\"more\":false}\n".to_owned()))
    }

    fn row_exists(&self, database: &DatabaseHandle) -> bobak_core::Result<bool> {
        let mut exists = false;
        database.engine.get(&self.table.schema, &self.key, &mut |_| {
            exists = true;
            Ok(())
        })?;
        Ok(exists)
    }

    /// A page with the visible changes as JSON; `None` if there are none.
    fn page(&self, visibility: &RowVisibility, changes: &[Change], more: bool) -> Option<String> {
        let shown = usize::try_from(self.limit).unwrap_or(usize::MAX).min(changes.len());
        let (page, rest) = changes.split_at(shown);
        let mut body = String::from("{\"changes\":[");
        let start = body.len();
        for change in page {
            let Some(kind) = visibility.visible_kind(change) else { continue };
            body.push_str(if body.len() == start { "\n" } else { ",\n" });
            body.push_str(&format!("{{\"id\":{},\"kind\":\"{}\",", change.id, kind.name()));
            write_origin(&mut body, change, self.numbers);
            for (name, row) in [("before", &change.before), ("after", &change.after)] {
                let visible = row.as_ref().filter(|_| visibility.is_visible(change, row));
                body.push_str(&format!(",\"{name}\":"));
                self.write_row_or_null(&mut body, change, visible);
            }
            body.push('}');
        }
        let next = page.last().filter(|_| more || !rest.is_empty());
        if body.len() == start && next.is_none() {
            return None;
        }
        match next {
            Some(last) => body.push_str(&format!("],\n\"more\":true,\"next\":{}}}\n", last.id)),
            None => body.push_str("],\n\"more\":false}\n"),
        }
        Some(body)
    }

    fn write_row_or_null(&self, body: &mut String, change: &Change, row: Option<&DynRow>) {
        let Some(row) = row else { return body.push_str("null") };
        let table = self.table.as_of(change);
        write_row(body, &table, 0..table.schema.columns().len(), self.numbers, row);
    }
}
