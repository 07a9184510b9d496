//! Counts, sums, minima, maxima and averages, of all rows or by group.

use crate::database::table::CachedTable;
use crate::json::NumberFormat;
use crate::json::write::write_cell;
use crate::problem::Problem;
use crate::request::column_list::{self, duplicate_name};
use crate::request::context::RequestContext;
use crate::request::selection::RowSelection;
use crate::resources::related_rows::RelatedLoader;
use crate::response::builder::ResponseBuilder;
use crate::response::conditional::json_or_not_modified;
use crate::response::etag::Etag;
use crate::workers::blocking;
use bobak_core::{
    Column, Engine, Error, ErrorKind, Expr, Row, Select, Session, Source, Type, Value, ValueRef,
};
use bobak_text::json::write_string;
use std::collections::{BinaryHeap, HashSet};
use std::sync::Arc;

/// The most bytes of groups that are kept to order them by their number of rows.
const MAX_COUNTED_BYTES: usize = 64 << 20;

/// An aggregate query, and how to write its result.
struct AggregateQuery {
    select: Select,
    numbers: NumberFormat,
    limit: u64,
    /// Orders groups by their number of rows, and skips the first ones.
    by_count: Option<CountOrder>,
    /// The result ends after the group that exceeds this length.
    max_length: usize,
    /// The most rows that the relations of the filter lead to.
    max_related: u64,
}

/// `GET /tables/{table}/aggregate`
pub(crate) async fn aggregate(
    request: &mut RequestContext,
    name: &str,
) -> Result<ResponseBuilder, Problem> {
    let aggregate = AggregateQuery::take(request, name).await?;
    let database = Arc::clone(&request.database);
    let body = blocking::run(move || aggregate.run(&*database.engine)).await?;
    let etag = Etag::of(body.as_bytes());
    Ok(json_or_not_modified(request.headers(), &etag, body))
}

/// The order of groups by their number of rows. No engine orders by an aggregate, so the groups are ordered here.
struct CountOrder {
    descending: bool,
    /// The position of the count in the result.
    column: usize,
    offset: u64,
}

/// A group as JSON, in the order of a [`CountOrder`]; groups with the same number stay in the order of their columns.
type CountedGroup = (i128, u64, String);

const TOO_MANY_GROUPS: &str = "too many groups are skipped: use a smaller 'offset'";

