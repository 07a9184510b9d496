//! Queries of expressions over one table.

use crate::json::NumberFormat;
use crate::json::write::write_cell;
use crate::problem::Problem;
use crate::request::context::RequestContext;
use crate::request::parameters::QueryParameters;
use crate::request::place::{PlaceStep, parse_place, write_place};
use crate::response::builder::ResponseBuilder;
use crate::response::conditional::json_or_not_modified;
use crate::response::etag::Etag;
use crate::workers::blocking;
use bobak::query::EngineQueries;
use bobak_core::join::{JoinExpr, JoinOrder};
use bobak_core::{ColumnSchema, Engine, Join, Row, TableSchema, TextQuery, Type};
use bobak_text::json::write_string;
use hyper::StatusCode;
use std::sync::Arc;

/// A query, and how to write its result.
struct RowQuery {
    /// The name of the table.
    table: String,
    /// Its columns are the members of a row, and what locates the next page.
    join: Join,
    /// The query for the number of rows on all pages, if the request asks for it.
    count: Option<Join>,
    /// The start of each member of a row, and the type of its value.
    members: Vec<(String, Type)>,
    /// What locates the next page.
    place: Vec<PlaceStep>,
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
    let body = blocking::run(move || query.run(&database.engine)).await?;
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
        let offset = parameters.number("offset")?.unwrap_or(0);
        let (after, total) = (parameters.take("after"), parameters.flag("total")?);
        let text = take_text(parameters)?;
        let numbers = request.number_format()?;
        request.parameters.finish()?;
        let bad_request = |error| Problem::with_status(StatusCode::BAD_REQUEST, error);
        let (names, join) = text.to_join(&table.schema).map_err(bad_request)?;
        let count = total.then(|| join.count()).transpose()?;
        let types = join.columns.iter().map(|expr| expr.ty(&join));
        let members = names.iter().zip(types).map(|(name, ty)| (label(name), ty)).collect();
        let (join, place) = page(join, after.as_deref(), &table.schema)?;
        // One more row shows whether there are more.
        let join = Join { limit: Some(limit + 1), offset, ..join };
        let table = table.schema.name().to_owned();
        Ok(Self { table, join, count, members, place, numbers, limit, max_length, max_rows })
    }

    fn run(&self, engine: &Arc<dyn Engine>) -> Result<String, Problem> {
        let queries = EngineQueries::new(Arc::clone(engine), self.max_rows);
        let mut body = String::from("{\"rows\":[");
        let (mut rows, mut more, mut next) = (0, false, None);
        queries.query(&self.join, &mut |row| {
            if rows == self.limit || body.len() >= self.max_length {
                more = true;
                return Ok(false);
            }
            body.push_str(if rows == 0 { "\n" } else { ",\n" });
            self.write_row(&mut body, row);
            rows += 1;
            if rows == self.limit || body.len() >= self.max_length {
                let values = (self.members.len()..).take(self.place.len());
                let values: Vec<_> = values.map(|index| row.get(index)).collect();
                next = Some(write_place(&self.place, &values));
            }
            Ok(true)
        })?;
        body.push_str("],\n\"more\":");
        body.push_str(if more { "true" } else { "false" });
        if let Some(place) = next.filter(|_| more && !self.place.is_empty()) {
            body.push_str(",\"next\":");
            write_string(&mut body, &place.map_err(|error| error.in_table(&*self.table))?);
        }
        if let Some(count) = &self.count {
            body.push_str(",\"total\":");
            queries.query(count, &mut |row| {
                write_cell(&mut body, Type::I64, NumberFormat::Exact, row.get(0));
                Ok(true)
            })?;
        }
        body.push_str("}\n");
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

fn take_text(parameters: &mut QueryParameters) -> Result<TextQuery, Problem> {
    Ok(TextQuery {
        select: parameters.take("select").unwrap_or_default(),
        filter: parameters.take("filter"),
        group: parameters.take("group"),
        having: parameters.take("having"),
        order: parameters.take("order"),
        distinct: parameters.flag("distinct")?,
        ..TextQuery::default()
    })
}

/// The start of a member.
fn label(name: &str) -> String {
    let mut label = String::new();
    write_string(&mut label, name);
    label.push(':');
    label
}

/// The query for the rows behind a place, with the values of the order behind the selected ones, and the steps of these. There are
/// none for rows without a key, which may be equal.
fn page(
    mut join: Join,
    after: Option<&str>,
    table: &TableSchema,
) -> Result<(Join, Vec<PlaceStep>), Problem> {
    let has_places = join.is_grouped() || table.check_has_key().is_ok();
    let steps: Vec<_> = join.order.iter().map(|step| place_step(&join, step)).collect();
    if let Some(after) = after {
        if join.is_grouped() {
            // What is left out belongs to groups, too.
            join = join.into_rows()?;
        } else {
            table.check_has_key()?;
        }
        join = join.after_row(&parse_place(after, &steps)?)?;
    }
    if !has_places {
        return Ok((join, Vec::new()));
    }
    join.columns.extend(join.order.iter().map(|step| step.expr.clone()));
    Ok((join, steps))
}

fn place_step(join: &Join, JoinOrder { expr, .. }: &JoinOrder) -> PlaceStep {
    let column = match expr {
        JoinExpr::Column(column) => join.column(*column).cloned(),
        _ => None,
    };
    let other = || ColumnSchema::new("an expression", expr.ty(join)).nullable(true);
    PlaceStep { column: column.unwrap_or_else(other), is_key: join.is_of_key(expr) }
}
