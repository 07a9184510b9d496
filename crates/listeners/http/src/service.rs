//! The way of a request: who, what, and then to the file of its noun.

use crate::answer::{Answer, Body};
use crate::call::Call;
use crate::coding::Coding;
use crate::guests::Guest;
use crate::memory::Memory;
use crate::problem::Problem;
use crate::route::{Resource, Route};
use crate::server::Shared;
use crate::upload::Upload;
use crate::visitor::Visitor;
use crate::{
    aggregate, batch, coding, cors, create, events, export, head, history, home, import, list,
    openapi, row, sql, tables, work,
};
use bobak_core::ErrorKind;
use hyper::body::Incoming;
use hyper::header::{ALLOW, HeaderValue, ORIGIN};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, StatusCode};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Answers a request.
pub(crate) async fn serve(
    shared: &Arc<Shared>,
    visitor: &Arc<Visitor>,
    request: Request<Incoming>,
) -> Response<Body> {
    let (head, body) = request.into_parts();
    let body = Upload::new(body, &head.headers, shared.settings.body_timeout);
    let began = Instant::now();
    visitor.is(None);
    let origin = head.headers.get(ORIGIN).cloned();
    let (method, coding) = (head.method.clone(), Coding::wanted(&head.headers));
    let route = Route::of(head.uri.path());
    let place = route.as_ref().map_or(Resource::OTHER, |route| route.resource.place());
    let answer = work::ending(visitor, &shared.turns, async {
        let answer = match (head::check(&head), route) {
            (Err(problem), _) => Err(problem),
            (Ok(()), Ok(route)) => answer(shared, visitor, route, head, body).await,
            // A page is to be told what is wrong by the request itself.
            (Ok(()), Err(_)) if method == Method::OPTIONS => Ok(cors::options(Resource::ANY)),
            // Who is not let in does not learn which paths there are.
            (Ok(()), Err(problem)) => admit(shared, visitor, &head).await.and(Err(problem)),
        };
        let answer = answer.unwrap_or_else(|problem| tell(shared, visitor, problem));
        keep(shared, visitor, coding::shrink(answer, coding).await)
    });
    let mut answer = answer.await;
    cors::admit(&shared.settings.origins, origin.as_ref(), answer.headers_mut());
    shared.metrics.count(place, &method, answer.status(), began.elapsed());
    answer.into_response()
}

/// Takes the memory that an answer has until it is sent.
fn keep(shared: &Shared, visitor: &Visitor, mut answer: Answer) -> Answer {
    let Body::Whole(Some(bytes)) = answer.body_mut() else { return answer };
    if Memory::is_little(bytes.len()) {
        return answer;
    }
    match shared.answers.keep(std::mem::take(bytes), &visitor.principal()) {
        Ok(kept) => *bytes = kept,
        Err(problem) => return tell(shared, visitor, problem),
    }
    answer
}

/// The answer that tells of a problem; the log and the counters hear of it too.
fn tell(shared: &Shared, visitor: &Visitor, problem: Problem) -> Answer {
    match problem.status() {
        StatusCode::UNAUTHORIZED => {
            shared.metrics.refused.fetch_add(1, Ordering::Relaxed);
        }
        StatusCode::TOO_MANY_REQUESTS => {
            shared.metrics.limited.fetch_add(1, Ordering::Relaxed);
        }
        _ => {}
    }
    if let Some(why) = problem.for_log() {
        let status = problem.status().as_u16();
        shared.tell_of(visitor, format_args!("was told {status}: {why}"));
    }
    problem.into_answer()
}

