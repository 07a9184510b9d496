//! Lists a page of rows.

use crate::database::table::CachedTable;
use crate::json::NumberFormat;
use crate::json::write::write_row;
use crate::problem::Problem;
use crate::request::column_list;
use crate::request::context::RequestContext;
use crate::request::key::encode_key;
use crate::request::selection::RowSelection;
use crate::response::builder::ResponseBuilder;
use crate::response::conditional::json_or_not_modified;
use crate::response::etag::Etag;
use crate::workers::blocking;
use bobak_core::{Engine, Expr, Row, Session, Source, Value, ValueRef};
use bobak_text::json::write_string;
use std::sync::Arc;

/// The parameters of a list.
struct ListRequest {
    table: Arc<CachedTable>,
    selection: RowSelection,
    columns: Vec<usize>,
    numbers: NumberFormat,
    total: bool,
    limit: u64,
    /// The page ends after the row that exceeds this length.
    max_length: usize,
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

impl ListRequest {
    async fn take(request: &mut RequestContext, table: &str) -> Result<Self, Problem> {
        let table = request.table(table).await?;
        let mut selection = RowSelection::take(&mut request.parameters, &table)?;
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
            numbers,
            total,
            limit,
            max_length: settings.max_response,
        })
    }

    fn page(&self, engine: &dyn Engine) -> Result<String, Problem> {
        let table = &*self.table;
        // The key follows the requested columns, to locate the next page.
        let positions = self.columns.iter().chain(table.schema.key());
        let columns = positions.map(|&position| Expr::Column(position)).collect();
        let select = self.selection.select(table, columns)?;
        let session = engine.session()?;
        let mut body = String::with_capacity(4_096);
        body.push_str("{\"rows\":[");
        let (mut rows, mut more, mut next) = (0, false, None);
        session.query(&Source::Select(&select), &mut |row| {
            if rows == self.limit || body.len() >= self.max_length {
                more = true;
                return Ok(false);
            }
            body.push_str(if rows == 0 { "\n" } else { ",\n" });
            write_row(&mut body, table, self.columns.iter().copied(), self.numbers, row);
            rows += 1;
            let is_full = rows == self.limit || body.len() >= self.max_length;
            if is_full && self.selection.is_by_key() && table.schema.check_has_key().is_ok() {
                next = encode_trailing_key(table, row, self.columns.len());
            }
            Ok(true)
        })?;
        body.push_str("],\n\"more\":");
        body.push_str(if more { "true" } else { "false" });
        if let Some(key) = next.filter(|_| more) {
            body.push_str(",\"next\":");
            write_string(&mut body, &key);
        }
        if self.total {
            body.push_str(",\"total\":");
            body.push_str(itoa::Buffer::new().format(self.count_all(&*session)?));
        }
        body.push_str("}\n");
        Ok(body)
    }

    /// The number of rows that match the filter.
    fn count_all(&self, session: &dyn Session) -> Result<i64, Problem> {
        let count = self.selection.filtered().to_select(&self.table.schema, vec![Expr::Count])?;
        let mut total = 0;
        session.query(&Source::Select(&count), &mut |row| {
            if let ValueRef::Int(rows) = row.get(0) {
                total = rows;
            }
            Ok(true)
        })?;
        Ok(total)
    }
}

/// Encodes the key in a row's columns from `first` on; `None` if it contains NULL, which SQLite
/// permits in keys, and which has no encoding.
fn encode_trailing_key(table: &CachedTable, row: &dyn Row, first: usize) -> Option<String> {
    let key: Vec<Value<'_>> = (first..row.len()).map(|position| row.get(position).into()).collect();
    (!key.iter().any(Value::is_null)).then(|| encode_key(table, &key))
}
