//! Queries of expressions over one table.

use crate::json::NumberFormat;
use crate::json::write::write_cell;
use crate::problem::Problem;
use crate::request::context::RequestContext;
use crate::response::builder::ResponseBuilder;
use crate::response::conditional::json_or_not_modified;
use crate::response::etag::Etag;
use crate::workers::blocking;
use bobak::query::EngineQueries;
use bobak_core::{Engine, Join, Row, TextQuery, Type};
use bobak_text::json::write_string;
use hyper::StatusCode;
use std::sync::Arc;

/// A query, and how to write its result.
struct RowQuery {
    join: Join,
    /// The start of each member of a row, and the type of its value.
    members: Vec<(String, Type)>,
    numbers: NumberFormat,
    limit: u64,
    /// The result ends after the row that exceeds this length.
    max_length: usize,
    /// The most rows that are read if Bobak calculates the result.
    max_rows: u64,
}

/// `GET /tables/{table}/query`
pub(crate) async fn query(
    request: &mut RequestContext,
    name: &str,
) -> Result<ResponseBuilder, Problem> {
    let query = RowQuery::take(request, name).await?;
    let database = Arc::clone(&request.database);
    let body = blocking::run(move || query.run(Arc::clone(&database.engine))).await?;
    let etag = Etag::of(body.as_bytes());
    Ok(json_or_not_modified(request.headers(), &etag, body))
}

impl RowQuery {
    async fn take(request: &mut RequestContext, name: &str) -> Result<Self, Problem> {
        let table = request.table(name).await?;
        let settings = &request.state.settings;
        let (max, max_length) = (settings.max_page_size, settings.max_response);
        let max_rows = settings.expand_rows;
        let parameters = &mut request.parameters;
        let limit = parameters.number("limit")?.unwrap_or(settings.page_size);
        if limit > max {
            return Err(Problem::bad_request(format!("limit is at most {max}")));
        }
        let query = TextQuery {
            select: parameters.take("select").unwrap_or_default(),
            filter: parameters.take("filter"),
            group: parameters.take("group"),
            having: parameters.take("having"),
            order: parameters.take("order"),
            distinct: parameters.flag("distinct")?,
            // One more row shows whether there are more.
            limit: Some(limit + 1),
            offset: parameters.number("offset")?.unwrap_or(0),
        };
        let numbers = request.number_format()?;
        request.parameters.finish()?;
        let bad_request = |error| Problem::with_status(StatusCode::BAD_REQUEST, error);
        let (names, join) = query.to_join(&table.schema).map_err(bad_request)?;
        let types = join.columns.iter().map(|expr| expr.ty(&join));
        let members = names.iter().zip(types).map(|(name, ty)| {
            let mut label = String::new();
            write_string(&mut label, name);
            label.push(':');
            (label, ty)
        });
        let members = members.collect();
        Ok(Self { join, members, numbers, limit, max_length, max_rows })
    }

    fn run(&self, engine: Arc<dyn Engine>) -> Result<String, Problem> {
        let mut body = String::from("{\"rows\":[");
        let (mut rows, mut more) = (0, false);
        EngineQueries::new(engine, self.max_rows).query(&self.join, &mut |row| {
            if rows == self.limit || body.len() >= self.max_length {
                more = true;
                return Ok(false);
            }
            body.push_str(if rows == 0 { "\n" } else { ",\n" });
            self.write_row(&mut body, row);
            rows += 1;
            Ok(true)
        })?;
        body.push_str("],\n\"more\":");
        body.push_str(if more { "true}\n" } else { "false}\n" });
        Ok(body)
    }

    fn write_row(&self, out: &mut String, row: &dyn Row) {
        for (index, (label, ty)) in self.members.iter().enumerate() {
            out.push(if index == 0 { '{' } else { ',' });
            out.push_str(label);
            write_cell(out, *ty, self.numbers, row.get(index));
        }
        out.push('}');
    }
}
