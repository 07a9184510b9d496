//! Answers messages.

use super::calls::ToolRequest;
use super::message::{RpcError, RpcMessage, RpcMessages};
use super::tools::{self, ToolAccess};
use crate::database::handle::DatabaseHandle;
use crate::peer::Peer;
use crate::problem::Problem;
use crate::request::body::RequestBody;
use crate::request::context::RequestContext;
use crate::request::media_type::negotiate;
use crate::response::builder::{Body, ResponseBuilder};
use crate::route::Resource;
use crate::settings::SqlAccess;
use crate::state::authentication::Client;
use crate::state::shared::ServerState;
use hyper::StatusCode;
use hyper::header::CONTENT_TYPE;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::pin::Pin;
use std::sync::Arc;

/// The versions of the protocol, the newest first.
const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

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
    request.parameters.finish()?;
    negotiate(request.headers(), &[("application/json", ())])?;
    if let Some(version) = request.headers().get("mcp-protocol-version")
        && !VERSIONS.iter().any(|known| version == known)
    {
        let message = format!("the protocol's version must be one of {}", VERSIONS.join(", "));
        return Err(Problem::bad_request(message));
    }
    let body = request.body(&["application/json"]).await?;
    let client = McpClient {
        state: Arc::clone(&request.state),
        peer: Arc::clone(&request.peer),
        client: Arc::clone(&request.client),
        database: Arc::clone(&request.database),
        dispatch,
    };
    let messages = match RpcMessages::parse(&body) {
        Ok(messages) => messages,
        Err(error) => {
            return Ok(ResponseBuilder::json(StatusCode::BAD_REQUEST, error.response(None)));
        }
    };
    Ok(match client.respond(messages).await {
        Some(reply) => ResponseBuilder::json(StatusCode::OK, reply),
        None => ResponseBuilder::empty(StatusCode::ACCEPTED),
    })
}

impl McpClient {
    /// The response to what arrived; `None` if it contains no request.
    pub(super) async fn respond(&self, messages: RpcMessages) -> Option<String> {
        match messages {
            RpcMessages::One(message) => self.respond_to(&message).await,
            RpcMessages::Batch(messages) => {
                let mut replies = Vec::new();
                for message in &messages {
                    replies.extend(self.respond_to(message).await);
                }
                (!replies.is_empty()).then(|| format!("[{}]", replies.join(",")))
            }
        }
    }

    async fn respond_to(&self, message: &RpcMessage) -> Option<String> {
        message.id.as_ref()?;
        let method = message.method.as_deref()?;
        let params = message.params.as_deref();
        let result = match method {
            "initialize" => Ok(self.initialize(params).to_string()),
            "ping" => Ok("{}".to_owned()),
            "tools/list" => Ok(tools::list(self.tool_access()).to_string()),
            "tools/call" => self.call(params).await,
            _ => Err(RpcError::no_method(method)),
        };
        Some(match result {
            Ok(result) => message.response(&result),
            Err(error) => error.response(message.id.as_deref()),
        })
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
        let known = |wanted: Initialize| VERSIONS.into_iter().find(|one| *one == wanted.version);
        json!({
            "protocolVersion": wanted.and_then(known).unwrap_or(VERSIONS[0]),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "bobak", "version": env!("CARGO_PKG_VERSION")},
            "instructions": tools::instructions(self.tool_access()),
        })
    }

    /// Calls a tool. What fails in it is a result, so that the language model sees why.
    async fn call(&self, params: Option<&RawValue>) -> Result<String, RpcError> {
        let call = ToolRequest::of(params, self.tool_access())?;
        let summarizes = call.summarizes;
        let (text, is_error) = match self.run(call).await {
            Ok(text) if summarizes => (summary(&text), false),
            Ok(text) => (text, false),
            Err(problem) => (problem_text(problem), true),
        };
        let content = json!({"type": "text", "text": text});
        Ok(json!({"content": [content], "isError": is_error}).to_string())
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
