//! What an administrator sees of the server: its load and quotas, its log, and the sizes of tables.

use crate::problem::Problem;
use crate::request::context::RequestContext;
use crate::response::builder::ResponseBuilder;
use crate::state::shared::ServerState;
use crate::workers::blocking;
use bobak::replication::replica_state;
use bobak_changes::{consumers, logs_in};
use bobak_core::{Engine, ErrorKind, Result, Source, ValueRef};
use hyper::StatusCode;
use serde_json::{Value as Json, json};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// `GET /status`
pub(crate) async fn status(request: &mut RequestContext) -> Result<ResponseBuilder, Problem> {
    request.parameters.finish()?;
    request.check_administrator()?;
    let databases = request.state.authenticator.databases().to_vec();
    let described = blocking::run(move || {
        let describe = |database: &Arc<crate::database::handle::DatabaseHandle>| {
            let engine = database.protected.engine();
            let replication = replication(&**engine)?;
            Ok(json!({"name": database.name, "engine": engine.name(), "replication": replication}))
        };
        Ok(databases.iter().map(describe).collect::<Result<Vec<_>>>()?)
    });
    let mut body = load(&request.state);
    body["databases"] = described.await?.into();
    Ok(ResponseBuilder::json(StatusCode::OK, body.to_string() + "\n"))
}

/// How much of each limit is used.
fn load(state: &ServerState) -> Json {
    let (settings, metrics) = (&state.settings, &state.metrics);
    let used = |used: usize, max: usize| json!({"used": used, "max": max});
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "uptime_seconds": state.started.elapsed().as_secs(),
        "memory_bytes": bobak_serving::memory_in_use(),
        "connections": used(state.connections.in_use(), settings.max_connections),
        "streams": used(state.streams.in_use(), settings.max_streams),
        "subscriptions": used(state.subscribers.in_use(), settings.max_subscriptions),
        "sessions": state.authenticator.sessions.count(),
        "client_quota_percent": settings.client_quota,
        "requests_per_second_of_a_client": settings.rate_limit,
        "rejected_credentials": metrics.failed_logins.load(Ordering::Relaxed),
        "rate_limited": metrics.rate_limited.load(Ordering::Relaxed),
    })
}

/// What a database knows of its source, and of the readers of its changes.
fn replication(engine: &dyn Engine) -> Result<Json> {
    let source = replica_state(engine)?.map(|state| {
        let changed_at = state.changed_at.map(|at| at.to_string());
        json!({"position": state.position, "complete": state.is_complete, "changed_at": changed_at, "tables": state.tables})
    });
    let session = engine.session()?;
    let logs = logs_in(&*session)?;
    let last = if logs.is_empty() { 0 } else { bobak_changes::last_id(&*session, &logs)? };
    let readers = consumers(engine)?.into_iter().map(|(name, position)| {
        json!({"name": name, "position": position, "behind": last.saturating_sub(position)})
    });
    Ok(json!({"replica": source, "last_change": last, "consumers": readers.collect::<Vec<_>>()}))
}

/// `GET /log`: the last lines of the audit log, newest first.
pub(crate) fn log(request: &mut RequestContext) -> Result<ResponseBuilder, Problem> {
    request.parameters.finish()?;
    request.check_administrator()?;
    let lines = request.state.log.recent();
    let lines = lines.iter().rev().map(|(at, line)| json!({"at": at.to_string(), "line": line}));
    let body = json!({"lines": lines.collect::<Vec<_>>()});
    Ok(ResponseBuilder::json(StatusCode::OK, body.to_string() + "\n"))
}

/// `GET /sizes`: the bytes of each table with its indexes.
pub(crate) async fn sizes(request: &mut RequestContext) -> Result<ResponseBuilder, Problem> {
    request.parameters.finish()?;
    request.check_administrator()?;
    let database = Arc::clone(&request.database);
    let body = blocking::run(move || {
        let engine = database.protected.engine();
        let bytes = bytes_of(&**engine)?;
        let tables = engine.tables()?;
        let table = |table: &bobak_core::TableSchema| {
            let size = bytes.as_ref().and_then(|bytes| bytes.get(table.name()));
            json!({"name": table.name(), "bytes": size})
        };
        let tables: Vec<_> = tables.iter().map(table).collect();
        Ok(json!({"tables": tables}).to_string() + "\n")
    });
    Ok(ResponseBuilder::json(StatusCode::OK, body.await?))
}

/// The bytes of each table; `None` if the engine does not say.
fn bytes_of(engine: &dyn Engine) -> Result<Option<HashMap<String, i64>>> {
    let text = match engine.name() {
        "sqlite" => {
            "SELECT m.tbl_name, sum(s.pgsize) FROM dbstat s JOIN sqlite_schema m ON m.name = s.name GROUP BY 1"
        }
        "postgres" => {
            "SELECT relname, pg_total_relation_size(oid) FROM pg_class WHERE relkind IN ('r', 'p')"
        }
        "mysql" => {
            "SELECT table_name, CAST(data_length + index_length AS SIGNED) FROM information_schema.tables WHERE table_schema = DATABASE()"
        }
        _ => return Ok(None),
    };
    let mut sizes = HashMap::new();
    let read = engine.session()?.query(&Source::Sql { text, parameters: &[] }, &mut |row| {
        if let (ValueRef::Text(name), ValueRef::Int(bytes)) = (row.get(0), row.get(1)) {
            sizes.insert(name.to_owned(), bytes);
        }
        Ok(true)
    });
    match read {
        // An SQLite that was built without its statistics.
        Err(error) if error.kind() == ErrorKind::Schema => Ok(None),
        read => read.map(|()| Some(sizes)),
    }
}
