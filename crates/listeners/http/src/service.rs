//! Serves one request: authenticates it, finds its resource, and builds the response.

use crate::mcp::endpoint;
use crate::memory_budget::MemoryBudget;
use crate::peer::Peer;
use crate::problem::Problem;
use crate::request::body::RequestBody;
use crate::request::context::RequestContext;
use crate::request::headers;
use crate::request::parameters::QueryParameters;
use crate::resources::{
    access, aggregate, backups, batch, bulk_change, changes, create, export, history, import, list,
    migrations, openapi, query, row, server_status, session, sql, statements, studio, tables,
    value,
};
use crate::response::builder::{Body, ResponseBuilder};
use crate::response::compression::{self, ContentCoding};
use crate::response::cors;
use crate::route::{Resource, Route};
use crate::state::authentication::Client;
use crate::state::shared::ServerState;
use crate::state::statement_metrics;
use crate::workers::blocking;
use bobak_core::ErrorKind;
use hyper::body::Incoming;
use hyper::header::{
    ALLOW, AUTHORIZATION, CACHE_CONTROL, COOKIE, HeaderValue, ORIGIN, X_CONTENT_TYPE_OPTIONS,
};
use hyper::http::request::Parts;
use hyper::{Method, Request, StatusCode};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Names the account whose permissions an administrator tries.
const ACTING_AS: &str = "bobak-as";

/// The methods of a view's rows.
const VIEW_METHODS: &str = "GET, HEAD, OPTIONS";

/// Responds to a request.
pub(crate) async fn respond(
    state: &Arc<ServerState>,
    peer: &Arc<Peer>,
    request: Request<Incoming>,
) -> hyper::Response<Body> {
    let (parts, body) = request.into_parts();
    let body = RequestBody::new(body, &parts.headers, state.settings.body_timeout);
    let began = Instant::now();
    peer.set_identity(None);
    let origin = parts.headers.get(ORIGIN).cloned();
    let has_cookie = parts.headers.contains_key(COOKIE);
    let (method, compression) = (parts.method.clone(), ContentCoding::accepted(&parts.headers));
    let route = Route::of(parts.uri.path());
    let index = route.as_ref().map_or(Resource::OTHER, |route| route.resource.index());
    let label = state.route_label(method.as_str(), index);
    let response = blocking::scope(peer, &state.worker_permits, label, async {
        let response = match (headers::check(&parts), route) {
            (Err(problem), _) => Err(problem),
            (Ok(()), Ok(route)) => respond_to(state, peer, route, parts, body).await,
            // A preflight request succeeds, so that the page learns the error from the request
            // itself.
            (Ok(()), Err(_)) if method == Method::OPTIONS => {
                Ok(cors::preflight(Resource::ALL_METHODS))
            }
            // Unauthenticated clients do not learn which paths exist.
            (Ok(()), Err(problem)) => {
                let client = state.authenticator.authenticate(&parts, peer).await;
                client.and(Err(problem))
            }
        };
        let response = response.unwrap_or_else(|problem| report(state, peer, problem));
        reserve_memory(state, peer, compression::compress(response, compression).await)
    });
    let mut response = response.await;
    if has_cookie {
        // What a session shows stays out of the browser's cache: it is there after signing out.
        response.headers_mut().entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    }
    let nosniff = HeaderValue::from_static("nosniff");
    response.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, nosniff);
    cors::allow_origin(&state.settings.cors_origin, origin.as_ref(), response.headers_mut());
    state.metrics.count(index, &method, response.status(), began.elapsed());
    response.into_hyper()
}

/// Reserves the memory that a response occupies until it is sent.
fn reserve_memory(
    state: &ServerState,
    peer: &Peer,
    mut response: ResponseBuilder,
) -> ResponseBuilder {
    let Body::Full(Some(bytes)) = response.body_mut() else { return response };
    if MemoryBudget::is_small(bytes.len()) {
        return response;
    }
    match state.response_memory.reserve(std::mem::take(bytes), &peer.principal()) {
        Ok(reserved) => *bytes = reserved,
        Err(problem) => return report(state, peer, problem),
    }
    response
}