async fn answer(
    shared: &Arc<Shared>,
    visitor: &Arc<Visitor>,
    route: Route,
    head: Parts,
    body: Upload,
) -> Result<Answer, Problem> {
    let resource = route.resource;
    if head.method == Method::OPTIONS {
        return Ok(cors::options(resource.allow()));
    }
    if resource == Resource::Health {
        only_get(&head.method, &resource)?;
        return Ok(Answer::json(StatusCode::OK, "{\"status\":\"ok\"}\n"));
    }
    if resource == Resource::Metrics && shared.settings.open_metrics {
        only_get(&head.method, &resource)?;
        return Ok(metrics(shared));
    }
    let guest = admit(shared, visitor, &head).await?;
    let name = route.database.as_deref().unwrap_or_else(|| shared.guests.first());
    let base = Arc::clone(guest.base(name)?);
    let mut call = Call::new(shared, visitor, guest, base, head, body)?;
    let (streams, work) = (resource.is_stream(), answer_call(&resource, &mut call));
    if streams {
        return work.await;
    }
    let late = |_| {
        let message = "the request took too long; what it writes may still come to pass";
        Problem::new(StatusCode::GATEWAY_TIMEOUT, ErrorKind::Timeout, message)
    };
    tokio::time::timeout(shared.settings.request_timeout, work).await.map_err(late)?
}

/// Does what is asked; once more where the table turns out to have changed since it was looked up.
async fn answer_call(resource: &Resource, call: &mut Call) -> Result<Answer, Problem> {
    let done = dispatch(resource, call).await;
    match &done {
        Err(problem) if problem.error().kind() == ErrorKind::Schema && call.renew().await? => {
            dispatch(resource, call).await
        }
        _ => done,
    }
}

async fn dispatch(resource: &Resource, call: &mut Call) -> Result<Answer, Problem> {
    let method = call.head.method.clone();
    match (resource, method.as_str()) {
        (Resource::Rows(table), "GET" | "HEAD") => list::list(call, table).await,
        (Resource::Rows(table), "POST") => create::create(call, table).await,
        (Resource::Row(table, key), "GET" | "HEAD") => row::get(call, table, key).await,
        (Resource::Row(table, key), "PUT") => row::replace(call, table, key).await,
        (Resource::Row(table, key), "PATCH") => row::patch(call, table, key).await,
        (Resource::Row(table, key), "DELETE") => row::delete(call, table, key).await,
        (Resource::History(table, key), "GET" | "HEAD") => history::history(call, table, key).await,
        (Resource::Import(table), "POST") => import::import(call, table).await,
        (Resource::Export(table), "GET" | "HEAD") => export::export(call, table).await,
        (Resource::Aggregate(table), "GET" | "HEAD") => aggregate::aggregate(call, table).await,
        (Resource::Changes(table), "GET" | "HEAD") => events::events(call, table).await,
        (Resource::Batch, "POST") => batch::batch(call).await,
        (Resource::Sql, "POST") => sql::sql(call).await,
        (Resource::OpenApi, "GET" | "HEAD") => openapi::openapi(call).await,
        (Resource::Tables, "GET" | "HEAD") => tables::tables(call).await,
        (Resource::Table(table), "GET" | "HEAD") => tables::table(call, table).await,
        (Resource::Home, "GET" | "HEAD") => home::home(call).await,
        (Resource::Databases, "GET" | "HEAD") => tables::databases(call),
        (Resource::Metrics, "GET" | "HEAD") => Ok(metrics(&call.shared)),
        _ => Err(not_allowed(resource)),
    }
}

async fn admit(
    shared: &Arc<Shared>,
    visitor: &Visitor,
    head: &Parts,
) -> Result<Arc<Guest>, Problem> {
    let door = &visitor.door;
    let guest = match shared.guests.known(&head.headers, door.trusted)? {
        Some(guest) => guest,
        None => shared.guests.admit(&head.headers, door.peer).await?,
    };
    visitor.is(Some(Arc::clone(&guest)));
    shared.guests.count(&guest, door.peer)?;
    Ok(guest)
}

fn metrics(shared: &Shared) -> Answer {
    let connections = shared.seats.in_use();
    let streams = shared.streams.in_use();
    let text = shared.metrics.to_text(connections, streams);
    Answer::text(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", text)
}

fn only_get(method: &Method, resource: &Resource) -> Result<(), Problem> {
    if matches!(*method, Method::GET | Method::HEAD) { Ok(()) } else { Err(not_allowed(resource)) }
}

fn not_allowed(resource: &Resource) -> Problem {
    let allow = resource.allow();
    let message = format!("this can be asked for with {allow}");
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, ErrorKind::Unsupported, message)
        .header(ALLOW, HeaderValue::from_static(allow))
}
