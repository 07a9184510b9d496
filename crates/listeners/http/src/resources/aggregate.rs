//! Counts, sums, minima, maxima and averages, of all rows or by group.

use crate::database::table::CachedTable;
use crate::json::NumberFormat;
use crate::json::write::write_cell;
use crate::problem::Problem;
use crate::request::column_list::{self, duplicate_name};
use crate::request::context::RequestContext;
use crate::request::selection::RowSelection;
use crate::response::builder::ResponseBuilder;
use crate::response::conditional::json_or_not_modified;
use crate::response::etag::Etag;
use crate::workers::blocking;
use bobak_core::{Column, Engine, Expr, Select, Source, Type, Value};
use bobak_text::json::write_string;
use std::collections::HashSet;
use std::sync::Arc;

/// An aggregate query, and how to write its result.
struct AggregateQuery {
    select: Select,
    numbers: NumberFormat,
    limit: u64,
    /// The result ends after the group that exceeds this length.
    max_length: usize,
}

/// `GET /tables/{table}/aggregate`
pub(crate) async fn aggregate(
    request: &mut RequestContext,
    name: &str,
) -> Result<ResponseBuilder, Problem> {
    let aggregate = AggregateQuery::take(request, name).await?;
    let database = Arc::clone(&request.database);
    let body = blocking::run(move || Ok(aggregate.run(&*database.engine)?)).await?;
    let etag = Etag::of(body.as_bytes());
    Ok(json_or_not_modified(request.headers(), &etag, body))
}

impl AggregateQuery {
    async fn take(request: &mut RequestContext, name: &str) -> Result<Self, Problem> {
        let table = request.table(name).await?;
        let mut selection = RowSelection::take(&mut request.parameters, &table)?;
        let groups = match request.parameters.take("group") {
            Some(list) => column_list::positions(&table, &list)?,
            None => Vec::new(),
        };
        let values = request.parameters.take("values").unwrap_or_else(|| "count".to_owned());
        let numbers = request.number_format()?;
        request.parameters.finish()?;
        if selection.after.is_some() {
            return Err(Problem::bad_request("'after' does not apply to groups: use 'offset'"));
        }
        let mut columns: Vec<Expr> =
            groups.iter().map(|&position| Expr::Column(position)).collect();
        for value in column_list::split(&values) {
            columns.push(parse_expression(&table, value)?);
        }
        let settings = &request.state.settings;
        let (max, max_length) = (settings.max_page_size, settings.max_response);
        let limit = selection.limit.unwrap_or(max).min(max);
        // One more group shows whether there are more.
        selection.limit = Some(limit + 1);
        let mut query = selection.query();
        for &position in &groups {
            query = query.group_by(Column::<_, Value<'static>>::new(position));
        }
        let select = query.to_select(&table.schema, columns)?;
        let mut names = HashSet::new();
        let duplicate =
            Source::select_columns(&select).into_iter().find(|one| !names.insert(one.name.clone()));
        match duplicate {
            Some(column) => Err(duplicate_name(&column.name).into()),
            None => Ok(Self { select, numbers, limit, max_length }),
        }
    }

    fn run(&self, engine: &dyn Engine) -> bobak_core::Result<String> {
        let members: Vec<(String, Type)> = Source::select_columns(&self.select)
            .iter()
            .map(|column| {
                let mut label = String::new();
                write_string(&mut label, &column.name);
                label.push(':');
                (label, column.ty)
            })
            .collect();
        let mut body = String::from("{\"rows\":[");
        let (mut rows, mut more) = (0, false);
        engine.session()?.query(&Source::Select(&self.select), &mut |row| {
            if rows == self.limit || body.len() >= self.max_length {
                more = true;
                return Ok(false);
            }
            body.push_str(if rows == 0 { "\n{" } else { ",\n{" });
            for (index, (label, ty)) in members.iter().enumerate() {
                body.push_str(if index == 0 { "" } else { "," });
                body.push_str(label);
                write_cell(&mut body, *ty, self.numbers, row.get(index));
            }
            body.push('}');
            rows += 1;
            Ok(true)
        })?;
        body.push_str("],\n\"more\":");
        body.push_str(if more { "true}\n" } else { "false}\n" });
        Ok(body)
    }
}

/// Parses `count`, `count(x)`, `sum(x)`, `min(x)`, `max(x)` or `avg(x)`.
fn parse_expression(table: &CachedTable, text: &str) -> Result<Expr, Problem> {
    if text == "count" {
        return Ok(Expr::Count);
    }
    let invalid = || {
        let choices = "count, count(x), sum(x), min(x), max(x) or avg(x)";
        Problem::bad_request(format!("invalid value '{text}': expected {choices}"))
    };
    let (function, column) = text.split_once('(').ok_or_else(invalid)?;
    let name = column_list::unquote(column.strip_suffix(')').ok_or_else(invalid)?)?;
    let position = table.schema.column(&name)?;
    let column = table.schema.columns().get(position);
    Ok(match function {
        "count" => Expr::CountOf(position),
        "min" => Expr::Min(position),
        "max" => Expr::Max(position),
        "sum" | "avg" if !column.is_some_and(|column| is_summable(column.ty)) => {
            let message = "only numbers and money have a sum or an average";
            return Err(Problem::bad_request(format!("{message}: '{text}'")));
        }
        "sum" => Expr::Sum(position),
        "avg" => Expr::Avg(position),
        _ => return Err(invalid()),
    })
}

const fn is_summable(ty: Type) -> bool {
    matches!(
        ty,
        Type::I8
            | Type::I16
            | Type::I32
            | Type::I64
            | Type::U8
            | Type::U16
            | Type::U32
            | Type::U64
            | Type::F32
            | Type::F64
            | Type::Currency
            | Type::Any
    )
}