/// Logs and counts a problem, and turns it into a response.
fn report(state: &ServerState, peer: &Peer, problem: Problem) -> ResponseBuilder {
    let counter = match problem.status() {
        StatusCode::UNAUTHORIZED => Some(&state.metrics.failed_logins),
        StatusCode::TOO_MANY_REQUESTS => Some(&state.metrics.rate_limited),
        _ => None,
    };
    if let Some(counter) = counter {
        counter.fetch_add(1, Ordering::Relaxed);
    }
    if let Some(message) = problem.log_message() {
        let status = problem.status().as_u16();
        state.log_peer(peer, format_args!("got status {status}: {message}"));
    }
    problem.into()
}

async fn respond_to(
    state: &Arc<ServerState>,
    peer: &Arc<Peer>,
    route: Route,
    parts: Parts,
    body: RequestBody,
) -> Result<ResponseBuilder, Problem> {
    let resource = route.resource;
    // A browser asks without a token first. Only clients that may know learn what is a view.
    let is_of_rows =
        matches!(resource, Resource::Rows(_)) && parts.headers.contains_key(AUTHORIZATION);
    if parts.method == Method::OPTIONS && !is_of_rows {
        return Ok(cors::preflight(resource.methods()));
    }
    if resource == Resource::Health {
        check_is_get(&parts.method, &resource)?;
        return Ok(ResponseBuilder::json(StatusCode::OK, "{\"status\":\"ok\"}\n"));
    }
    if resource == Resource::Metrics && state.settings.public_metrics {
        check_is_get(&parts.method, &resource)?;
        return Ok(metrics(state, None));
    }
    match (&resource, parts.method.as_str()) {
        _ if !resource.is_for_browsers() => {}
        _ if state.settings.without_studio => return Err(Problem::not_found()),
        (Resource::Session, "POST") => return session::sign_in(state, peer, &parts, body).await,
        (Resource::Session, "DELETE") => return session::sign_out(state, &parts),
        (Resource::Studio(file), "GET" | "HEAD") => {
            return studio::file(file, parts.uri.query(), &parts.headers);
        }
        (Resource::Home, "GET" | "HEAD") => return studio::redirect(&route.database, &parts),
        _ => {}
    }
    let client = state.authenticator.authenticate(&parts, peer).await?;
    let client = match parts.headers.get(ACTING_AS) {
        Some(account) => acting_as(state, &client, account, &resource, &parts.method)?,
        None => client,
    };
    if let Some(response) = of_no_database(&resource, &client, &parts)? {
        return Ok(response);
    }
    let name = route.database.as_deref();
    let name = name.unwrap_or_else(|| state.authenticator.default_database());
    let database = Arc::clone(client.database(name)?);
    let mut request = RequestContext::new(state, peer, client, database, parts, body)?;
    let (is_stream, work) = (resource.is_stream(), dispatch_twice(&resource, &mut request));
    if is_stream {
        return work.await;
    }
    tokio::time::timeout(state.settings.request_timeout, work).await.map_err(timed_out)?
}

/// The response of a resource that belongs to no database: the client may see none.
fn of_no_database(
    resource: &Resource,
    client: &Client,
    parts: &Parts,
) -> Result<Option<ResponseBuilder>, Problem> {
    let response = match (resource, parts.method.as_str()) {
        (Resource::Session, "GET" | "HEAD") => session::session(client),
        (Resource::Databases, "GET" | "HEAD") => tables::databases(client),
        _ => return Ok(None),
    };
    QueryParameters::parse(parts.uri.query())?.finish()?;
    Ok(Some(response))
}

fn timed_out(_: tokio::time::error::Elapsed) -> Problem {
    let message = "the request timed out; its writes may still complete";
    Problem::new(StatusCode::GATEWAY_TIMEOUT, ErrorKind::Timeout, message)
}

