//! The statements that run on a database: how often, how long they take, and where they come from.

use crate::problem::Problem;
use crate::request::context::RequestContext;
use crate::response::builder::ResponseBuilder;
use bobak_core::statements::StatementStats;
use bobak_core::{Error, ErrorKind};
use hyper::StatusCode;
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::time::Duration;

/// How many statements are listed, unless the client says otherwise.
const DEFAULT_LIMIT: usize = 100;

/// What the list is sorted by, the largest first.
#[derive(Clone, Copy)]
enum StatementOrder {
    Total,
    Mean,
    P95,
    Max,
    Count,
    Rows,
    Waited,
    Errors,
}

const ORDERS: [(&str, StatementOrder); 8] = [
    ("total", StatementOrder::Total),
    ("mean", StatementOrder::Mean),
    ("p95", StatementOrder::P95),
    ("max", StatementOrder::Max),
    ("count", StatementOrder::Count),
    ("rows", StatementOrder::Rows),
    ("waited", StatementOrder::Waited),
    ("errors", StatementOrder::Errors),
];

/// `GET /statements`
pub(crate) fn statements(request: &mut RequestContext) -> Result<ResponseBuilder, Problem> {
    let limit = request.parameters.number("limit")?.unwrap_or(DEFAULT_LIMIT);
    let order = request.parameters.choice("order", &ORDERS)?.unwrap_or(StatementOrder::Total);
    request.parameters.finish()?;
    let protected = &request.database.protected;
    if !request.client.caller.is_unrestricted(protected.name()) {
        let message = "the statements of all clients need all permissions on the database";
        return Err(Error::new(ErrorKind::Denied, message).into());
    }
    let Some(monitor) = protected.engine().statements() else {
        let message = "the server does not monitor the statements of this database";
        return Err(Error::new(ErrorKind::Unsupported, message).into());
    };
    let mut all = monitor.statistics();
    all.sort_by_key(|stats| Reverse(rank(stats, order)));
    let list: Vec<_> = all.iter().take(limit).map(to_json).collect();
    let body = json!({"statements": list, "total": all.len()}).to_string() + "\n";
    Ok(ResponseBuilder::json(StatusCode::OK, body))
}

fn rank(stats: &StatementStats, order: StatementOrder) -> u128 {
    match order {
        StatementOrder::Total => stats.total.as_nanos(),
        StatementOrder::Mean => stats.mean().as_nanos(),
        StatementOrder::P95 => stats.p95.as_nanos(),
        StatementOrder::Max => stats.max.as_nanos(),
        StatementOrder::Count => stats.count.into(),
        StatementOrder::Rows => stats.rows.into(),
        StatementOrder::Waited => stats.waited.as_nanos(),
        StatementOrder::Errors => stats.errors.into(),
    }
}

fn to_json(stats: &StatementStats) -> Value {
    let millis = |time: Duration| time.as_nanos() as f64 / 1e6;
    json!({
        "text": &*stats.text,
        "verb": &*stats.verb,
        "table": stats.table.as_deref(),
        "engine": stats.engine,
        "count": stats.count,
        "errors": stats.errors,
        "rows": stats.rows,
        "total_ms": millis(stats.total),
        "mean_ms": millis(stats.mean()),
        "p95_ms": millis(stats.p95),
        "max_ms": millis(stats.max),
        "waited_ms": millis(stats.waited),
        "last_origin": stats.last_origin.as_ref().map(ToString::to_string),
        "last_error": stats.last_error.map(|kind| format!("{kind:?}")),
    })
}
