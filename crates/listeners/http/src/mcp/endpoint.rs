//! Answers messages.

use super::calls::{ToolCallError, ToolRequest};
use super::message::{RpcError, RpcMessage, RpcMessages};
use super::revision::{RpcRevision, VERSIONS, agreed, check_headers, server_info};
use super::tools::{self, ToolAccess};
use crate::database::handle::DatabaseHandle;
use crate::peer::Peer;
use crate::problem::Problem;
use crate::request::body::RequestBody;
use crate::request::context::RequestContext;
use crate::request::media_type::negotiate;
use crate::response::builder::{Body, ResponseBuilder};
use crate::response::cors;
use crate::route::Resource;
use crate::same_origin;
use crate::settings::SqlAccess;
use crate::state::authentication::Client;
use crate::state::shared::ServerState;
use bobak_core::ErrorKind;
use hyper::StatusCode;
use hyper::header::{CONTENT_TYPE, ORIGIN};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::pin::Pin;
use std::sync::Arc;

/// Runs a request.
pub(crate) type Dispatch =
    fn(
        Resource,
        RequestContext,
    ) -> Pin<Box<dyn Future<Output = Result<ResponseBuilder, Problem>> + Send>>;

/// A client, and the database that its tools use.
pub(crate) struct McpClient {
    pub state: Arc<ServerState>,
    pub peer: Arc<Peer>,
    pub client: Arc<Client>,
    pub database: Arc<DatabaseHandle>,
    pub dispatch: Dispatch,
}

/// `POST /mcp`: the messages of a client over HTTP. There are no sessions, and each response is one document.
pub(crate) async fn post(
    request: &mut RequestContext,
    dispatch: Dispatch,
) -> Result<ResponseBuilder, Problem> {
    check_origin(request)?;
    request.parameters.finish()?;
    negotiate(request.headers(), &[("application/json", ())])?;
    let body = request.body(&["application/json"]).await?;
    let client = McpClient {
        state: Arc::clone(&request.state),
        peer: Arc::clone(&request.peer),
        client: Arc::clone(&request.client),
        database: Arc::clone(&request.database),
        dispatch,
    };
    let messages = RpcMessages::parse(&body).map_err(|error| (error, None));
    let messages =
        messages.and_then(|messages| match check_headers(request.headers(), &messages) {
            Ok(()) => Ok(messages),
            Err(error) => Err((error, messages.into_id())),
        });
    let messages = match messages {
        Ok(messages) => messages,
        Err((error, id)) => {
            return Ok(ResponseBuilder::json(error.status(), error.response(id.as_deref())));
        }
    };
    Ok(match client.respond(messages).await {
        Some(reply) => ResponseBuilder::json(reply.status, reply.text),
        None => ResponseBuilder::empty(StatusCode::ACCEPTED),
    })
}

/// Rejects pages of other origins, as the protocol requires, unless the server allows their origin. Programs send none.
///
/// # Errors
/// 403.
fn check_origin(request: &RequestContext) -> Result<(), Problem> {
    let Some(origin) = request.headers().get(ORIGIN) else { return Ok(()) };
    let allowed = &request.state.settings.cors_origin;
    if cors::is_allowed(allowed, origin) || same_origin::is_own_address(request.headers()) {
        return Ok(());
    }
    let message = "pages of this origin may not use the tools: allow it by --http-cors-origin";
    Err(Problem::new(StatusCode::FORBIDDEN, ErrorKind::Denied, message))
}

/// The response to what arrived at once.
pub(super) struct RpcReply {
    pub text: String,
    /// The status over HTTP.
    status: StatusCode,
}

impl McpClient {
    /// The response to what arrived; `None` if it contains no request.
    pub(super) async fn respond(&self, messages: RpcMessages) -> Option<RpcReply> {
        match messages {
            RpcMessages::One(message) => self.respond_to(&message).await,
            RpcMessages::Batch(messages) => {
                let mut replies = Vec::new();
                for message in &messages {
                    replies.extend(self.respond_to(message).await.map(|reply| reply.text));
                }
                let text = format!("[{}]", replies.join(","));
                (!replies.is_empty()).then_some(RpcReply { text, status: StatusCode::OK })
            }
        }
    }