/// The client as the account whose permissions an administrator tries.
fn acting_as(
    state: &ServerState,
    client: &Client,
    account: &HeaderValue,
    resource: &Resource,
    method: &Method,
) -> Result<Arc<Client>, Problem> {
    let is_read = matches!(*method, Method::GET | Method::HEAD) || *resource == Resource::Sql;
    let account = account.to_str().unwrap_or_default();
    let client = state.authenticator.acting_as(client, account)?;
    if is_read {
        return Ok(client);
    }
    let message =
        "permission denied: an administrator who tries the permissions of others may only read";
    Err(Problem::new(StatusCode::FORBIDDEN, ErrorKind::Denied, message))
}

/// Dispatches a request; a second time if it fails because its table has changed since the schema
/// was cached.
async fn dispatch_twice(
    resource: &Resource,
    request: &mut RequestContext,
) -> Result<ResponseBuilder, Problem> {
    let result = dispatch(resource, request).await;
    match &result {
        Err(problem)
            if problem.error().kind() == ErrorKind::Schema && request.restart().await? =>
        {
            dispatch(resource, request).await
        }
        _ => result,
    }
}

/// Dispatches a request that a tool makes.
pub(crate) fn dispatch_tool(
    resource: Resource,
    mut request: RequestContext,
) -> Pin<Box<dyn Future<Output = Result<ResponseBuilder, Problem>> + Send>> {
    Box::pin(async move {
        let timeout = request.state.settings.request_timeout;
        let work = dispatch_twice(&resource, &mut request);
        tokio::time::timeout(timeout, work).await.map_err(timed_out)?
    })
}

async fn dispatch(
    resource: &Resource,
    request: &mut RequestContext,
) -> Result<ResponseBuilder, Problem> {
    let method = request.parts.method.clone();
    if is_of_view(resource, &method, request).await? {
        return match method {
            Method::OPTIONS => Ok(cors::preflight(VIEW_METHODS)),
            _ => Err(not_allowed(VIEW_METHODS)),
        };
    }
    match (resource, method.as_str()) {
        (Resource::Rows(_), "OPTIONS") => Ok(cors::preflight(resource.methods())),
        (Resource::Rows(table), "GET" | "HEAD") => list::list(request, table).await,
        (Resource::Plan(table), "GET" | "HEAD") => list::plan(request, table).await,
        (Resource::Rows(table), "POST") => create::create(request, table).await,
        (Resource::Rows(table), "PATCH") => bulk_change::patch(request, table).await,
        (Resource::Rows(table), "DELETE") => bulk_change::delete(request, table).await,
        (Resource::Row(table, key), "GET" | "HEAD") => row::get(request, table, key).await,
        (Resource::Row(table, key), "PUT") => row::replace(request, table, key).await,
        (Resource::Row(table, key), "PATCH") => row::patch(request, table, key).await,
        (Resource::Row(table, key), "DELETE") => row::delete(request, table, key).await,
        (Resource::Value(table, key, column), "GET" | "HEAD") => {
            value::get(request, (table, key, column)).await
        }
        (Resource::Value(table, key, column), "PUT") => {
            value::put(request, (table, key, column)).await
        }
        (Resource::History(table, key), "GET" | "HEAD") => {
            history::history(request, table, key).await
        }
        (Resource::Import(table), "POST") => import::import(request, table).await,
        (Resource::Export(table), "GET" | "HEAD") => export::export(request, table).await,
        (Resource::Aggregate(table), "GET" | "HEAD") => aggregate::aggregate(request, table).await,
        (Resource::Query(table), "GET" | "HEAD") => query::query(request, table).await,
        (Resource::Changes(table), "GET" | "HEAD") => changes::changes(request, table).await,
        (Resource::AllChanges, "GET" | "HEAD") => changes::of_tables(request).await,
        (Resource::Batch, "POST") => batch::batch(request).await,
        (Resource::Sql, "POST") => sql::sql(request).await,
        (Resource::Mcp, "POST") => endpoint::post(request, dispatch_tool).await,
        (Resource::Migrations, "GET" | "HEAD") => migrations::list(request).await,
        (Resource::Migrations, "POST") => migrations::create(request).await,
        (Resource::OpenApi, "GET" | "HEAD") => openapi::openapi(request).await,
        (Resource::Tables, "GET" | "HEAD") => tables::tables(request).await,
        (Resource::Table(table), "GET" | "HEAD") => tables::table(request, table).await,
        (Resource::Metrics, "GET" | "HEAD") => Ok(metrics(&request.state, Some(&request.client))),
        (Resource::Statements, "GET" | "HEAD") => statements::statements(request),
        _ => administrate(resource, method.as_str(), request).await,
    }
}

