//! The session of a browser: signing in and out, and who is signed in.

use crate::json::error::invalid_json;
use crate::peer::Peer;
use crate::problem::Problem;
use crate::request::body::RequestBody;
use crate::response::builder::ResponseBuilder;
use crate::same_origin;
use crate::settings::SqlAccess;
use crate::state::authentication::Client;
use crate::state::shared::ServerState;
use bobak_permissions::{Caller, Credentials};
use hyper::StatusCode;
use hyper::header::SET_COOKIE;
use hyper::http::request::Parts;
use serde::Deserialize;
use serde_json::{Value as Json, json};

/// The most bytes of a sign-in.
const MAX_BODY: usize = 4_096;

/// What a client signs in with: the code of a sign-in link, a token, or a name and a password.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SignIn {
    code: Option<String>,
    token: Option<String>,
    user: Option<String>,
    password: Option<String>,
}

/// `GET /session`: who the client is, and what it may do beyond its tables.
pub(crate) fn session(client: &Client) -> ResponseBuilder {
    let mut body = describe(&client.caller, client.sql);
    if let Some(account) = &client.acting_as {
        body["as"] = json!(account);
    }
    ResponseBuilder::json(StatusCode::OK, body.to_string() + "\n")
}

/// `POST /session`: signs in.
pub(crate) async fn sign_in(
    state: &ServerState,
    peer: &Peer,
    parts: &Parts,
    body: RequestBody,
) -> Result<ResponseBuilder, Problem> {
    same_origin::check(parts)?;
    let body = tokio::time::timeout(state.settings.body_timeout, read(body));
    let body =
        body.await.map_err(|_| Problem::bad_request("the request body did not arrive"))??;
    let sign_in: SignIn = serde_json::from_slice(&body).map_err(|error| invalid_json(&error))?;
    let (caller, sql) = authenticate(state, peer, sign_in).await?;
    let authenticator = &state.authenticator;
    authenticator.sessions.end(&parts.headers);
    let body = describe(&caller, sql).to_string() + "\n";
    let id = authenticator.sessions.begin(caller, sql)?;
    let is_secure = same_origin::is_secure(&parts.headers);
    let cookie = authenticator.sessions.cookie(&parts.headers, &id, is_secure);
    Ok(ResponseBuilder::json(StatusCode::CREATED, body).with(SET_COOKIE, &cookie))
}

/// The client, and which SQL it may send.
async fn authenticate(
    state: &ServerState,
    peer: &Peer,
    sign_in: SignIn,
) -> Result<(Caller, SqlAccess), Problem> {
    let authenticator = &state.authenticator;
    match sign_in {
        // The link is for the user who started the server, and who can do anything with the file.
        SignIn { code: Some(code), token: None, user: None, password: None } => {
            Ok((authenticator.redeem(&code, peer)?, SqlAccess::Write))
        }
        SignIn { code: None, token: Some(token), user: None, password: None } => {
            let credentials = Credentials::Token(token);
            Ok((authenticator.verify(credentials, peer.address).await?, state.settings.sql))
        }
        SignIn { code: None, token: None, user: Some(name), password: Some(password) } => {
            let credentials = Credentials::User { name, password };
            Ok((authenticator.verify(credentials, peer.address).await?, state.settings.sql))
        }
        _ => Err(Problem::bad_request("send `code`, or `token`, or `user` and `password`")),
    }
}

/// `DELETE /session`: signs out.
pub(crate) fn sign_out(state: &ServerState, parts: &Parts) -> Result<ResponseBuilder, Problem> {
    same_origin::check(parts)?;
    let sessions = &state.authenticator.sessions;
    sessions.end(&parts.headers);
    let cookie = sessions.cookie(&parts.headers, "", same_origin::is_secure(&parts.headers));
    Ok(ResponseBuilder::empty(StatusCode::NO_CONTENT).with(SET_COOKIE, &cookie))
}

/// The body of a sign-in.
async fn read(mut body: RequestBody) -> Result<Vec<u8>, Problem> {
    let mut bytes = Vec::new();
    while let Some(frame) = body.next().await {
        let aborted =
            |error| Problem::bad_request(format!("the request body was aborted: {error}"));
        let frame = frame.map_err(aborted)?;
        bytes.extend_from_slice(frame.data_ref().map_or(&[][..], |data| &**data));
        if bytes.len() > MAX_BODY {
            return Err(Problem::too_large(format!("the body is longer than {MAX_BODY} bytes")));
        }
    }
    Ok(bytes)
}

fn describe(caller: &Caller, sql: SqlAccess) -> Json {
    let sql = match sql {
        SqlAccess::None => "none",
        SqlAccess::Read => "read",
        SqlAccess::Write => "write",
    };
    json!({
        "name": caller.name(),
        "anonymous": caller.is_anonymous(),
        "administrator": caller.is_administrator(),
        "sql": sql,
    })
}