impl AggregateQuery {
    async fn take(request: &mut RequestContext, name: &str) -> Result<Self, Problem> {
        let table = request.table(name).await?;
        let tables = request.database.schema.tables().await?;
        let groups = match request.parameters.take("group") {
            Some(list) => column_list::positions(&table, &list)?,
            None => Vec::new(),
        };
        let values = request.parameters.take("values").unwrap_or_else(|| "count".to_owned());
        let counted = column_list::split(&values).position(|value| value == "count");
        let is_grouped = table.schema.column("count").is_ok_and(|count| groups.contains(&count));
        let descending = match counted {
            Some(_) if !is_grouped => request.parameters.take_count_order(),
            _ => None,
        };
        let mut selection = RowSelection::take(&mut request.parameters, &table, Some(&tables))?;
        let numbers = request.number_format()?;
        request.parameters.finish()?;
        if selection.after.is_some() {
            return Err(Problem::bad_request("'after' does not apply to groups: use 'offset'"));
        }
        if selection.order.iter().any(|step| !groups.contains(&step.column)) {
            let message = "groups can be sorted only by their columns, and by count";
            return Err(Problem::bad_request(message));
        }
        let mut columns: Vec<Expr> =
            groups.iter().map(|&position| Expr::Column(position)).collect();
        for value in column_list::split(&values) {
            columns.push(parse_expression(&table, value)?);
        }
        let settings = &request.state.settings;
        let (max, max_length) = (settings.max_page_size, settings.max_response);
        let limit = selection.limit.unwrap_or(max).min(max);
        let by_count = descending.zip(counted).map(|(descending, counted)| {
            let offset = std::mem::take(&mut selection.offset);
            CountOrder { descending, column: groups.len() + counted, offset }
        });
        // One more group shows whether there are more.
        selection.limit = by_count.is_none().then_some(limit + 1);
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
            None => {
                let max_related = settings.expand_rows;
                Ok(Self { select, numbers, limit, by_count, max_length, max_related })
            }
        }
    }

    fn run(mut self, engine: &dyn Engine) -> Result<String, Problem> {
        let session = engine.session()?;
        let mut loader = RelatedLoader::new(engine, &*session, self.max_related, self.max_length);
        self.select = loader.resolve(self.select)?;
        let members: Vec<(String, Type)> = Source::select_columns(&self.select)
            .iter()
            .map(|column| {
                let mut label = String::new();
                write_string(&mut label, &column.name);
                label.push(':');
                (label, column.ty)
            })
            .collect();
        if let Some(order) = &self.by_count {
            return Ok(self.run_by_count(&*session, order, &members)?);
        }
        let mut body = String::from("{\"rows\":[");
        let (mut rows, mut more) = (0, false);
        let read = session.query(&Source::Select(&self.select), &mut |row| {
            if rows == self.limit || body.len() >= self.max_length {
                more = true;
                return Ok(false);
            }
            body.push_str(if rows == 0 { "\n" } else { ",\n" });
            self.write_group(&mut body, &members, row);
            rows += 1;
            Ok(true)
        });
        read.map_err(|error| self.name_sum(error))?;
        body.push_str("],\n\"more\":");
        body.push_str(if more { "true}\n" } else { "false}\n" });
        Ok(body)
    }

    fn write_group(&self, out: &mut String, members: &[(String, Type)], row: &dyn Row) {
        for (index, (label, ty)) in members.iter().enumerate() {
            out.push(if index == 0 { '{' } else { ',' });
            out.push_str(label);
            write_cell(out, *ty, self.numbers, row.get(index));
        }
        out.push('}');
    }

    /// The error of a sum beyond 64 bits, which engines report in different words: with the column, if only one can be meant.
    fn name_sum(&self, error: Error) -> Error {
        let sums: Vec<_> = self
            .select
            .columns
            .iter()
            .filter_map(|expr| match expr {
                Expr::Sum(position) => self.select.table.columns().get(*position),
                _ => None,
            })
            .collect();
        if error.kind() != ErrorKind::OutOfRange
            || error.message() == TOO_MANY_GROUPS
            || sums.is_empty()
        {
            return error;
        }
        let named = Error::new(ErrorKind::OutOfRange, "the sum is more than 64 bits hold");
        let named = named.in_table(self.select.table.name());
        let named = match &*sums {
            [column] => named.in_column(column.name.clone()),
            _ => named,
        };
        named.with_source(error)
    }

    /// Reads all groups, and keeps only as many as the result needs.
    fn run_by_count(
        &self,
        session: &dyn Session,
        order: &CountOrder,
        members: &[(String, Type)],
    ) -> bobak_core::Result<String> {
        let kept = usize::try_from(order.offset.saturating_add(self.limit)).unwrap_or(usize::MAX);
        let (mut heap, mut number, mut bytes) = (BinaryHeap::<CountedGroup>::new(), 0, 0);
        let read = session.query(&Source::Select(&self.select), &mut |row| {
            let ValueRef::Int(count) = row.get(order.column) else { return Ok(true) };
            let rank = if order.descending { -i128::from(count) } else { i128::from(count) };
            number += 1;
            // The last of the groups that are kept so far is at the top.
            let is_full = heap.len() >= kept;
            if is_full && heap.peek().is_none_or(|last| rank >= last.0) {
                return Ok(true);
            }
            let mut text = String::new();
            self.write_group(&mut text, members, row);
            bytes += text.len();
            if bytes > MAX_COUNTED_BYTES {
                return Err(Error::new(ErrorKind::OutOfRange, TOO_MANY_GROUPS));
            }
            heap.push((rank, number, text));
            if is_full && let Some((.., dropped)) = heap.pop() {
                bytes -= dropped.len();
            }
            Ok(true)
        });
        read.map_err(|error| self.name_sum(error))?;
        let skipped = usize::try_from(order.offset).unwrap_or(usize::MAX);
        let groups = heap.into_sorted_vec().into_iter().skip(skipped).map(|(.., text)| text);
        Ok(format!(
            "{{\"rows\":[\n{}],\n\"more\":{}}}\n",
            groups.collect::<Vec<_>>().join(",\n"),
            number > kept as u64
        ))
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