/// Whether a request that does not read is of the rows of a view, which are only read.
async fn is_of_view(
    resource: &Resource,
    method: &Method,
    request: &mut RequestContext,
) -> Result<bool, Problem> {
    let Resource::Rows(table) = resource else { return Ok(false) };
    let is_read = matches!(*method, Method::GET | Method::HEAD);
    Ok(!is_read && request.table(table).await?.schema.is_view())
}

/// What only administrators do.
async fn administrate(
    resource: &Resource,
    method: &str,
    request: &mut RequestContext,
) -> Result<ResponseBuilder, Problem> {
    match (resource, method) {
        (Resource::Backups, "GET" | "HEAD") => backups::list(request).await,
        (Resource::Backups, "POST") => backups::create(request).await,
        (Resource::Backup(file), "GET" | "HEAD") => backups::download(request, file).await,
        (Resource::VerifyBackup(file), "POST") => backups::verify(request, file).await,
        (Resource::RestoreBackup(file), "POST") => backups::restore(request, file).await,
        (Resource::Sizes, "GET" | "HEAD") => server_status::sizes(request).await,
        (Resource::Access, "GET" | "HEAD") => access::get(request).await,
        (Resource::Role(name), "PUT") => access::put_role(request, name).await,
        (Resource::Role(name), "DELETE") => access::delete_role(request, name).await,
        (Resource::User(name), "PUT") => access::put_user(request, name).await,
        (Resource::User(name), "DELETE") => access::delete_user(request, name).await,
        (Resource::Token(name), "PUT") => access::put_token(request, name).await,
        (Resource::Token(name), "DELETE") => access::delete_token(request, name).await,
        (Resource::Status, "GET" | "HEAD") => server_status::status(request).await,
        (Resource::Log, "GET" | "HEAD") => server_status::log(request),
        _ => Err(method_not_allowed(resource)),
    }
}

/// The metrics; those of single statements for administrators of their database.
fn metrics(state: &ServerState, client: Option<&Client>) -> ResponseBuilder {
    let mut text = state.metrics.to_text(state.connections.in_use(), state.streams.in_use());
    let mut monitored = Vec::new();
    for database in state.authenticator.databases() {
        if let Some(monitor) = database.protected.engine().statements() {
            monitored.push((database.name.as_str(), monitor.statistics()));
        }
    }
    if !monitored.is_empty() {
        // Writing to a String does not fail.
        let _ = statement_metrics::write_sums(&mut text, &monitored);
        let is_administrator =
            |name: &str| client.is_some_and(|client| client.caller.is_unrestricted(name));
        monitored.retain(|(name, _)| is_administrator(name));
        let _ = statement_metrics::write_shapes(&mut text, &monitored);
    }
    ResponseBuilder::text(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", text)
}

fn check_is_get(method: &Method, resource: &Resource) -> Result<(), Problem> {
    match *method {
        Method::GET | Method::HEAD => Ok(()),
        _ => Err(method_not_allowed(resource)),
    }
}

fn method_not_allowed(resource: &Resource) -> Problem {
    not_allowed(resource.methods())
}

fn not_allowed(methods: &'static str) -> Problem {
    let message = format!("this resource supports {methods}");
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, ErrorKind::Unsupported, message)
        .header(ALLOW, HeaderValue::from_static(methods))
}