    async fn respond_to(&self, message: &RpcMessage) -> Option<RpcReply> {
        message.id.as_ref()?;
        let method = message.method.as_deref()?;
        let revision = RpcRevision::of(message);
        let is_initialized = matches!(revision, Ok(RpcRevision::Initialized));
        let result = match revision {
            Ok(revision) => self.result(revision, method, message.params.as_deref()).await,
            Err(error) => Err(error),
        };
        Some(match result {
            Ok(result) => RpcReply { text: message.response(&result), status: StatusCode::OK },
            Err(error) => RpcReply {
                text: error.response(message.id.as_deref()),
                status: if is_initialized { StatusCode::OK } else { error.status() },
            },
        })
    }

    async fn result(
        &self,
        revision: RpcRevision,
        method: &str,
        params: Option<&RawValue>,
    ) -> Result<Value, RpcError> {
        let result = match (revision, method) {
            (RpcRevision::Initialized, "initialize") => self.initialize(params),
            (RpcRevision::Initialized, "ping") => json!({}),
            (RpcRevision::Stateless, "server/discover") => json!({
                "supportedVersions": VERSIONS,
                "capabilities": {"tools": {}},
                "instructions": tools::instructions(self.tool_access()),
            }),
            (_, "tools/list") => tools::list(self.tool_access()),
            (_, "tools/call") => self.call(params).await?,
            _ => return Err(RpcError::no_method(method)),
        };
        Ok(revision.complete(method, result))
    }

    /// Which tools there are: those that change rows only if the server allows it.
    fn tool_access(&self) -> ToolAccess {
        let sql = self.client.sql != SqlAccess::None;
        ToolAccess { sql, write: self.state.settings.mcp_write }
    }

    /// Agrees on the version: the client's if it is known, else the newest.
    fn initialize(&self, params: Option<&RawValue>) -> Value {
        #[derive(Deserialize)]
        struct Initialize {
            #[serde(rename = "protocolVersion")]
            version: String,
        }
        let wanted: Option<Initialize> =
            params.and_then(|params| serde_json::from_str(params.get()).ok());
        json!({
            "protocolVersion": agreed(wanted.as_ref().map(|wanted| wanted.version.as_str())),
            "capabilities": {"tools": {}},
            "serverInfo": server_info(),
            "instructions": tools::instructions(self.tool_access()),
        })
    }

    /// Calls a tool. What fails in it is a result, so that the language model sees why.
    async fn call(&self, params: Option<&RawValue>) -> Result<Value, RpcError> {
        let result = match ToolRequest::of(params, self.tool_access()) {
            Ok(call) => {
                let summarizes = call.summarizes;
                let text = self.run(call).await;
                text.map(|text| if summarizes { summary(&text) } else { text })
            }
            Err(ToolCallError::Arguments(problem)) => Err(problem),
            Err(ToolCallError::Protocol(error)) => return Err(error),
        };
        let (text, is_error) = match result {
            Ok(text) => (text, false),
            Err(problem) => (problem_text(problem), true),
        };
        let content = json!({"type": "text", "text": text});
        Ok(json!({"content": [content], "isError": is_error}))
    }

    async fn run(&self, call: ToolRequest) -> Result<String, Problem> {
        let parts = hyper::Request::builder()
            .method(call.method)
            .uri(format!("/?{}", call.query))
            .header(CONTENT_TYPE, call.media_type)
            .body(())
            .map_err(|error| Problem::bad_request(error.to_string()))?
            .into_parts()
            .0;
        let request = RequestContext::new(
            &self.state,
            &self.peer,
            Arc::clone(&self.client),
            Arc::clone(&self.database),
            parts,
            RequestBody::of_bytes(call.body),
        )?;
        let mut response = (self.dispatch)(call.resource, request).await?;
        let text = match response.body_mut() {
            Body::Full(bytes) => bytes.take().unwrap_or_default(),
            Body::Stream(_) => return Err(Problem::bad_request("the result is a stream")),
        };
        Ok(String::from_utf8_lossy(&text).trim_end().to_owned())
    }
}

/// The problem as the API describes it.
fn problem_text(problem: Problem) -> String {
    let mut text = String::new();
    problem.write(&mut text);
    text
}

/// The tables with the names of their columns alone.
fn summary(tables: &str) -> String {
    let Ok(mut tables) = serde_json::from_str::<Value>(tables) else { return tables.to_owned() };
    for table in tables["tables"].as_array_mut().into_iter().flatten() {
        let names = table["columns"].as_array().into_iter().flatten();
        let names: Vec<Value> = names.map(|column| column["name"].clone()).collect();
        let (name, key) = (table["name"].take(), table["key"].take());
        let is_view = table["view"] == true;
        *table = json!({"name": name, "columns": names, "key": key});
        if is_view {
            table["view"] = true.into();
        }
    }
    tables.to_string()
}
