//! Sums, counts and the like, of all rows or of groups.

use crate::answer::Answer;
use crate::call::Call;
use crate::etag::Etag;
use crate::json::{Numbers, write_cell};
use crate::model::{Table, twice};
use crate::names;
use crate::problem::Problem;
use crate::selection::Selection;
use crate::work;
use bobak_core::{Engine, Expr, Select, Source, Type};
use bobak_text::json::write_string;
use hyper::StatusCode;
use hyper::header::{ETAG, IF_NONE_MATCH};
use std::collections::HashSet;
use std::sync::Arc;

/// How much an answer may hold.
#[derive(Clone, Copy)]
struct Bounds {
    rows: u64,
    bytes: usize,
}

/// `GET /tables/{table}/aggregate`
pub(crate) async fn aggregate(call: &mut Call, name: &str) -> Result<Answer, Problem> {
    let table = call.table(name).await?;
    let mut selection = Selection::take(&mut call.parameters, &table)?;
    let group = match call.parameters.take("group") {
        Some(names) => table.places(&names)?,
        None => Vec::new(),
    };
    let values = call.parameters.take("values").unwrap_or_else(|| "count".to_owned());
    let numbers = call.numbers()?;
    call.parameters.finish()?;
    if selection.after.is_some() {
        return Err(Problem::bad_request("groups are paged with offset, not with after"));
    }
    let mut columns: Vec<Expr> = group.iter().map(|&place| Expr::Column(place)).collect();
    for value in names::parts(&values) {
        columns.push(expression(&table, value)?);
    }
    let settings = &call.shared.settings;
    let (most, longest) = (settings.longest_page, settings.answer);
    let limit = selection.limit.unwrap_or(most).min(most);
    selection.limit = Some(limit + 1);
    let mut query = selection.query();
    for &place in &group {
        query = query.group_by(bobak_core::Column::<_, bobak_core::Value<'static>>::new(place));
    }
    let select = query.to_select(&table.schema, columns)?;
    let mut names = HashSet::new();
    let twofold =
        Source::select_names(&select).into_iter().find(|name| !names.insert(name.clone()));
    if let Some(name) = twofold {
        return Err(twice(&name).into());
    }
    let base = Arc::clone(&call.base);
    let bounds = Bounds { rows: limit, bytes: longest };
    let body =
        work::run(move || Ok(groups(&*base.engine, &table, &select, numbers, bounds)?)).await?;
    let tag = Etag::of(body.as_bytes());
    Ok(match tag.is_in(call.headers(), &IF_NONE_MATCH) {
        Some(true) => tag.not_modified(call.headers(), body.len()),
        _ => Answer::json(StatusCode::OK, body).with(ETAG, tag.as_str()),
    })
}

/// Reads `count`, `count(x)`, `sum(x)`, `min(x)`, `max(x)`, `avg(x)`.
fn expression(table: &Table, text: &str) -> Result<Expr, Problem> {
    if text == "count" {
        return Ok(Expr::Count);
    }
    let wrong = || {
        let message = "values are count, count(column), sum(…), min(…), max(…), avg(…)";
        Problem::bad_request(format!("'{text}' is no value: {message}"))
    };
    let (function, column) = text.split_once('(').ok_or_else(wrong)?;
    let name = names::unquoted(column.strip_suffix(')').ok_or_else(wrong)?)?;
    let place = table.schema.column(&name)?;
    let adds = table.schema.columns().get(place).is_some_and(|column| is_summable(column.ty));
    Ok(match function {
        "count" => Expr::CountOf(place),
        "min" => Expr::Min(place),
        "max" => Expr::Max(place),
        "sum" | "avg" if !adds => {
            let message = "only numbers and money can be added up";
            return Err(Problem::bad_request(format!("{message}: '{text}'")));
        }
        "sum" => Expr::Sum(place),
        "avg" => Expr::Avg(place),
        _ => return Err(wrong()),
    })
}

/// Whether the values of a column can be added up.
pub(crate) const fn is_summable(ty: Type) -> bool {
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

/// The type of an expression's values.
fn type_of(table: &Table, expr: Expr) -> Type {
    let column = expr.column().and_then(|place| table.schema.columns().get(place));
    let ty = column.map_or(Type::Any, |column| column.ty);
    match expr {
        Expr::Count | Expr::CountOf(_) => Type::I64,
        Expr::Avg(_) => Type::F64,
        Expr::Sum(_) if ty.integer_range().is_some() && ty != Type::Currency => Type::I64,
        Expr::Sum(_) if ty == Type::F32 => Type::F64,
        _ => ty,
    }
}

fn groups(
    engine: &dyn Engine,
    table: &Table,
    select: &Select,
    numbers: Numbers,
    bounds: Bounds,
) -> bobak_core::Result<String> {
    let members: Vec<(String, Type)> = Source::select_names(select)
        .iter()
        .zip(&select.columns)
        .map(|(name, &expr)| {
            let mut label = String::new();
            write_string(&mut label, name);
            label.push(':');
            (label, type_of(table, expr))
        })
        .collect();
    let mut body = String::from("{\"rows\":[");
    let (mut rows, mut more) = (0, false);
    engine.session()?.query(&Source::Select(select), &mut |row| {
        if rows == bounds.rows || body.len() >= bounds.bytes {
            more = true;
            return Ok(false);
        }
        body.push_str(if rows == 0 { "\n{" } else { ",\n{" });
        for (place, (label, ty)) in members.iter().enumerate() {
            body.push_str(if place == 0 { "" } else { "," });
            body.push_str(label);
            write_cell(&mut body, *ty, numbers, row.get(place));
        }
        body.push('}');
        rows += 1;
        Ok(true)
    })?;
    body.push_str("],\n\"more\":");
    body.push_str(if more { "true}\n" } else { "false}\n" });
    Ok(body)
}
